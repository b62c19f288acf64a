package api

import (
	"context"
	"net/http"

	"go.uber.org/zap"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// KindInfo is what there is to know of a kind of document.
type KindInfo struct {
	Kind    resource.Kind  `json:"kind"`
	States  []engine.State `json:"states" nullable:"false" doc:"What can be wanted of such a document."`
	Driven  bool           `json:"driven" doc:"Whether a task service moves it; its gateway's steps do if not."`
	Diagram string         `json:"diagram,omitempty" doc:"Its state diagram, in Mermaid."`
	// Paused is absent while the kind is not.
	Paused *documents.KindPause `json:"paused,omitempty" doc:"Who keeps all its documents from being worked on, why, and since when."`
}

type kindsOutput struct {
	Body struct {
		Items []KindInfo `json:"items" nullable:"false"`
	}
}

func (a *api) kindRoutes() {
	register(a, operation{
		method: http.MethodGet, path: "/v1/kinds", id: "listKinds", tag: tagDocuments, role: Viewer,
		summary: "List the kinds of document, with their state diagrams",
	}, func(context.Context, *struct{}) (*kindsOutput, error) {
		out := &kindsOutput{}
		for _, kind := range resource.Kinds {
			out.Body.Items = append(out.Body.Items, a.kindInfo(kind))
		}
		return out, nil
	})
	register(a, operation{
		method: http.MethodPost, path: "/v1/kinds/{kind}/pause", id: "pauseKind", tag: tagDocuments, role: Admin,
		status: http.StatusAccepted, summary: "Keep all documents of a kind from being worked on",
		description: "For operators. All replicas heed it within seconds; what they are at they finish. It lasts until the kind is resumed.",
	}, a.pauseKind)
	register(a, operation{
		method: http.MethodPost, path: "/v1/kinds/{kind}/resume", id: "resumeKind", tag: tagDocuments, role: Admin,
		status: http.StatusAccepted, summary: "Let the documents of a paused kind go on", description: "For operators.",
	}, a.resumeKind)
}

func (a *api) kindInfo(kind resource.Kind) KindInfo {
	_, driven := a.Explain[kind]
	info := KindInfo{Kind: kind, States: resource.States(kind), Driven: driven, Diagram: a.Diagrams[kind]}
	if pause, is := a.docs.PauseOf(kind); is {
		info.Paused = &pause
	}
	return info
}

type kindVerbInput struct {
	KindParam
	RepeatParams
	Body reason
}

type kindOutput struct {
	Body KindInfo
}

func (a *api) pauseKind(ctx context.Context, in *kindVerbInput) (*kindOutput, error) {
	if err := operatorsOnly(ctx, "pauses of a kind"); err != nil {
		return nil, err
	}
	if a.Explain[in.Kind] == nil {
		return nil, fail(CodeConflict, "%s has no task service: its gateway's steps move it; pause ApiGateway", in.Kind)
	}
	if err := a.docs.PauseKind(ctx, in.Kind, callerOf(ctx).Name, in.Body.Reason); err != nil {
		return nil, err
	}
	a.noteKind(ctx, "kind paused", in)
	return &kindOutput{Body: a.kindInfo(in.Kind)}, nil
}

func (a *api) resumeKind(ctx context.Context, in *kindVerbInput) (*kindOutput, error) {
	if err := operatorsOnly(ctx, "pauses of a kind"); err != nil {
		return nil, err
	}
	was, err := a.docs.ResumeKind(ctx, in.Kind)
	if err != nil {
		return nil, err
	}
	if !was {
		return nil, fail(CodeConflict, "%s is not paused", in.Kind)
	}
	a.noteKind(ctx, "kind resumed", in)
	return &kindOutput{Body: a.kindInfo(in.Kind)}, nil
}

// noteKind is the audit of what has no document to note it on.
func (a *api) noteKind(ctx context.Context, what string, in *kindVerbInput) {
	a.log.Info(what, zap.String("kind", string(in.Kind)), zap.String("by", callerOf(ctx).Name), zap.String("reason", in.Body.Reason))
}
