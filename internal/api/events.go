package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// EventSort says what sort of event it is.
type EventSort string

// The sorts.
const (
	// Moved: a document has reached another phase.
	Moved EventSort = "moved"
	// Stepped: a step of a transition is done.
	Stepped EventSort = "stepped"
	// Asked: somebody has asked for something.
	Asked EventSort = "asked"
)

// Event is something that happened to a document.
type Event struct {
	At   time.Time     `json:"at"`
	Sort EventSort     `json:"sort" enum:"moved,stepped,asked"`
	Kind resource.Kind `json:"kind"`
	ID   string        `json:"id"`
	// By is the replica, or the caller who asked.
	By     string       `json:"by" doc:"The replica that did it, or the caller who asked."`
	From   engine.Phase `json:"from,omitempty"`
	To     engine.Phase `json:"to,omitempty"`
	Step   string       `json:"step,omitempty"`
	TookMS int64        `json:"tookMs,omitempty" doc:"How long the phase or the step lasted."`
	Action string       `json:"action,omitempty" doc:"The operation by which it was asked."`
	State  engine.State `json:"state,omitempty" doc:"The state that was asked for."`
	Fields []string     `json:"fields,omitempty" nullable:"false" doc:"The settings that were changed."`
	Reason string       `json:"reason,omitempty"`

	n int // its place among those of its document
}

type eventsInput struct {
	GatewayParams
	PageParams
	Since time.Time `query:"since" doc:"Only those after this time."`
}

// Resolve refuses cursors of other lists.
func (in *eventsInput) Resolve(huma.Context) []error {
	if in.Cursor == "" {
		return nil
	}
	if _, err := parsePosition(in.Cursor.after()); err != nil {
		return []error{&huma.ErrorDetail{Location: "query.cursor", Value: string(in.Cursor), Message: "not a cursor of this list"}}
	}
	return nil
}

func (a *api) eventRoutes() {
	register(a, operation{
		method: http.MethodGet, path: gatewaysPath + "/{gatewayId}/events", id: "listEvents", tag: tagGateways, role: Viewer,
		summary: "List what happened to a gateway and all beneath it",
		description: "In the order of time, from the histories and audits that the documents keep: the latest " +
			fmt.Sprint(engine.HistoryLimit) + " and " + fmt.Sprint(resource.AuditLimit) + " entries of each.",
	}, a.listEvents)
}

func (a *api) listEvents(ctx context.Context, in *eventsInput) (*pageOutput[Event], error) {
	gw, err := a.gateway(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	events := eventsOf(resource.KindApiGateway, &gw.Meta, gw.Audit)
	for _, kind := range resource.Kinds[1:] {
		store, err := a.docs.Headers(kind)
		if err != nil {
			return nil, err
		}
		headers, _, err := documents.List(ctx, store, documents.Query{
			Where: map[string]string{"gatewayId": gw.ID}, Limit: maxChildren,
		})
		if err != nil {
			return nil, err
		}
		for _, h := range headers {
			events = append(events, eventsOf(kind, &h.Meta, h.Audit)...)
		}
	}
	return in.page(events), nil
}

func eventsOf(kind resource.Kind, m *engine.Meta, audit []resource.AuditEntry) []Event {
	var events []Event
	for _, h := range m.History {
		e := Event{At: h.At, Sort: Moved, Kind: kind, ID: m.ID, By: h.By, From: h.From, To: h.To, Step: h.Step, TookMS: h.Took}
		if h.Step != "" {
			e.Sort = Stepped
		}
		events = append(events, e)
	}
	for _, entry := range audit {
		events = append(events, Event{
			At: entry.At, Sort: Asked, Kind: kind, ID: m.ID, By: entry.By,
			Action: entry.Action, State: entry.State, Fields: entry.Fields, Reason: entry.Reason,
		})
	}
	for i := range events {
		events[i].n = i
	}
	return events
}

// page cuts a page out of all events.
func (in *eventsInput) page(events []Event) *pageOutput[Event] {
	slices.SortFunc(events, func(a, b Event) int { return a.position().compare(b.position()) })
	from := position{at: in.Since.UnixMilli(), name: "\xff"} // after all of that moment
	if after, err := parsePosition(in.Cursor.after()); err == nil {
		from = after
	}
	if !in.Since.IsZero() || in.Cursor != "" {
		i, _ := slices.BinarySearchFunc(events, from, func(e Event, p position) int {
			return cmp.Or(e.position().compare(p), -1) // the first after p
		})
		events = events[i:]
	}
	out := &pageOutput[Event]{Body: Page[Event]{Items: append([]Event{}, events[:min(in.Limit, len(events))]...)}}
	if len(events) > in.Limit {
		out.Body.NextCursor = string(cursorOf(events[in.Limit-1].position().String()))
	}
	return out
}

// position is an event's place among all.
type position struct {
	at   int64
	name string
	n    int
}

func (e Event) position() position {
	return position{e.At.UnixMilli(), string(e.Kind) + "/" + e.ID, e.n}
}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.at, q.at), cmp.Compare(p.name, q.name), cmp.Compare(p.n, q.n))
}

func (p position) String() string { return fmt.Sprintf("%d %d %s", p.at, p.n, p.name) }

func parsePosition(s string) (p position, err error) {
	_, err = fmt.Sscanf(s, "%d %d %s", &p.at, &p.n, &p.name)
	return p, err
}
