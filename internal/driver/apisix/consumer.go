package apisix

import (
	"context"
	"crypto/rand"
	"strconv"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// KeySecretField is the entry of a consumer's Secret that holds its key. The
// ingress controller reads it under this name.
const KeySecretField = "key"

// revisionSecretField is the entry that counts the keys there were before: it
// tells a key that was replaced from one that is yet to be. The consumer bears
// it as an annotation, so that the ingress controller looks at it again.
const (
	revisionSecretField = "revision"
	revisionAnnotation  = "lockstep.io/key-revision"
)

// EnsureConsumer makes an API consumer of an environment be there. Its key is
// kept in a Secret of the same name, which the ApisixConsumer refers to; it is
// in no document and no other object. It stays the same until it is renewed.
func (c *Client) EnsureConsumer(ctx context.Context, owner resource.Owner, environment, app string) (waiting string, err error) {
	consumer := consumerRef(owner.GatewayID, environment, app)
	data, waiting, err := c.kube.EnsureSecret(ctx, owner, consumer.Namespace, consumer.Name, func() map[string][]byte {
		return map[string][]byte{KeySecretField: []byte(rand.Text())}
	})
	if err != nil || waiting != "" {
		return waiting, err
	}
	obj := consumer.Object()
	if revision := data[revisionSecretField]; len(revision) > 0 {
		obj.SetAnnotations(map[string]string{revisionAnnotation: string(revision)})
	}
	return c.ensureObject(ctx, owner, consumer, obj, map[string]any{
		"authParameter": map[string]any{
			"keyAuth": map[string]any{"secretRef": map[string]any{"name": consumer.Name}},
		},
	})
}

// RenewKey gives a consumer another key, once for each revision: the key of
// this revision or a later one is kept.
func (c *Client) RenewKey(ctx context.Context, owner resource.Owner, environment, app string, revision int64) (waiting string, err error) {
	consumer := consumerRef(owner.GatewayID, environment, app)
	data, _, err := c.kube.ReadSecret(ctx, consumer.Namespace, consumer.Name)
	if err != nil {
		return "", err
	}
	if had, err := strconv.ParseInt(string(data[revisionSecretField]), 10, 64); err != nil || had < revision {
		waiting, err := c.kube.ReplaceSecret(ctx, owner, consumer.Namespace, consumer.Name, map[string][]byte{
			KeySecretField: []byte(rand.Text()), revisionSecretField: strconv.AppendInt(nil, revision, 10),
		})
		if err != nil || waiting != "" {
			return waiting, err
		}
	}
	return c.EnsureConsumer(ctx, owner, environment, app)
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
