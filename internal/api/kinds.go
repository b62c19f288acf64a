package api

import (
	"context"
	"net/http"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// KindInfo is what there is to know of a kind of document.
type KindInfo struct {
	Kind    resource.Kind  `json:"kind"`
	States  []engine.State `json:"states" nullable:"false" doc:"What can be wanted of such a document."`
	Driven  bool           `json:"driven" doc:"Whether a task service moves it; its gateway's steps do if not."`
	Diagram string         `json:"diagram,omitempty" doc:"Its state diagram, in Mermaid."`
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
			_, driven := a.Explain[kind]
			out.Body.Items = append(out.Body.Items, KindInfo{
				Kind: kind, States: resource.States(kind), Driven: driven, Diagram: a.Diagrams[kind],
			})
		}
		return out, nil
	})
}
