package apisix

import (
	"context"
	"strconv"
	"strings"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// Priorities of routes of the same host: a stage's published routes go before
// the environment's default.
const (
	defaultPriority = 0
	stagePriority   = 10
)

// EnsureEnvironmentRoute leads all requests for an environment's host to the
// instance.
func (c *Client) EnsureEnvironmentRoute(ctx context.Context, owner resource.Owner, environment string) (waiting string, err error) {
	rule := c.rule(owner.GatewayID, environment, "default", defaultPriority,
		[]string{c.host(owner.GatewayID, environment)}, []string{"/*"}, nil, nil)
	return c.ensure(ctx, owner, environmentRoute(owner.GatewayID, environment), http(rule))
}

// RemoveEnvironmentRoute deletes it, and waits until it is gone.
func (c *Client) RemoveEnvironmentRoute(ctx context.Context, owner resource.Owner, environment string) (waiting string, err error) {
	return c.kube.Remove(ctx, owner, environmentRoute(owner.GatewayID, environment))
}

// EnsureCustomRoute leads all requests for a custom domain to the instance, as
// its prod environment. The environments' own routes are not touched.
func (c *Client) EnsureCustomRoute(ctx context.Context, owner resource.Owner, domain string) (waiting string, err error) {
	rule := c.rule(owner.GatewayID, "prod", "custom", defaultPriority, []string{domain}, []string{"/*"}, nil, nil)
	return c.ensure(ctx, owner, customRoute(owner.GatewayID), http(rule))
}

// RemoveCustomRoute deletes it, and waits until it is gone.
func (c *Client) RemoveCustomRoute(ctx context.Context, owner resource.Owner) (waiting string, err error) {
	return c.kube.Remove(ctx, owner, customRoute(owner.GatewayID))
}

// EnsureStageRoutes publishes a stage's routes at its environment's host and
// at extraHosts (the custom domain, which the prod environment serves). With
// no routes the object is removed, as APISIX has no empty route.
func (c *Client) EnsureStageRoutes(ctx context.Context, owner resource.Owner, environment string, extraHosts []string, routes []resource.Route) (waiting string, err error) {
	if len(routes) == 0 {
		return c.RemoveStageRoutes(ctx, owner, environment)
	}
	hosts := append([]string{c.host(owner.GatewayID, environment)}, extraHosts...)
	rules := make([]any, 0, len(routes))
	for i, route := range routes {
		name := strconv.Itoa(i) + "-" + route.Function
		headers := map[string]any{"X-Lockstep-Function": route.Function}
		rules = append(rules, c.rule(owner.GatewayID, environment, name, stagePriority,
			hosts, []string{route.Path}, route.Methods, headers))
	}
	return c.ensure(ctx, owner, stageRoute(owner.GatewayID, environment), http(rules...))
}

// RemoveStageRoutes deletes them, and waits until they are gone.
func (c *Client) RemoveStageRoutes(ctx context.Context, owner resource.Owner, environment string) (waiting string, err error) {
	return c.kube.Remove(ctx, owner, stageRoute(owner.GatewayID, environment))
}

func (c *Client) host(gatewayID, environment string) string {
	return resource.EnvironmentHost(gatewayID, environment, c.region.DomainSuffix)
}

func environmentRoute(gatewayID, environment string) kube.Ref {
	return ref(kube.ApisixRoute, gatewayID, resource.EnvironmentName(gatewayID, environment))
}

func customRoute(gatewayID string) kube.Ref {
	return ref(kube.ApisixRoute, gatewayID, resource.CustomDomainName(gatewayID))
}

func stageRoute(gatewayID, environment string) kube.Ref {
	return ref(kube.ApisixRoute, gatewayID, resource.StageRouteName(gatewayID, environment))
}

func http(rules ...any) map[string]any { return map[string]any{"http": rules} }

// rule is one entry of an ApisixRoute. It tells the instance in a header which
// environment was asked for, whatever header the caller sent.
func (c *Client) rule(gatewayID, environment, name string, priority int64, hosts, paths, methods []string, headers map[string]any) map[string]any {
	set := map[string]any{"X-Lockstep-Environment": environment}
	for key, value := range headers {
		set[key] = value
	}
	match := map[string]any{"hosts": list(hosts), "paths": list(paths)}
	if len(methods) > 0 {
		match["methods"] = list(upper(methods))
	}
	return map[string]any{
		"name":     name,
		"priority": priority,
		"match":    match,
		"backends": []any{map[string]any{
			"serviceName": resource.InstanceName(gatewayID), "servicePort": int64(kube.ServicePort),
		}},
		"websocket":          true,
		"plugin_config_name": resource.PluginConfigName(gatewayID),
		"plugins": []any{map[string]any{
			"name": "proxy-rewrite", "enable": true,
			"config": map[string]any{"headers": map[string]any{"set": set}},
		}},
	}
}

func list(values []string) []any {
	elements := make([]any, len(values))
	for i, value := range values {
		elements[i] = value
	}
	return elements
}

func upper(values []string) []string {
	raised := make([]string, len(values))
	for i, value := range values {
		raised[i] = strings.ToUpper(value)
	}
	return raised
}
