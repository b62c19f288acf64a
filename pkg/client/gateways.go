package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

const (
	v1       = "v1"
	gateways = "api-gateways"
)

// GatewayQuery says which gateways are listed; empty fields match all.
type GatewayQuery struct {
	State  engine.State
	Phase  engine.Phase
	Region string
	Name   string
}

// CreateGateway makes a gateway.
func (c *Client) CreateGateway(ctx context.Context, in NewGateway, opts ...CallOption) (*Gateway, error) {
	return call[Gateway](ctx, c, http.MethodPost, in, opts, v1, gateways)
}

// AdoptGateway makes the document of a gateway anew whose document is lost, and
// takes on what is left of it. It is for operators.
func (c *Client) AdoptGateway(ctx context.Context, id string, in Adoption, opts ...CallOption) (*Gateway, error) {
	return call[Gateway](ctx, c, http.MethodPost, in, opts, v1, gateways, id, "adopt")
}

// GetGateway reads a gateway.
func (c *Client) GetGateway(ctx context.Context, id string, opts ...CallOption) (*Gateway, error) {
	return get[Gateway](ctx, c, opts, v1, gateways, id)
}

// ListGateways reads a page of the list of gateways.
func (c *Client) ListGateways(ctx context.Context, of GatewayQuery, at Paging) (*Page[Gateway], error) {
	q := at.query()
	set(q, "state", string(of.State))
	set(q, "phase", string(of.Phase))
	set(q, "region", of.Region)
	set(q, "name", of.Name)
	return page[Gateway](ctx, c, q, v1, gateways)
}

// Gateways goes through all gateways.
func (c *Client) Gateways(ctx context.Context, of GatewayQuery) iter.Seq2[*Gateway, error] {
	return all(func(at Paging) (*Page[Gateway], error) { return c.ListGateways(ctx, of, at) })
}

// ChangeGateway changes what is wanted of a gateway.
func (c *Client) ChangeGateway(ctx context.Context, id string, change GatewayChange, opts ...CallOption) (*Gateway, error) {
	return call[Gateway](ctx, c, http.MethodPatch, change, opts, v1, gateways, id)
}

// DeleteGateway asks for a gateway to be deleted, with everything beneath it.
// It returns the gateway as it is then: nil if it was waited for to be gone.
func (c *Client) DeleteGateway(ctx context.Context, id string, opts ...CallOption) (*Gateway, error) {
	return call[Gateway](ctx, c, http.MethodDelete, nil, opts, v1, gateways, id)
}

// GatewayExplanation says how it stands with a gateway and all beneath it.
type GatewayExplanation struct {
	// Summary is the whole in a few sentences.
	Summary string `json:"summary"`
	// Gateway is the gateway's own; nil if only what was beneath it is left.
	Gateway *engine.Explanation `json:"gateway,omitempty"`
	// Findings are what contradicts the gateway's phase.
	Findings []Finding `json:"findings"`
	// Children are the documents beneath that are not settled, or that a
	// finding is about.
	Children []engine.Explanation `json:"children"`
}

// Finding is one document that contradicts its gateway's phase.
type Finding struct {
	// Sort is "contradiction", "missing" or "orphan".
	Sort  string       `json:"sort"`
	Kind  string       `json:"kind"`
	ID    string       `json:"id"`
	State engine.State `json:"state,omitempty"`
	Phase engine.Phase `json:"phase,omitempty"`
	// Problem is what is the matter, Next what will move it, or that nothing
	// will, Fix what can be done.
	Problem string `json:"problem"`
	Next    string `json:"next"`
	Fix     string `json:"fix"`
}

// ExplainGateway says what a gateway and all beneath it wait for.
func (c *Client) ExplainGateway(ctx context.Context, id string) (*GatewayExplanation, error) {
	return get[GatewayExplanation](ctx, c, nil, v1, gateways, id, "explain")
}

// Node is a document and what is beneath it.
type Node struct {
	Kind      string           `json:"kind"`
	ID        string           `json:"id"`
	State     engine.State     `json:"state,omitempty"`
	Phase     engine.Phase     `json:"phase,omitempty"`
	Condition engine.Condition `json:"condition,omitempty"`
	Summary   string           `json:"summary,omitempty"`
	Objects   []Object         `json:"objects,omitempty"`
	Children  []*Node          `json:"children,omitempty"`
	// Incomplete is said of the gateway: why objects are missing from the tree.
	Incomplete string `json:"incomplete,omitempty"`
}

// Object is something that exists for a document in its region.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Status    string `json:"status,omitempty"`
}

// GetGatewayTree shows a gateway and all beneath it.
func (c *Client) GetGatewayTree(ctx context.Context, id string) (*Node, error) {
	return get[Node](ctx, c, nil, v1, gateways, id, "tree")
}

// Event is something that happened to a document.
type Event struct {
	At time.Time `json:"at"`
	// Sort is "moved" (to another phase), "stepped" (a step is done) or "asked"
	// (by a caller).
	Sort   string       `json:"sort"`
	Kind   string       `json:"kind"`
	ID     string       `json:"id"`
	By     string       `json:"by"`
	From   engine.Phase `json:"from,omitempty"`
	To     engine.Phase `json:"to,omitempty"`
	Step   string       `json:"step,omitempty"`
	TookMS int64        `json:"tookMs,omitempty"`
	Action string       `json:"action,omitempty"`
	State  engine.State `json:"state,omitempty"`
	Fields []string     `json:"fields,omitempty"`
	Reason string       `json:"reason,omitempty"`
}

// ListEvents reads a page of what happened to a gateway and all beneath it
// after a time; the zero time is the beginning.
func (c *Client) ListEvents(ctx context.Context, id string, since time.Time, at Paging) (*Page[Event], error) {
	q := at.query()
	if !since.IsZero() {
		q.Set("since", since.UTC().Format(time.RFC3339Nano))
	}
	return page[Event](ctx, c, q, v1, gateways, id, "events")
}

// Events goes through all that happened to a gateway and all beneath it.
func (c *Client) Events(ctx context.Context, id string, since time.Time) iter.Seq2[*Event, error] {
	return all(func(at Paging) (*Page[Event], error) { return c.ListEvents(ctx, id, since, at) })
}
