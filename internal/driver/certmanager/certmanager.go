// Package certmanager drives the cert-manager of a region: the Certificate of
// a gateway's custom domain. All writes go through package kube and are fenced
// there.
package certmanager

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// Client drives one region's cert-manager.
type Client struct {
	kube   *kube.Client
	issuer string
}

// New returns the cert-manager of a region, whose cluster k drives.
func New(k *kube.Client, region resource.Region) *Client {
	return &Client{kube: k, issuer: region.ClusterIssuer}
}

// EnsureCertificate asks for a certificate for the domain and waits until it
// is issued. For another domain than before, the old certificate stays in the
// Secret until cert-manager has the new one.
func (c *Client) EnsureCertificate(ctx context.Context, owner resource.Owner, domain string) (waiting string, err error) {
	ref := certificate(owner.GatewayID)
	obj := ref.Object()
	labels := map[string]any{}
	for key, value := range kube.OwnerLabels(owner) {
		labels[key] = value
	}
	obj.Object["spec"] = map[string]any{
		"secretName": resource.CustomTLSName(owner.GatewayID),
		// cert-manager makes the Secret; with these it is known as ours, to be
		// deleted and swept like everything else. It gets no token, which
		// would change with every claim.
		"secretTemplate": map[string]any{
			"labels":      labels,
			"annotations": map[string]any{resource.AnnotationOwner: owner.ID},
		},
		"dnsNames":   []any{domain},
		"privateKey": map[string]any{"rotationPolicy": "Always"},
		"issuerRef":  map[string]any{"group": kube.Certificate.Group, "kind": "ClusterIssuer", "name": c.issuer},
	}
	applied, err := c.kube.Apply(ctx, owner, obj)
	if err != nil || applied.Waiting != "" {
		return applied.Waiting, err
	}
	return pending(ref, applied.Object), nil
}

// RemoveCertificate deletes the certificate, then its Secret, which
// cert-manager keeps, and waits until both are gone.
func (c *Client) RemoveCertificate(ctx context.Context, owner resource.Owner) (waiting string, err error) {
	waiting, err = c.kube.Remove(ctx, owner, certificate(owner.GatewayID))
	if err != nil || waiting != "" {
		return waiting, err
	}
	return c.kube.RemoveSecret(ctx, owner, resource.NamespaceName(owner.GatewayID), resource.CustomTLSName(owner.GatewayID))
}

func certificate(gatewayID string) kube.Ref {
	return kube.Ref{
		Type:      kube.Certificate,
		Namespace: resource.NamespaceName(gatewayID),
		Name:      resource.CustomDomainName(gatewayID),
	}
}

// pending says why the certificate is not there yet, and "" if it is: issued,
// valid, and for the present generation. While cert-manager issues it, or after
// it failed to, the reason is in the condition Issuing; that a renewal is under
// way does not make a certificate less ready.
func pending(ref kube.Ref, live *unstructured.Unstructured) string {
	var ready, issuing kube.Condition
	for _, condition := range kube.Conditions(live) {
		switch condition.Type {
		case "Ready":
			ready = condition
		case "Issuing":
			issuing = condition
		}
	}
	switch {
	case ready.Type == "":
		return ref.String() + ": cert-manager has not reported on it yet"
	case ready.ObservedGeneration < live.GetGeneration():
		return ref.String() + ": cert-manager has not yet seen this change"
	case ready.Status == "True":
		return ""
	case issuing.Status == "True" || issuing.Message != "":
		return ref.String() + ": " + issuing.Why()
	}
	return ref.String() + ": " + ready.Why()
}
