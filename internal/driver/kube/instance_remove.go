package kube

import (
	"context"
	"fmt"

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
	case len(left) == 0:
		return "", nil
	}
	// The Deployment was deleted by other means than ours, which did not wait
	// for its pods, or left them.
	if err := c.removeStrayReplicaSets(ctx, owner); err != nil {
		return "", err
	}
	return fmt.Sprintf("instance: %s left", count(int32(len(left)), "pod")), nil
}

// removeStrayReplicaSets deletes the ReplicaSets of a Deployment that is gone
// (deleted by hand with --cascade=orphan): their pods would stay for ever.
func (c *Client) removeStrayReplicaSets(ctx context.Context, owner resource.Owner) error {
	stray, err := c.listInstance(ctx, replicaSets, owner.GatewayID, 0)
	if err != nil {
		return err
	}
	for i := range stray {
		set := &stray[i]
		if terminating(set) || len(set.GetOwnerReferences()) > 0 {
			continue
		}
		if err := verify(ctx, owner); err != nil {
			return fmt.Errorf("before deleting replicaset %s: %w", set.GetName(), err)
		}
		ref := Ref{replicaSets, set.GetNamespace(), set.GetName()}
		if err := c.remove(ctx, ref, set); err != nil && !lookAgain(err, ref) {
			return failed("deleting", ref, err)
		}
	}
	return nil
}
