package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// maxChildren bounds what is read of one kind beneath one gateway.
const maxChildren = 10_000

// GatewayExplanation says how it stands with a gateway and all beneath it.
type GatewayExplanation struct {
	Summary string `json:"summary" doc:"The whole in a few sentences."`
	// Gateway is absent if only what was beneath it is left.
	Gateway  *engine.Explanation  `json:"gateway,omitempty" doc:"The gateway's own explanation; absent if its document is gone."`
	Findings []Finding            `json:"findings" nullable:"false" doc:"What contradicts the gateway's phase."`
	Children []engine.Explanation `json:"children" nullable:"false" doc:"The documents beneath it that are not settled, or that a finding is about."`
}

type explanationOutput struct {
	Body GatewayExplanation
}

func (a *api) explainRoutes() {
	register(a, operation{
		method: http.MethodGet, path: gatewaysPath + "/{gatewayId}/explain", id: "explainGateway", tag: tagGateways, role: Viewer,
		summary:     "Say what a gateway and all beneath it wait for",
		description: "What moves each document next and when; what contradicts the gateway's phase; and where nothing will move it, why, and what to do.",
	}, a.explainGateway)
}

// family is a gateway and what is beneath it, at one time.
type family struct {
	id       string
	gateway  *resource.ApiGateway // nil if it is gone
	own      engine.Explanation   // the gateway's
	children []child
	now      time.Time
}

// child is a document beneath a gateway.
type child struct {
	kind resource.Kind
	*resource.Header
	explanation engine.Explanation
}

func (a *api) explainGateway(ctx context.Context, in *GatewayParams) (*explanationOutput, error) {
	f, err := a.family(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	out := &explanationOutput{Body: GatewayExplanation{Findings: f.findings(), Children: []engine.Explanation{}}}
	if f.gateway != nil {
		out.Body.Gateway = &f.own
	}
	for _, c := range f.children {
		found := slices.ContainsFunc(out.Body.Findings, func(x Finding) bool { return x.Kind == c.kind && x.ID == c.ID })
		if found || c.explanation.Condition != engine.IsSettled {
			out.Body.Children = append(out.Body.Children, c.explanation)
		}
	}
	out.Body.Summary = f.summary(out.Body)
	return out, nil
}

// family reads a gateway and all beneath it. A gateway that is gone but has
// left documents is a family without a head, which only operators see: nobody
// knows any more whose it was.
func (a *api) family(ctx context.Context, id string) (*family, error) {
	gw, gone := a.gateway(ctx, id)
	var p *Problem
	if gone != nil && (!errors.As(gone, &p) || p.Code != CodeNotFound || !callerOf(ctx).Operator()) {
		return nil, gone
	}
	now, err := a.gateways.Now(ctx)
	if err != nil {
		return nil, err
	}
	f := &family{id: id, gateway: gw, now: now}
	if gw != nil {
		f.own = a.explain(resource.KindApiGateway, &gw.Meta, nil, now)
	}
	for _, kind := range resource.Kinds[1:] {
		if err := a.readChildren(ctx, f, kind); err != nil {
			return nil, err
		}
	}
	if gw == nil && len(f.children) == 0 {
		return nil, gone
	}
	return f, nil
}

func (a *api) readChildren(ctx context.Context, f *family, kind resource.Kind) error {
	store, err := a.docs.Headers(kind)
	if err != nil {
		return err
	}
	headers, _, err := documents.List(ctx, store, documents.Query{
		Where: map[string]string{"gatewayId": f.id}, Limit: maxChildren, Hide: []string{"history", resource.AuditField},
	})
	for _, h := range headers {
		f.children = append(f.children, child{kind: kind, Header: h, explanation: a.explain(kind, &h.Meta, f, f.now)})
	}
	return err
}

// explain explains one document. Those without a task service are moved by
// their gateway's steps, so their explanation is their gateway's.
func (a *api) explain(kind resource.Kind, m *engine.Meta, f *family, now time.Time) engine.Explanation {
	e := engine.Explanation{ID: m.ID, Kind: string(kind), State: m.State, Phase: m.Phase, LastError: m.LastError}
	if paused(m) {
		e.Condition, e.LockedBy, e.Step, e.WaitingFor = IsPaused, m.LockedBy, m.Step, m.WaitingFor
		e.Summary = fmt.Sprintf("It is %s: nothing will move it until it is resumed.", m.LockedBy)
		return e
	}
	if explain, ok := a.Explain[kind]; ok {
		return a.heedPause(kind, explain(m, now))
	}
	const leaf = "%s has no task service of its own: its gateway's steps make and remove it."
	switch {
	case m.State == resource.Active && m.Phase == resource.PhaseCreated:
		e.Condition = engine.IsSettled
		e.Summary = "Settled: it exists. " + fmt.Sprintf(leaf, kind)
	case f == nil || f.gateway == nil:
		e.Condition = engine.IsUnhandled
		e.Summary = fmt.Sprintf("Stuck: "+leaf+" The gateway is gone, so nothing will.", kind)
	case f.resting():
		e.Condition = engine.IsUnhandled
		e.Summary = fmt.Sprintf("Stuck: "+leaf+" The gateway rests in phase %s, so nothing will until its state changes.", kind, f.gateway.Phase)
	default:
		e.Condition, e.WaitingFor, e.NextAt = engine.IsWaiting, "the gateway's steps", f.own.NextAt
		e.Summary = fmt.Sprintf(leaf+" The gateway: %s", kind, f.own.Summary)
	}
	return e
}

// heedPause says what a pause of the kind changes: all but what rests, or is
// being worked on already.
func (a *api) heedPause(kind resource.Kind, e engine.Explanation) engine.Explanation {
	pause, is := a.docs.PauseOf(kind)
	if is && e.Condition != engine.IsSettled && e.Condition != engine.IsLocked {
		e.Condition, e.NextAt = IsPaused, time.Time{}
		e.Summary = fmt.Sprintf("All of %s is paused by %s (%s): nothing will move it until the kind is resumed.", kind, pause.By, pause.Reason)
	}
	return e
}

// resting reports whether the gateway's own steps will do nothing more by
// themselves.
func (f *family) resting() bool {
	return slices.Contains([]engine.Condition{engine.IsSettled, engine.IsUnhandled, engine.IsFailed, IsPaused}, f.own.Condition)
}

// summary is the whole in a few sentences.
func (f *family) summary(e GatewayExplanation) string {
	if f.gateway == nil {
		return fmt.Sprintf("Gateway %s is gone, but %d documents of it are left: orphans, each of which its finding says how to remove.",
			f.id, len(f.children))
	}
	s := fmt.Sprintf("Gateway %s: state %s, phase %s. %s", f.id, f.gateway.State, f.gateway.Phase, f.own.Summary)
	switch {
	case len(e.Findings) > 0:
		s += fmt.Sprintf(" But this contradicts it: %s", e.Findings[0].Problem)
		if more := len(e.Findings) - 1; more > 0 {
			s += fmt.Sprintf(" And %d more.", more)
		}
	case len(e.Children) > 0:
		s += fmt.Sprintf(" %d documents beneath it are not settled.", len(e.Children))
	}
	return s
}
