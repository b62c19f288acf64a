package apisix

import (
	"context"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// EnsurePluginConfig makes the plugins that all of a gateway's routes share be
// there: a request id, and where the region has TLS, HTTP leads to HTTPS.
func (c *Client) EnsurePluginConfig(ctx context.Context, owner resource.Owner) (waiting string, err error) {
	plugins := []any{plugin("request-id", map[string]any{"include_in_response": true})}
	if c.region.TLS {
		plugins = append(plugins, plugin("redirect", map[string]any{"http_to_https": true}))
	}
	return c.ensure(ctx, owner, pluginConfig(owner.GatewayID), map[string]any{"plugins": plugins})
}

// RemovePluginConfig deletes it, and waits until it is gone.
func (c *Client) RemovePluginConfig(ctx context.Context, owner resource.Owner) (waiting string, err error) {
	return c.kube.Remove(ctx, owner, pluginConfig(owner.GatewayID))
}

func pluginConfig(gatewayID string) kube.Ref {
	return ref(kube.ApisixPluginConfig, gatewayID, resource.PluginConfigName(gatewayID))
}

func plugin(name string, config map[string]any) map[string]any {
	return map[string]any{"name": name, "enable": true, "config": config}
}
