package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// A watch is a stream of server-sent events. It begins with all documents as
// they are, so a client that has lost the line asks again and misses nothing
// that still is.
const (
	watchInterval  = 500 * time.Millisecond
	watchHeartbeat = 15 * time.Second
	// watchAtMost ends a watch, so that those whose tokens have expired do not
	// see on for ever; clients ask again.
	watchAtMost = time.Hour
	// maxWatches bounds the watches of one replica.
	maxWatches = 500
)

// Gone names a document that is no more.
type Gone struct {
	Kind resource.Kind `json:"kind"`
	ID   string        `json:"id"`
}

// Watched is a document as a watch shows it.
type Watched struct {
	Kind resource.Kind `json:"kind"`
	Document
}

type watchOutput struct {
	Body func(huma.Context)
}

type watches struct{ open atomic.Int64 }

func (a *api) watchRoutes() {
	const stream = "text/event-stream"
	op := operation{
		method: http.MethodGet, path: gatewaysPath + "/{gatewayId}/watch", id: "watchGateway", tag: tagGateways, role: Viewer,
		summary: "Watch a gateway and all beneath it",
		description: "Server-sent events: document (what it is now; all of them first, then each that changes) and gone. " +
			"The stream ends when all is gone, and after an hour; ask again for more.",
	}
	register(a, op, a.watchGateway)
	schemas := a.huma.OpenAPI().Components.Schemas
	a.huma.OpenAPI().Paths[op.path].Get.Responses["200"].Content = map[string]*huma.MediaType{stream: {Schema: &huma.Schema{
		Type: huma.TypeString, Description: "Events whose data are one of these, as JSON.",
		Extensions: map[string]any{"x-events": map[string]*huma.Schema{
			"document": schemas.Schema(reflect.TypeFor[Watched](), true, ""),
			"gone":     schemas.Schema(reflect.TypeFor[Gone](), true, ""),
		}},
	}}}
}

func (a *api) watchGateway(ctx context.Context, in *GatewayParams) (*watchOutput, error) {
	first, err := a.family(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	if a.watches.open.Add(1) > maxWatches {
		a.watches.open.Add(-1)
		return nil, Unavailable("this replica has too many watches open", nil)
	}
	return &watchOutput{Body: func(hctx huma.Context) {
		defer a.watches.open.Add(-1)
		r, w := humachi.Unwrap(hctx)
		ctx, cancel := context.WithTimeout(withInfo(r.Context(), infoOf(ctx)), watchAtMost)
		defer cancel()
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		s := &stream{w: w, flush: http.NewResponseController(w).Flush, shown: map[Gone]string{}}
		a.watch(ctx, s, first)
	}}, nil
}

// watch shows a family until it is gone, the client has left, or the service
// shuts down.
func (a *api) watch(ctx context.Context, s *stream, f *family) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for s.show(f) == nil && f != nil {
		select {
		case <-ctx.Done():
			return
		case <-a.Done:
			return
		case <-tick.C:
		}
		looking, cancel := context.WithTimeout(ctx, a.Timeout)
		next, err := a.family(looking, f.id)
		cancel()
		var p *Problem
		switch {
		case err == nil:
			f = next
		case errors.As(err, &p) && p.Code == CodeNotFound:
			f = nil // all of it is gone
		default:
			// The database is away for a moment: the watch goes on.
		}
	}
}

// stream writes what has changed since it last wrote.
type stream struct {
	w       http.ResponseWriter
	flush   func() error
	shown   map[Gone]string
	written time.Time
}

// show writes the documents that have changed, and those that are gone. A nil
// family is one of which nothing is left.
func (s *stream) show(f *family) error {
	present := map[Gone]bool{}
	if f != nil {
		for _, doc := range f.documents() {
			name := Gone{doc.Kind, doc.ID}
			present[name] = true
			if look := appearance(&doc.Meta); s.shown[name] != look {
				s.shown[name] = look
				if err := s.event("document", doc); err != nil {
					return err
				}
			}
		}
	}
	for name := range s.shown {
		if !present[name] {
			delete(s.shown, name)
			if err := s.event("gone", name); err != nil {
				return err
			}
		}
	}
	if time.Since(s.written) < watchHeartbeat {
		return nil
	}
	s.written = time.Now()
	if _, err := fmt.Fprint(s.w, ": still here\n\n"); err != nil {
		return err
	}
	return s.flush()
}

func (s *stream) event(name string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	s.written = time.Now()
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, raw); err != nil {
		return err
	}
	return s.flush()
}

// documents are the family's, the gateway first.
func (f *family) documents() []Watched {
	var docs []Watched
	if f.gateway != nil {
		h := resource.Header{Meta: f.gateway.Meta, GatewayID: f.id}
		h.History = nil
		docs = append(docs, Watched{resource.KindApiGateway, Document{Header: h, Condition: f.own.Condition, Summary: f.own.Summary}})
	}
	for _, c := range f.children {
		docs = append(docs, Watched{c.kind, Document{Header: *c.Header, Condition: c.explanation.Condition, Summary: c.explanation.Summary}})
	}
	return docs
}

// appearance is what of a document, if it changes, is worth an event. Claims
// come and go many times a second while it waits, and are not.
func appearance(m *engine.Meta) string {
	failed := ""
	if m.LastError != nil {
		failed = m.LastError.Message
	}
	return fmt.Sprint(m.State, m.Generation, m.Phase, m.PhaseAt, m.Step, m.WaitingFor, m.Attempts, failed, m.LockedAt.Equal(engine.Never))
}
