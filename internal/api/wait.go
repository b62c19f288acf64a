package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// WaitParams make a request wait until the document has come so far.
type WaitParams struct {
	Wait    string `query:"wait" maxLength:"40" pattern:"^(phase:(Creating|Created|Starting|Started|Stopping|Stopped|Deleting|Deleted)|settled|gone)$" patternDescription:"phase:NAME (such as phase:Started), settled or gone" doc:"Answer once the document is in a phase and the present intent was acted on (phase:Started), rests (settled), or is no more (gone: 204)."`
	Timeout string `query:"timeout" maxLength:"20" default:"30s" doc:"How long to wait at most, up to 10m; 504 then. What was asked for stands."`
}

// Bounds of a wait, and of the pauses between looks.
const (
	maxWait     = 10 * time.Minute
	defaultWait = "30s" // as the parameter's tag says
	firstLook   = 50 * time.Millisecond
	lastLook    = time.Second
)

// Resolve checks the timeout.
func (w *WaitParams) Resolve(huma.Context) []error {
	if d, err := time.ParseDuration(w.Timeout); w.Timeout != "" && (err != nil || d < 0 || d > maxWait) {
		return []error{&huma.ErrorDetail{Location: "query.timeout", Value: w.Timeout, Message: "use a duration such as 30s, up to 10m"}}
	}
	return nil
}

// extra is the time that the wait may take beyond the request's own.
func (w *WaitParams) extra() time.Duration {
	if w.Wait == "" {
		return 0
	}
	d, err := time.ParseDuration(w.Timeout)
	if err != nil {
		return 0
	}
	return d
}

// await looks at a document until what is waited for has come. It answers with
// the status that the request has without a wait, if there is none.
func (c *collection[D]) await(ctx context.Context, out *documentOutput[D], w WaitParams) (*documentOutput[D], error) {
	if w.Wait == "" {
		return out, nil
	}
	id := out.Body.Lifecycle().ID
	late := time.NewTimer(w.extra())
	defer late.Stop()
	for pause := firstLook; ; pause = min(lastLook, pause*3/2) {
		doc, err := c.Get(ctx, id)
		if errors.Is(err, mongostore.ErrNotFound) {
			return vanished(out, c.kind, w)
		}
		if err != nil {
			return nil, err
		}
		now, err := c.Now(ctx)
		if err != nil {
			return nil, err
		}
		e := c.api.explain(c.kind, doc.Lifecycle(), nil, now)
		switch {
		case c.api.reached(c.kind, doc.Lifecycle(), e, w.Wait):
			out.Status, out.Body, out.ETag = http.StatusOK, doc, etag(doc)
			return out, nil
		case e.Condition == engine.IsFailed || e.Condition == engine.IsUnhandled && c.api.Explain[c.kind] != nil:
			return nil, fail(CodeWaitHopeless, "%s %s will not come to %s by itself: %s", c.kind, id, w.Wait, e.Summary).
				at(out.Location)
		}
		look := time.NewTimer(pause)
		select {
		case <-look.C:
			continue
		case <-late.C:
			look.Stop()
			return nil, fail(CodeWaitTimeout, "%s %s has not come to %s within %s: %s", c.kind, id, w.Wait, w.Timeout, e.Summary).
				at(out.Location)
		case <-c.api.Done:
			look.Stop()
			return nil, fail(CodeUnavailable, "the service is shutting down: wait again").retryAfter("1")
		case <-ctx.Done():
			look.Stop()
			return nil, ctx.Err()
		}
	}
}

func vanished[D engine.Document](out *documentOutput[D], kind resource.Kind, w WaitParams) (*documentOutput[D], error) {
	if w.Wait != "gone" {
		return nil, fail(CodeNotFound, "%s %s has gone while %s was waited for", kind, out.Body.Lifecycle().ID, w.Wait)
	}
	out.Status, out.ETag, out.Location = http.StatusNoContent, "", ""
	return out, nil
}

// reached reports whether what is waited for has come. A phase counts once the
// present intent has been acted on: a gateway that is to be rolled over is
// still Started from before.
func (a *api) reached(kind resource.Kind, m *engine.Meta, e engine.Explanation, wait string) bool {
	_, driven := a.Explain[kind]
	current := !driven || !m.IntentChanged()
	settled := current && e.Condition == engine.IsSettled
	phase, asked := strings.CutPrefix(wait, "phase:")
	switch {
	case wait == "settled":
		return settled
	case !asked || string(m.Phase) != phase || !current:
		return false
	}
	return settled || e.Transition != "" || !driven
}
