package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Get returns the object as the API server has it now, and nil if, and only
// if, the API server says that this object is not there.
func (c *Client) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	obj, err := c.resource(ref).Get(ctx, ref.Name, v1.GetOptions{})
	if absent(err, ref) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("getting", ref, err)
	}
	return obj, nil
}

// terminating reports whether the object is being deleted: it will go, and
// nothing can be done to it until it has gone.
func terminating(obj v1.Object) bool { return obj.GetDeletionTimestamp() != nil }
