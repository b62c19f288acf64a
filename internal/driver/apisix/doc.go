// Package apisix drives the APISIX ingress controller of a region through its
// custom resources: routes, plugin configuration, TLS and consumers. All writes
// go through package kube and are fenced there.
//
// Every method says in words what it waits for, and "" when it is done: the
// object is in place and accepted, or observed gone. Accepted means that the
// ingress controller has reported the object's present generation as good;
// where none runs, the region says so ([resource.AcceptedByAPIServer]), and
// that the API server has taken the object is all there is.
package apisix

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// Client drives one region's APISIX.
type Client struct {
	kube   *kube.Client
	region resource.Region
}

// New returns the APISIX of a region, whose cluster k drives.
func New(k *kube.Client, region resource.Region) *Client {
	return &Client{kube: k, region: region}
}

// ensure applies an object with the given spec and waits for its acceptance.
func (c *Client) ensure(ctx context.Context, owner resource.Owner, ref kube.Ref, spec map[string]any) (waiting string, err error) {
	return c.ensureObject(ctx, owner, ref, ref.Object(), spec)
}

func (c *Client) ensureObject(ctx context.Context, owner resource.Owner, ref kube.Ref, obj *unstructured.Unstructured, spec map[string]any) (waiting string, err error) {
	spec["ingressClassName"] = c.region.IngressClass
	obj.Object["spec"] = spec
	applied, err := c.kube.Apply(ctx, owner, obj)
	if err != nil || applied.Waiting != "" {
		return applied.Waiting, err
	}
	return c.waits(ref, applied.Object), nil
}

func (c *Client) waits(ref kube.Ref, live *unstructured.Unstructured) string {
	if c.region.ApisixAcceptance == resource.AcceptedByAPIServer {
		return ""
	}
	if reason := pending(live); reason != "" {
		return ref.String() + ": " + reason
	}
	return ""
}

func ref(t kube.Type, gatewayID, name string) kube.Ref {
	return kube.Ref{Type: t, Namespace: resource.NamespaceName(gatewayID), Name: name}
}
