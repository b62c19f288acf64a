package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Node is a document and what is beneath it.
type Node struct {
	Kind      resource.Kind    `json:"kind"`
	ID        string           `json:"id"`
	State     engine.State     `json:"state,omitempty"`
	Phase     engine.Phase     `json:"phase,omitempty"`
	Condition engine.Condition `json:"condition,omitempty" doc:"settled, moving, locked, waiting, backingOff, failed, overdue, noHandler or paused."`
	Summary   string           `json:"summary,omitempty" doc:"What it waits for, if it is not settled."`
	Objects   []Object         `json:"objects,omitempty" nullable:"false" doc:"What exists for it outside of MongoDB."`
	Children  []*Node          `json:"children,omitempty" nullable:"false"`
}

// Object is something that exists for a document outside of MongoDB.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Status    string `json:"status,omitempty" doc:"How it stands with it, in a word or two."`
	// OwnerKind and OwnerID are the document that it exists for.
	OwnerKind resource.Kind `json:"-"`
	OwnerID   string        `json:"-"`
}

// ObjectLister lists what exists for a gateway outside of MongoDB.
type ObjectLister func(ctx context.Context, region, gatewayID string) ([]Object, error)

type treeOutput struct {
	Body *Node
}

func (a *api) treeRoutes() {
	register(a, operation{
		method: http.MethodGet, path: gatewaysPath + "/{gatewayId}/tree", id: "getGatewayTree", tag: tagGateways, role: Viewer,
		summary: "Show a gateway and all beneath it",
	}, a.gatewayTree)
}

func (a *api) gatewayTree(ctx context.Context, in *GatewayParams) (*treeOutput, error) {
	f, err := a.family(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	root := f.tree()
	if a.Objects != nil && f.gateway != nil {
		objects, err := a.Objects(ctx, f.gateway.Region, f.id)
		if err != nil {
			return nil, err
		}
		root.place(objects)
	}
	return &treeOutput{Body: root}, nil
}

// tree puts client apps beneath their environments and all else beneath the
// gateway.
func (f *family) tree() *Node {
	root := &Node{Kind: resource.KindApiGateway, ID: f.id}
	if f.gateway != nil {
		root.describe(f.own)
	}
	environments := map[string]*Node{}
	for _, c := range f.children {
		n := &Node{Kind: c.kind, ID: c.ID}
		n.describe(c.explanation)
		if c.kind == resource.KindEnvironment {
			environments[c.ID] = n
		}
		parent := root
		if c.kind == resource.KindClientApp {
			if env := environmentOf(c.ID, environments); env != nil {
				parent = env
			}
		}
		parent.Children = append(parent.Children, n)
	}
	return root
}

// environmentOf finds the environment of a client app by its id,
// "<gatewayId>-<environment>-<name>". Kinds are read in an order in which
// environments come before.
func environmentOf(appID string, environments map[string]*Node) *Node {
	for id, n := range environments {
		if len(appID) > len(id) && appID[:len(id)] == id && appID[len(id)] == '-' {
			return n
		}
	}
	return nil
}

func (n *Node) describe(e engine.Explanation) {
	n.State, n.Phase, n.Condition = e.State, e.Phase, e.Condition
	if e.Condition != engine.IsSettled {
		n.Summary = e.Summary
	}
}

// place puts objects beside the documents that they exist for; those of none
// of them beside the gateway.
func (n *Node) place(objects []Object) {
	for _, o := range objects {
		owner := n.find(o.OwnerKind, o.OwnerID)
		if owner == nil {
			owner = n
		}
		owner.Objects = append(owner.Objects, o)
	}
}

func (n *Node) find(kind resource.Kind, id string) *Node {
	if n.Kind == kind && n.ID == id {
		return n
	}
	for _, c := range n.Children {
		if found := c.find(kind, id); found != nil {
			return found
		}
	}
	return nil
}

// stuckConditions are those that do not pass by themselves.
var stuckConditions = []engine.Condition{engine.IsFailed, engine.IsOverdue, engine.IsUnhandled, IsPaused}

// patience is the number of failed attempts after which a document that backs
// off counts as stuck.
const patience = 3

func stuck(e engine.Explanation, m *engine.Meta) bool {
	return slices.Contains(stuckConditions, e.Condition) || e.Condition == engine.IsBacking && m.Attempts >= patience
}
