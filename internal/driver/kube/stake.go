package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// stake announces on the object that owner's claim is about to write to it.
// It returns nil without an error if the object has changed since the look.
//
// The claim is verified before as well: not for the fence's sake, but to keep
// the token of a lost claim from being left on the object.
func (c *Client) stake(ctx context.Context, owner resource.Owner, ref Ref, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := verify(ctx, owner); err != nil {
		return nil, fmt.Errorf("before changing %s: %w", ref, err)
	}
	return c.mark(ctx, ref, live, map[string]any{
		resource.AnnotationToken: formatToken(owner.Token),
		AnnotationApplied:        nil,
	})
}

// seal ends what an earlier write left open on an object that is as wanted,
// under this claim's token.
func (a *apply) seal(ctx context.Context, live *unstructured.Unstructured) (bool, Applied, error) {
	sealed, err := a.Client.seal(ctx, a.owner, a.ref, live)
	if err != nil || sealed == nil {
		return false, Applied{}, err
	}
	return true, Applied{Object: sealed, Change: Unchanged}, nil
}

func (c *Client) seal(ctx context.Context, owner resource.Owner, ref Ref, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	token := formatToken(owner.Token)
	return c.mark(ctx, ref, live, map[string]any{resource.AnnotationToken: token, AnnotationApplied: token})
}

// mark patches annotations of exactly the object that was looked at. It
// returns nil if that has changed or gone.
//
// The same patch hands the fields that this driver created over to its
// server-side apply: a create counts as "Update", and fields owned so would
// never be removed by a later apply that omits them.
func (c *Client) mark(ctx context.Context, ref Ref, live *unstructured.Unstructured, annotations map[string]any) (*unstructured.Unstructured, error) {
	upgraded := live.DeepCopy()
	if err := csaupgrade.UpgradeManagedFields(upgraded, sets.New(FieldManager), FieldManager); err != nil {
		return nil, failed("reading the field owners of", ref, err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":             live.GetUID(),
		"resourceVersion": live.GetResourceVersion(),
		"annotations":     annotations,
		"managedFields":   upgraded.GetManagedFields(),
	}})
	if err != nil {
		return nil, failed("marking", ref, err)
	}

	ctx, cancel := c.call(ctx)
	defer cancel()
	marked, err := c.resource(ref).Patch(ctx, ref.Name, types.MergePatchType, patch, v1.PatchOptions{FieldManager: FieldManager})
	if lookAgain(err, ref) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("marking", ref, err)
	}
	return marked, nil
}

// takeBack removes an object that was created under a claim which proved to be
// lost, or could not be verified, unless someone has put a mark of their own on
// it since: then it is theirs. Not to know is reason enough here: it is exactly
// the object that this call has made, nothing is in it yet, and the next claim
// makes another. It returns the reason, and what went wrong.
func (c *Client) takeBack(ctx context.Context, owner resource.Owner, ref Ref, created *unstructured.Unstructured, lost error) error {
	lost = fmt.Errorf("after creating %s: %w", ref, lost)
	// The claim's own context may have ended with it.
	ctx = context.WithoutCancel(ctx)
	for range attempts {
		live, err := c.Get(ctx, ref)
		if err != nil {
			return errors.Join(lost, fmt.Errorf("it could not be removed again: %w", err))
		}
		if live == nil || live.GetUID() != created.GetUID() || terminating(live) {
			return lost
		}
		if _, err := inspect(owner, ref, live); err != nil {
			return lost // a newer claim has adopted it
		}
		err = c.remove(ctx, ref, live)
		if err == nil || absent(err, ref) {
			return lost
		}
		if !apierrors.IsConflict(err) {
			return errors.Join(lost, failed("removing again", ref, err))
		}
	}
	return errors.Join(lost, fmt.Errorf("removing %s again: %w", ref, ErrContended))
}

func (a *apply) takeBack(ctx context.Context, created *unstructured.Unstructured, lost error) error {
	return a.Client.takeBack(ctx, a.owner, a.ref, created, lost)
}
