package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// DocumentQuery says which documents of a kind are listed; empty fields match
// all.
type DocumentQuery struct {
	GatewayID string
	State     engine.State
	Phase     engine.Phase
	LockedBy  string
	// Stuck asks for those that do not move on by themselves.
	Stuck bool
	// Age asks for those that have been in their phase for longer.
	Age time.Duration
}

// ListDocuments reads a page of the documents of a kind, across gateways.
func (c *Client) ListDocuments(ctx context.Context, kind string, of DocumentQuery, at Paging) (*Page[Document], error) {
	q := at.query()
	set(q, "gatewayId", of.GatewayID)
	set(q, "state", string(of.State))
	set(q, "phase", string(of.Phase))
	set(q, "lockedBy", of.LockedBy)
	if of.Stuck {
		q.Set("stuck", "true")
	}
	if of.Age > 0 {
		q.Set("age", of.Age.String())
	}
	return page[Document](ctx, c, q, v1, "documents", kind)
}

// Documents goes through all documents of a kind, across gateways.
func (c *Client) Documents(ctx context.Context, kind string, of DocumentQuery) iter.Seq2[*Document, error] {
	return all(func(at Paging) (*Page[Document], error) { return c.ListDocuments(ctx, kind, of, at) })
}

// GetDocument reads what all kinds of document have.
func (c *Client) GetDocument(ctx context.Context, kind, id string) (*Document, error) {
	return get[Document](ctx, c, nil, v1, "documents", kind, id)
}

// ExplainDocument says what a document waits for.
func (c *Client) ExplainDocument(ctx context.Context, kind, id string) (*engine.Explanation, error) {
	return get[engine.Explanation](ctx, c, nil, v1, "documents", kind, id, "explain")
}

// RetryDocument has a document tried again at once, for a reason.
func (c *Client) RetryDocument(ctx context.Context, kind, id, reason string, opts ...CallOption) (*Document, error) {
	return c.verb(ctx, kind, id, "retry", reason, opts)
}

// UnlockDocument takes a document from the replica that holds it.
func (c *Client) UnlockDocument(ctx context.Context, kind, id, reason string, opts ...CallOption) (*Document, error) {
	return c.verb(ctx, kind, id, "unlock", reason, opts)
}

// PauseDocument keeps a document from being worked on.
func (c *Client) PauseDocument(ctx context.Context, kind, id, reason string, opts ...CallOption) (*Document, error) {
	return c.verb(ctx, kind, id, "pause", reason, opts)
}

// ResumeDocument lets a paused document go on.
func (c *Client) ResumeDocument(ctx context.Context, kind, id, reason string, opts ...CallOption) (*Document, error) {
	return c.verb(ctx, kind, id, "resume", reason, opts)
}

// ForceDeleteDocument has a step of a document's deletion skipped, which cannot
// be done any more.
func (c *Client) ForceDeleteDocument(ctx context.Context, kind, id, step, reason string, opts ...CallOption) (*Document, error) {
	return call[Document](ctx, c, http.MethodPost, map[string]string{"step": step, "reason": reason}, opts, v1, "documents", kind, id, "force-delete")
}

func (c *Client) verb(ctx context.Context, kind, id, verb, reason string, opts []CallOption) (*Document, error) {
	return call[Document](ctx, c, http.MethodPost, map[string]string{"reason": reason}, opts, v1, "documents", kind, id, verb)
}

// RemoveOrphan removes a document whose gateway is gone.
func (c *Client) RemoveOrphan(ctx context.Context, kind, id, reason string) (*Document, error) {
	because := func(r *request) { r.query.Set("reason", reason) }
	return call[Document](ctx, c, http.MethodDelete, nil, []CallOption{because}, v1, "documents", kind, id)
}

// Kind is what there is to know of a kind of document.
type Kind struct {
	Kind   string         `json:"kind"`
	States []engine.State `json:"states"`
	// Driven reports whether a task service moves it.
	Driven bool `json:"driven"`
	// Diagram is its state diagram, in Mermaid.
	Diagram string `json:"diagram,omitempty"`
	// Paused says who keeps all its documents from being worked on; nil if
	// nobody does.
	Paused *KindPause `json:"paused,omitempty"`
}

// KindPause is a pause of all documents of a kind.
type KindPause struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// PauseKind keeps all documents of a kind from being worked on, for a reason.
func (c *Client) PauseKind(ctx context.Context, kind, reason string, opts ...CallOption) (*Kind, error) {
	return call[Kind](ctx, c, http.MethodPost, map[string]string{"reason": reason}, opts, v1, "kinds", kind, "pause")
}

// ResumeKind lets the documents of a paused kind go on.
func (c *Client) ResumeKind(ctx context.Context, kind, reason string, opts ...CallOption) (*Kind, error) {
	return call[Kind](ctx, c, http.MethodPost, map[string]string{"reason": reason}, opts, v1, "kinds", kind, "resume")
}

// ListKinds lists the kinds of document.
func (c *Client) ListKinds(ctx context.Context) ([]Kind, error) {
	p, err := page[Kind](ctx, c, url.Values{}, v1, "kinds")
	if err != nil {
		return nil, err
	}
	return p.Items, nil
}

// Region is where gateways can be made.
type Region struct {
	Name            string `json:"name"`
	DomainSuffix    string `json:"domainSuffix"`
	TLS             bool   `json:"tls"`
	RuntimeImage    string `json:"runtimeImage"`
	RuntimeReplicas int32  `json:"runtimeReplicas"`
}

// ListRegions lists the regions.
func (c *Client) ListRegions(ctx context.Context) ([]Region, error) {
	p, err := page[Region](ctx, c, url.Values{}, v1, "regions")
	if err != nil {
		return nil, err
	}
	return p.Items, nil
}

// Replica is one that lives.
type Replica struct {
	Name string `json:"name"`
	// Since is when it joined, SeenAt when it last said that it lives.
	Since  time.Time `json:"since"`
	SeenAt time.Time `json:"seenAt"`
	// Shards are those that fall to it.
	Shards []int `json:"shards"`
}

// Shards is how the documents are divided among the live replicas, as the one
// that has answered sees it.
type Shards struct {
	// At is the time by the database's clock, as all times here.
	At time.Time `json:"at"`
	// SeenBy is the replica that has answered.
	SeenBy string `json:"seenBy"`
	// Divided reports whether documents are divided: with one live replica all
	// fall to it.
	Divided bool `json:"divided"`
	// Count is how many shards there are, Moved how many times one has changed
	// hands since the replica that answers began.
	Count int       `json:"count"`
	Moved int       `json:"moved"`
	Items []Replica `json:"items"`
}

// ListShards lists the live replicas and the shards that fall to each.
func (c *Client) ListShards(ctx context.Context) (*Shards, error) {
	return get[Shards](ctx, c, nil, v1, "shards")
}

// GetHealth returns an error if the server does not answer.
func (c *Client) GetHealth(ctx context.Context) error {
	_, err := c.do(ctx, &request{method: http.MethodGet, path: []string{"healthz"}}, nil)
	return err
}

// GetReadiness returns an error if the server cannot do its work.
func (c *Client) GetReadiness(ctx context.Context) error {
	_, err := c.do(ctx, &request{method: http.MethodGet, path: []string{"readyz"}}, nil)
	return err
}
