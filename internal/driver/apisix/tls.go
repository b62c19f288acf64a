package apisix

import (
	"context"
	"fmt"
	"strings"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// EnsureTLS serves an environment's host with the region's wildcard
// certificate. In a region without TLS there is nothing to do, and an object
// left from before is removed.
func (c *Client) EnsureTLS(ctx context.Context, owner resource.Owner, environment string) (waiting string, err error) {
	if !c.region.TLS {
		return c.RemoveTLS(ctx, owner, environment)
	}
	namespace, name, ok := strings.Cut(c.region.WildcardSecret, "/")
	if !ok {
		return "", fmt.Errorf("region %q: wildcardSecret is %q: write it as namespace/name", c.region.Name, c.region.WildcardSecret)
	}
	return c.ensure(ctx, owner, environmentTLS(owner.GatewayID, environment),
		tls(c.host(owner.GatewayID, environment), namespace, name))
}

// RemoveTLS deletes it, and waits until it is gone.
func (c *Client) RemoveTLS(ctx context.Context, owner resource.Owner, environment string) (waiting string, err error) {
	return c.kube.Remove(ctx, owner, environmentTLS(owner.GatewayID, environment))
}

// EnsureCustomTLS serves the custom domain with the certificate issued for it.
func (c *Client) EnsureCustomTLS(ctx context.Context, owner resource.Owner, domain string) (waiting string, err error) {
	return c.ensure(ctx, owner, customTLS(owner.GatewayID),
		tls(domain, resource.NamespaceName(owner.GatewayID), resource.CustomTLSName(owner.GatewayID)))
}

// RemoveCustomTLS deletes it, and waits until it is gone.
func (c *Client) RemoveCustomTLS(ctx context.Context, owner resource.Owner) (waiting string, err error) {
	return c.kube.Remove(ctx, owner, customTLS(owner.GatewayID))
}

func environmentTLS(gatewayID, environment string) kube.Ref {
	return ref(kube.ApisixTls, gatewayID, resource.TLSName(gatewayID, environment))
}

func customTLS(gatewayID string) kube.Ref {
	return ref(kube.ApisixTls, gatewayID, resource.CustomTLSName(gatewayID))
}

func tls(host, namespace, secret string) map[string]any {
	return map[string]any{
		"hosts":  []any{host},
		"secret": map[string]any{"namespace": namespace, "name": secret},
	}
}
