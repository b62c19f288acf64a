package api

import (
	"context"
	"errors"
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
	Objects   []Object         `json:"objects,omitempty" nullable:"false" doc:"What exists for it in its region: objects of the cluster, and its database and user."`
	Children  []*Node          `json:"children,omitempty" nullable:"false"`
	// Incomplete is said of the gateway alone.
	Incomplete string `json:"incomplete,omitempty" doc:"Why objects are missing from the tree: what they are in cannot be reached. Absent if none are."`
}

// Object is something that exists for a document in its region.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Status    string `json:"status,omitempty" doc:"How it stands with it, in a word or two."`
	// OwnerKind and OwnerID are the document that it exists for.
	OwnerKind resource.Kind `json:"-"`
	OwnerID   string        `json:"-"`
}

// ObjectLister lists what exists for a gateway in its region. What it has found
// is returned with the error, too, if some of it cannot be listed; an error that
// has a method Away() string is one of something that cannot be reached, which
// the method names.
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
		objects, err := a.objects(ctx, f.gateway.Region, f.id)
		if err != nil {
			// What the documents say is worth having without them, above all then.
			root.Incomplete = a.problem(ctx, "getGatewayTree", err).Detail
		}
		root.place(objects)
	}
	return &treeOutput{Body: root}, nil
}

// objects lists what exists for a gateway. That some of it cannot be reached is
// the fault of neither the request nor the service, nor of its own database.
func (a *api) objects(ctx context.Context, region, gatewayID string) ([]Object, error) {
	// A server that does not answer leaves time to say so.
	ctx, cancel := context.WithTimeout(ctx, a.Timeout/2)
	defer cancel()
	found, err := a.Objects(ctx, region, gatewayID)
	if err == nil {
		return found, nil
	}
	var away interface{ Away() string }
	if errors.As(err, &away) {
		return found, Unavailable(away.Away()+" cannot be reached", err)
	}
	return found, Unavailable("it cannot be told what exists in region "+region, err)
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
