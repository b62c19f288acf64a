package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// RemoveInstance deletes the gateway's Service and Deployment, and waits until
// they and all their pods are gone: what comes after it takes away what pods
// live on.
func (c *Client) RemoveInstance(ctx context.Context, owner resource.Owner) (waiting string, err error) {
	waiting, err = c.Remove(ctx, owner, serviceRef(owner.GatewayID))
	if err != nil || waiting != "" {
		return waiting, err
	}
	gone, err := c.Delete(ctx, owner, deploymentRef(owner.GatewayID))
	if err != nil {
		return "", err
	}
	left, err := c.instancePods(ctx, owner.GatewayID, 0)
	if err != nil {
		return "", err
	}
	switch {
	case !gone && len(left) == 0:
		return "deployment: terminating", nil
	case !gone:
		return fmt.Sprintf("deployment: terminating, %s left", count(int32(len(left)), "pod")), nil
	}
	// If it was deleted by other means than ours, they did not wait for its
	// pods, or left them; and a ReplicaSet without pods may make some yet.
	sets, err := c.removeStrays(ctx, owner, replicaSets, everyStray)
	switch {
	case err != nil:
		return "", err
	case sets > 0:
		return fmt.Sprintf("instance: %s and %s left", count(int32(sets), "replica set"), count(int32(len(left)), "pod")), nil
	case len(left) == 0:
		return "", nil
	}
	_, err = c.removeStrays(ctx, owner, pods, everyStray)
	return fmt.Sprintf("instance: %s left", count(int32(len(left)), "pod")), err
}

// removeStrays deletes what is left of a Deployment that is gone and would stay
// for ever: of one deleted by hand with --cascade=orphan, and of one whose end
// the cluster's garbage collector has missed, as it may while an API server is
// restarted. It returns how many there are. The caller has seen that there is no
// Deployment.
func (c *Client) removeStrays(ctx context.Context, owner resource.Owner, t Type, stray func(*unstructured.Unstructured) bool) (found int, err error) {
	all, err := c.listInstance(ctx, t, owner.GatewayID, 0)
	if err != nil {
		return 0, err
	}
	for i := range all {
		left := &all[i]
		if !stray(left) {
			continue
		}
		found++
		if terminating(left) {
			continue
		}
		// What was listed before this is older than any claim after ours.
		if err := verify(ctx, owner); err != nil {
			return found, fmt.Errorf("before deleting %s %s: %w", t.Resource, left.GetName(), err)
		}
		ref := Ref{t, left.GetNamespace(), left.GetName()}
		if err := c.remove(ctx, ref, left); err != nil && !lookAgain(err, ref) {
			return found, failed("deleting", ref, err)
		}
	}
	return found, nil
}

func everyStray(*unstructured.Unstructured) bool { return true }

// owned is a stray that a new Deployment would not adopt.
func owned(left *unstructured.Unstructured) bool { return len(left.GetOwnerReferences()) > 0 }
