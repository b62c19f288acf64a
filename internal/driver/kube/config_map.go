package kube

import (
	"context"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// EnsureConfigMap makes the ConfigMap that the instance reads its settings
// from hold exactly data.
func (c *Client) EnsureConfigMap(ctx context.Context, owner resource.Owner, data map[string]string) (waiting string, err error) {
	obj := configMapRef(owner.GatewayID).Object()
	content := make(map[string]any, len(data))
	for key, value := range data {
		content[key] = value
	}
	obj.Object["data"] = content
	applied, err := c.Apply(ctx, owner, obj)
	return applied.Waiting, err
}

// RemoveConfigMap deletes it, and waits until it is gone.
func (c *Client) RemoveConfigMap(ctx context.Context, owner resource.Owner) (waiting string, err error) {
	return c.Remove(ctx, owner, configMapRef(owner.GatewayID))
}

func configMapRef(gatewayID string) Ref {
	return Ref{ConfigMap, resource.NamespaceName(gatewayID), resource.ConfigMapName(gatewayID)}
}

// Remove is [Client.Delete] in the words of a step: it says what it waits for
// until the object is gone.
func (c *Client) Remove(ctx context.Context, owner resource.Owner, ref Ref) (waiting string, err error) {
	gone, err := c.Delete(ctx, owner, ref)
	if gone || err != nil {
		return "", err
	}
	return ref.String() + " terminating", nil
}
