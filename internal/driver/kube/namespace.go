package kube

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// EnsureNamespace makes the gateway's namespace be there.
func (c *Client) EnsureNamespace(ctx context.Context, owner resource.Owner) (waiting string, err error) {
	obj := Ref{Type: Namespace, Name: resource.NamespaceName(owner.GatewayID)}.Object()
	// The API server sets this label on every namespace; naming it makes a
	// removal by hand a drift.
	obj.SetLabels(map[string]string{"kubernetes.io/metadata.name": obj.GetName()})
	applied, err := c.Apply(ctx, owner, obj)
	return applied.Waiting, err
}

// RemoveNamespace deletes the gateway's namespace, and waits until it is gone,
// saying what holds it up.
func (c *Client) RemoveNamespace(ctx context.Context, owner resource.Owner) (waiting string, err error) {
	ref := Ref{Type: Namespace, Name: resource.NamespaceName(owner.GatewayID)}
	gone, err := c.Delete(ctx, owner, ref)
	if gone || err != nil {
		return "", err
	}
	live, err := c.Get(ctx, ref)
	if live == nil || err != nil {
		return "", err
	}
	return namespaceTerminating(live), nil
}

// namespaceTerminating puts the conditions in which the namespace controller
// says what is left into words.
func namespaceTerminating(namespace *unstructured.Unstructured) string {
	var reasons []string
	for _, condition := range Conditions(namespace) {
		if condition.Status == "True" && condition.Message != "" {
			reasons = append(reasons, condition.Message)
		}
	}
	text := fmt.Sprintf("namespace %s terminating", namespace.GetName())
	if len(reasons) == 0 {
		return text
	}
	return text + ": " + strings.Join(reasons, "; ")
}
