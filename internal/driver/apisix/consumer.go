package apisix

import (
	"context"
	"crypto/rand"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// KeySecretField is the entry of a consumer's Secret that holds its key. The
// ingress controller reads it under this name.
const KeySecretField = "key"

// EnsureConsumer makes an API consumer of an environment be there. Its key is
// generated once and kept in a Secret of the same name, which the
// ApisixConsumer refers to; it is in no document and no other object.
func (c *Client) EnsureConsumer(ctx context.Context, owner resource.Owner, environment, app string) (waiting string, err error) {
	consumer := consumerRef(owner.GatewayID, environment, app)
	_, waiting, err = c.kube.EnsureSecret(ctx, owner, consumer.Namespace, consumer.Name, func() map[string][]byte {
		return map[string][]byte{KeySecretField: []byte(rand.Text())}
	})
	if err != nil || waiting != "" {
		return waiting, err
	}
	return c.ensure(ctx, owner, consumer, map[string]any{
		"authParameter": map[string]any{
			"keyAuth": map[string]any{"secretRef": map[string]any{"name": consumer.Name}},
		},
	})
}

// RemoveConsumer deletes the consumer, then its key, and waits until both are
// gone.
func (c *Client) RemoveConsumer(ctx context.Context, owner resource.Owner, environment, app string) (waiting string, err error) {
	consumer := consumerRef(owner.GatewayID, environment, app)
	waiting, err = c.kube.Remove(ctx, owner, consumer)
	if err != nil || waiting != "" {
		return waiting, err
	}
	return c.kube.RemoveSecret(ctx, owner, consumer.Namespace, consumer.Name)
}

func consumerRef(gatewayID, environment, app string) kube.Ref {
	return ref(kube.ApisixConsumer, gatewayID, resource.ConsumerName(gatewayID, environment, app))
}
