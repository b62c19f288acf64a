package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// Delete asks for the deletion of owner's object, fenced as the package
// describes, and reports whether it was observed to be gone. It is to be called
// again until it was: "the delete was accepted" is not "gone".
//
// Deployments are deleted in the foreground: they are gone when their pods are.
func (c *Client) Delete(ctx context.Context, owner resource.Owner, ref Ref) (gone bool, err error) {
	asked := false
	for range attempts {
		live, err := c.Get(ctx, ref)
		if err != nil {
			return false, err
		}
		if live == nil {
			return true, nil
		}
		if _, err := inspect(owner, ref, live); err != nil {
			return false, err
		}
		if terminating(live) || asked {
			return false, nil
		}
		staked, err := c.stake(ctx, owner, ref, live)
		if err != nil {
			return false, err
		}
		if staked == nil {
			continue
		}
		if err := verify(ctx, owner); err != nil {
			return false, fmt.Errorf("before deleting %s: %w", ref, err)
		}
		err = c.remove(ctx, ref, staked)
		switch {
		case err == nil:
			// Most objects go at once: one more look saves a whole claim.
			asked = true
		case !lookAgain(err, ref):
			return false, failed("deleting", ref, err)
		}
	}
	return false, fmt.Errorf("deleting %s: %w", ref, ErrContended)
}

// remove deletes exactly the object that was looked at, and no other that has
// taken its name since.
func (c *Client) remove(ctx context.Context, ref Ref, live v1.Object) error {
	uid, version := live.GetUID(), live.GetResourceVersion()
	propagation := v1.DeletePropagationBackground
	if ref.Type == Deployment {
		propagation = v1.DeletePropagationForeground
	}
	ctx, cancel := c.call(ctx)
	defer cancel()
	err := c.resource(ref).Delete(ctx, ref.Name, v1.DeleteOptions{
		Preconditions:     &v1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: &propagation,
	})
	if apierrors.IsNotFound(err) && !absent(err, ref) {
		return fmt.Errorf("the API server does not know %s: %w", ref.Type.Resource, err)
	}
	return err
}
