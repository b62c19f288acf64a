package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// wait is whether and how long a command waits for what it asked for.
type wait struct {
	wanted  bool
	timeout time.Duration
}

func waitFlags(cmd *cobra.Command) *wait {
	w := &wait{}
	cmd.Flags().BoolVar(&w.wanted, "wait", false, "wait until it has come about, and show the way there")
	cmd.Flags().DurationVar(&w.timeout, "timeout", 10*time.Minute, "how long to wait at most")
	return w
}

func (w *wait) check() error {
	if w.timeout <= 0 {
		return usage("--timeout: %s: use a duration above zero, such as 5m", w.timeout)
	}
	return nil
}

// finish ends a command that has changed d: it waits, if that is wanted, and
// shows the result.
func (w *wait) finish(ctx context.Context, env *Env, r *remote, k *kind, d *document, format, said string) error {
	people := format == asTable || format == asWide
	if !w.wanted {
		if !people {
			return env.show(k, d, format)
		}
		env.printf("%s %s %s.\n", k.name, d.ID, said)
		env.notef("Follow it: lockstep watch %s %s", k.name, d.ID)
		return nil
	}
	p := &progress{env: env, remote: r, kind: k, id: d.ID, target: d, began: time.Now()}
	last, err := p.follow(ctx, w.timeout)
	if err != nil {
		return err
	}
	switch {
	case last == nil && people:
		env.printf("%s %s is gone, after %s.\n", k.name, d.ID, time.Since(p.began).Round(100*time.Millisecond))
		return nil
	case last == nil:
		return env.show(k, d, format)
	case !people:
		return env.show(k, last, format)
	}
	env.printf("%s %s is %s, after %s.\n", k.name, d.ID, last.Phase, time.Since(p.began).Round(100*time.Millisecond))
	if k.Kind == resource.KindApiGateway && last.Phase == resource.PhaseStarted {
		env.printf("%s", r.reachedAt(ctx, last))
	}
	return nil
}

// progress follows one document on its way.
type progress struct {
	env    *Env
	remote *remote
	kind   *kind
	id     string
	// target is the document as it was when it was asked for.
	target *document
	began  time.Time
	// printed is the latest entry of the history that was shown.
	printed engine.HistoryEntry
	status  string
	drawn   bool
}

// follow shows each step of the document until it has come about, and returns
// it as it then is; nil if it is gone.
func (p *progress) follow(ctx context.Context, timeout time.Duration) (*document, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errWaited)
	defer cancel()
	defer p.clear()
	if n := len(p.target.History); n > 0 {
		p.printed = p.target.History[n-1]
	}
	var why string
	for {
		d := &document{}
		err := p.remote.read(ctx, documentPath(p.kind, p.id), d)
		if ctx.Err() != nil {
			return nil, p.gaveUp(ctx, timeout, why)
		}
		switch done, bad := p.look(ctx, d, err); {
		case bad != nil:
			return nil, bad
		case done && ExitCode(err) == NotFound:
			return nil, nil
		case done:
			return d, nil
		}
		if err == nil {
			why = d.text("summary")
		}
		if pause(ctx, waitPause) != nil {
			return nil, p.gaveUp(ctx, timeout, why)
		}
	}
}

var errWaited = errors.New("waited in vain")

func (p *progress) gaveUp(ctx context.Context, timeout time.Duration, why string) error {
	p.clear()
	where := fmt.Sprintf("what was asked for stands; see `lockstep explain %s %s`", p.kind.name, p.id)
	if !errors.Is(context.Cause(ctx), errWaited) {
		p.env.notef("No longer waiting; %s.", where)
		return context.Cause(ctx)
	}
	return fail(TimedOut, "%s %s has not come about within %s; %s\n%s", p.kind.name, p.id, timeout, where, why)
}

// isPaused is the condition of a document that an administrator has paused.
const isPaused engine.Condition = "paused"

// look shows what is new of the document, and decides whether it has come
// about, or never will.
func (p *progress) look(ctx context.Context, d *document, err error) (done bool, bad error) {
	switch code := ExitCode(err); {
	case code == NotFound:
		if p.target.State == resource.Deleted {
			return true, nil
		}
		return false, fail(Stuck, "%s %s is gone: somebody has deleted it meanwhile", p.kind.name, p.id)
	case code == Unreachable:
		p.draw(err.Error() + "; trying again")
		return false, nil
	case err != nil:
		return false, err
	}
	p.show(d)
	if d.State != p.target.State && p.target.State != resource.Restarting && d.State == resource.Deleted {
		return false, fail(Stuck, "%s %s is being deleted: somebody has asked for that meanwhile", p.kind.name, p.id)
	}
	switch d.condition() {
	case engine.IsFailed, engine.IsUnhandled, isPaused:
		return false, fail(Stuck, "%s %s will not come about by itself: %s", p.kind.name, p.id, d.text("summary"))
	case engine.IsSettled:
		return p.arrived(ctx, d)
	}
	return false, nil
}

// arrived reports whether a settled document is so for what was asked: it may
// rest still where it did before.
func (p *progress) arrived(ctx context.Context, d *document) (bool, error) {
	if p.target.State == resource.Restarting && d.State == resource.Restarting || d.State == resource.Deleted {
		return false, nil
	}
	if d.ObservedGeneration < p.target.Generation {
		x, err := p.remote.explanation(ctx, p.kind, p.explainPath())
		// A document that is not looked at again has nothing to do.
		if err != nil || !x.Gateway.NextAt.IsZero() {
			return false, nil //nolint:nilerr // the next look asks again
		}
	}
	return p.served(ctx)
}

func (p *progress) explainPath() string {
	if p.kind.Kind == resource.KindApiGateway {
		return gatewaysPath + "/" + p.id + "/explain"
	}
	return documentPath(p.kind, p.id) + "/explain"
}

// served asks the kinds that say it whether they serve what is wanted.
func (p *progress) served(ctx context.Context) (bool, error) {
	says := map[resource.Kind][2]string{
		resource.KindStage:         {"generation", "publishedGeneration"},
		resource.KindRuntimeDomain: {"customDomain", "customDomainReady"},
		resource.KindClientApp:     {"keyRevision", "keyRevisionReady"},
	}
	fields, has := says[p.kind.Kind]
	if !has {
		return true, nil
	}
	d, err := p.remote.document(ctx, p.kind, p.id)
	if err != nil {
		return false, nil //nolint:nilerr // the next look asks again
	}
	return d.State != resource.Active || d.text(fields[0]) == d.text(fields[1]), nil
}

// show prints what the document has been through since the last look.
func (p *progress) show(d *document) {
	first := slices.Index(d.History, p.printed) + 1
	for _, h := range d.History[first:] {
		p.clear()
		if h.Step != "" {
			p.env.notef("  %s %s (%s)", p.env.paint(good, "✓"), h.Step, took(h.Took))
		} else {
			p.env.notef("%s %s", p.env.paint(strong, happened(h)), p.env.paint(faint, "after "+took(h.Took)))
		}
		p.printed = h
	}
	words := []string{string(d.Phase)}
	if d.Step != "" {
		words = append(words, d.Step)
	}
	if w := d.waitingFor(); w != "" {
		words = append(words, w)
	}
	p.draw(strings.Join(words, ": "))
}

// draw shows what is being waited for: on a terminal in one line that is drawn
// again, elsewhere as a line when it has changed.
func (p *progress) draw(status string) {
	if p.env.Terminal {
		p.clear()
		// A line that is wider than the terminal could not be drawn over.
		room := p.env.width() - len("  ▸  10m10s ")
		line := fmt.Sprintf("  %s %s %s", p.env.paint(busy, "▸"), text.Trim(status, room), p.env.paint(faint, span(time.Since(p.began))))
		fmt.Fprint(p.env.Err, line) //nolint:errcheck // as notef
		p.drawn = true
	} else if status != p.status && strings.Contains(status, ": ") {
		p.env.notef("  %s %s", "▸", status)
	}
	p.status = status
}

func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.env.Err, "\r\x1b[K") //nolint:errcheck // as notef
	}
	p.drawn = false
}
