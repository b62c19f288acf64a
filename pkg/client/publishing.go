package client

import (
	"context"
	"iter"
	"net/http"
)

// ListStages reads a page of a gateway's stages.
func (c *Client) ListStages(ctx context.Context, gateway string, at Paging) (*Page[Stage], error) {
	return page[Stage](ctx, c, at.query(), v1, gateways, gateway, "stages")
}

// GetStage reads the stage of an environment.
func (c *Client) GetStage(ctx context.Context, gateway, environment string, opts ...CallOption) (*Stage, error) {
	return get[Stage](ctx, c, opts, v1, gateways, gateway, "stages", environment)
}

// PublishStage publishes routes, and the functions that they lead to, to an
// environment. Routes that are left out are removed.
func (c *Client) PublishStage(ctx context.Context, gateway, environment string, routes []Route, opts ...CallOption) (*Stage, error) {
	if routes == nil {
		routes = []Route{}
	}
	return call[Stage](ctx, c, http.MethodPut, map[string][]Route{"routes": routes}, opts, v1, gateways, gateway, "stages", environment)
}

// ChangeStage changes what is wanted of a stage.
func (c *Client) ChangeStage(ctx context.Context, gateway, environment string, change StageChange, opts ...CallOption) (*Stage, error) {
	return call[Stage](ctx, c, http.MethodPatch, change, opts, v1, gateways, gateway, "stages", environment)
}

// CreateTrigger makes a trigger.
func (c *Client) CreateTrigger(ctx context.Context, gateway string, in NewTrigger, opts ...CallOption) (*Trigger, error) {
	return call[Trigger](ctx, c, http.MethodPost, in, opts, v1, gateways, gateway, "triggers")
}

// GetTrigger reads a trigger.
func (c *Client) GetTrigger(ctx context.Context, gateway, name string, opts ...CallOption) (*Trigger, error) {
	return get[Trigger](ctx, c, opts, v1, gateways, gateway, "triggers", name)
}

// ListTriggers reads a page of a gateway's triggers.
func (c *Client) ListTriggers(ctx context.Context, gateway string, at Paging) (*Page[Trigger], error) {
	return page[Trigger](ctx, c, at.query(), v1, gateways, gateway, "triggers")
}

// Triggers goes through all of a gateway's triggers.
func (c *Client) Triggers(ctx context.Context, gateway string) iter.Seq2[*Trigger, error] {
	return all(func(at Paging) (*Page[Trigger], error) { return c.ListTriggers(ctx, gateway, at) })
}

// ChangeTrigger changes a trigger, suspends it, or lets it go on.
func (c *Client) ChangeTrigger(ctx context.Context, gateway, name string, change TriggerChange, opts ...CallOption) (*Trigger, error) {
	return call[Trigger](ctx, c, http.MethodPatch, change, opts, v1, gateways, gateway, "triggers", name)
}

// DeleteTrigger asks for a trigger to be deleted.
func (c *Client) DeleteTrigger(ctx context.Context, gateway, name string, opts ...CallOption) (*Trigger, error) {
	return call[Trigger](ctx, c, http.MethodDelete, nil, opts, v1, gateways, gateway, "triggers", name)
}

// GetRuntimeDomain reads where a gateway is reached.
func (c *Client) GetRuntimeDomain(ctx context.Context, gateway string, opts ...CallOption) (*RuntimeDomain, error) {
	return get[RuntimeDomain](ctx, c, opts, v1, gateways, gateway, "runtime-domain")
}

// BindCustomDomain binds a custom domain to a gateway. It is served once
// CustomDomainReady names it.
func (c *Client) BindCustomDomain(ctx context.Context, gateway, domain string, opts ...CallOption) (*RuntimeDomain, error) {
	return call[RuntimeDomain](ctx, c, http.MethodPut, map[string]string{"domain": domain}, opts,
		v1, gateways, gateway, "runtime-domain", "custom-domain")
}

// UnbindCustomDomain unbinds a gateway's custom domain.
func (c *Client) UnbindCustomDomain(ctx context.Context, gateway string, opts ...CallOption) (*RuntimeDomain, error) {
	return call[RuntimeDomain](ctx, c, http.MethodDelete, nil, opts, v1, gateways, gateway, "runtime-domain", "custom-domain")
}

// DomainCheck says whether a custom domain leads to its gateway.
type DomainCheck struct {
	Domain string `json:"domain"`
	Leads  bool   `json:"leads"`
	// Expected is the host that the domain should lead to.
	Expected  string   `json:"expected"`
	CNAME     string   `json:"cname,omitempty"`
	Addresses []string `json:"addresses"`
	Advice    string   `json:"advice"`
}

// CheckCustomDomain checks that a gateway's custom domain leads to it.
func (c *Client) CheckCustomDomain(ctx context.Context, gateway string) (*DomainCheck, error) {
	return get[DomainCheck](ctx, c, nil, v1, gateways, gateway, "runtime-domain", "custom-domain", "check")
}
