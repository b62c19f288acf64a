package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

const (
	tagDocuments  = "Documents"
	documentsPath = "/v1/documents/{kind}"
)

// KindParam names a kind in paths.
type KindParam struct {
	Kind resource.Kind `path:"kind" enum:"ApiGateway,RuntimeDomain,Database,Environment,ClientApp,CloudFunction,Stage,CronTrigger" doc:"A kind of document."`
}

type listDocumentsInput struct {
	KindParam
	PageParams
	GatewayID string `query:"gatewayId" maxLength:"63" doc:"Only those of this gateway."`
	State     string `query:"state" maxLength:"40" doc:"Only those of which this is wanted."`
	Phase     string `query:"phase" maxLength:"40" doc:"Only those that have come this far."`
	LockedBy  string `query:"lockedBy" maxLength:"200" doc:"Only those that this holder is working on."`
	Stuck     bool   `query:"stuck" doc:"Only those that do not rest and failed for good, are overdue, have no handler, have failed three times or more, or are paused."`
	Age       string `query:"age" maxLength:"20" doc:"Only those that have been in their phase for longer, such as 10m or 2h30m."`
}

// Document is what the documents of all kinds have, and how it stands with it.
type Document struct {
	resource.Header

	Condition engine.Condition `json:"condition"`
	Summary   string           `json:"summary"`
}

// DocumentParams name a document of any kind.
type DocumentParams struct {
	KindParam
	ID string `path:"id" minLength:"1" maxLength:"200" doc:"The document's _id."`
}

type documentExplanationOutput struct {
	Body engine.Explanation
}

func (a *api) documentRoutes() {
	register(a, operation{
		method: http.MethodGet, path: documentsPath, id: "listDocuments", tag: tagDocuments, role: Viewer,
		summary: "List the documents of a kind, across gateways", description: "For operators, who see all tenants.",
	}, a.listDocuments)
	register(a, operation{
		method: http.MethodGet, path: documentsPath + "/{id}", id: "getDocument", tag: tagDocuments, role: Viewer,
		summary: "Read what all kinds of document have",
	}, func(ctx context.Context, in *DocumentParams) (*documentOutput[*Document], error) {
		doc, _, err := a.document(ctx, in)
		if err != nil {
			return nil, err
		}
		return found(doc), nil
	})
	register(a, operation{
		method: http.MethodGet, path: documentsPath + "/{id}/explain", id: "explainDocument", tag: tagDocuments, role: Viewer,
		summary: "Say what a document waits for",
	}, func(ctx context.Context, in *DocumentParams) (*documentExplanationOutput, error) {
		_, explanation, err := a.document(ctx, in)
		return &documentExplanationOutput{Body: explanation}, err
	})
	a.verbRoutes()
}

// operatorsOnly refuses what shows more than one tenant's own.
func operatorsOnly(ctx context.Context, what string) error {
	if caller := callerOf(ctx); !caller.Operator() {
		return fail(CodeForbidden, "%s sees tenant %s only: %s are for operators", caller.Name, caller.Tenant, what)
	}
	return nil
}

func (a *api) listDocuments(ctx context.Context, in *listDocumentsInput) (*pageOutput[*Document], error) {
	if err := operatorsOnly(ctx, "lists across gateways"); err != nil {
		return nil, err
	}
	store, err := a.docs.Headers(in.Kind)
	if err != nil {
		return nil, err
	}
	now, err := store.Now(ctx)
	if err != nil {
		return nil, err
	}
	query := documents.Query{
		Where: map[string]string{"gatewayId": in.GatewayID, "state": in.State, "phase": in.Phase, "lockedBy": in.LockedBy},
		After: in.Cursor.after(), Limit: in.Limit, Hide: []string{"history", resource.AuditField},
	}
	if in.Age != "" {
		age, err := time.ParseDuration(in.Age)
		if err != nil || age < 0 {
			return nil, invalid("query.age", in.Age, "use a duration such as 10m or 2h30m")
		}
		query.Before = now.Add(-age)
	}
	if in.Stuck {
		query.Except = a.restful[in.Kind]
	}
	return a.pageOfDocuments(ctx, store, in, query, now)
}

// pageOfDocuments reads until the page is full: of what is read, only the
// stuck documents may be wanted.
func (a *api) pageOfDocuments(
	ctx context.Context, store *mongostore.Store[*resource.Header], in *listDocumentsInput, query documents.Query, now time.Time,
) (*pageOutput[*Document], error) {
	out := &pageOutput[*Document]{Body: Page[*Document]{Items: []*Document{}}}
	for {
		headers, next, err := documents.List(ctx, store, query)
		if err != nil {
			return nil, err
		}
		for _, h := range headers {
			doc, explanation, err := a.described(ctx, in.Kind, h, now)
			if err != nil {
				return nil, err
			}
			if in.Stuck && !stuck(explanation, &h.Meta) {
				continue
			}
			out.Body.Items = append(out.Body.Items, doc)
			if len(out.Body.Items) == in.Limit {
				if next != "" || h != headers[len(headers)-1] {
					out.Body.NextCursor = string(cursorOf(h.ID))
				}
				return out, nil
			}
		}
		if next == "" {
			return out, nil
		}
		query.After = next
	}
}

// described explains a document; one without a task service by its gateway.
func (a *api) described(ctx context.Context, kind resource.Kind, h *resource.Header, now time.Time) (*Document, engine.Explanation, error) {
	e := a.explain(kind, &h.Meta, nil, now)
	if _, driven := a.Explain[kind]; !driven && e.Condition != engine.IsSettled {
		f := &family{id: h.GatewayID, now: now}
		gw, err := a.gateways.Get(ctx, h.GatewayID)
		if err != nil && !errors.Is(err, mongostore.ErrNotFound) {
			return nil, e, err
		}
		if err == nil {
			f.gateway, f.own = gw, a.explain(resource.KindApiGateway, &gw.Meta, nil, now)
		}
		e = a.explain(kind, &h.Meta, f, now)
	}
	return &Document{Header: *h, Condition: e.Condition, Summary: e.Summary}, e, nil
}

func (a *api) document(ctx context.Context, in *DocumentParams) (*Document, engine.Explanation, error) {
	var none engine.Explanation
	store, err := a.docs.Headers(in.Kind)
	if err != nil {
		return nil, none, err
	}
	h, err := store.Get(ctx, in.ID)
	if err == nil && !callerOf(ctx).Operator() {
		_, err = a.gateway(ctx, h.GatewayID)
	}
	var p *Problem
	if errors.Is(err, mongostore.ErrNotFound) || errors.As(err, &p) {
		return nil, none, fail(CodeNotFound, "there is no %s %s", in.Kind, in.ID)
	}
	if err != nil {
		return nil, none, err
	}
	now, err := store.Now(ctx)
	if err != nil {
		return nil, none, err
	}
	return a.described(ctx, in.Kind, h, now)
}

// restingPairs are, by kind, the pairs of state and phase at which its
// definition rests, found by asking it.
func restingPairs(explain map[resource.Kind]Explainer) map[resource.Kind][]engine.Match {
	phases := []engine.Phase{
		resource.PhaseCreating, resource.PhaseCreated, resource.PhaseStarting, resource.PhaseStarted,
		resource.PhaseStopping, resource.PhaseStopped, resource.PhaseDeleting, resource.PhaseDeleted,
	}
	pairs := map[resource.Kind][]engine.Match{}
	for _, kind := range resource.Kinds {
		explainer, driven := explain[kind]
		for _, state := range resource.States(kind) {
			for _, phase := range phases {
				settled := state == resource.Active && phase == resource.PhaseCreated
				if driven {
					m := &engine.Meta{State: state, Phase: phase, ObservedState: state}
					settled = explainer(m, time.Now()).Condition == engine.IsSettled
				}
				if settled {
					pairs[kind] = append(pairs[kind], engine.Match{State: state, Phase: phase})
				}
			}
		}
	}
	return pairs
}
