package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// pageSize bounds one answer of a list.
const pageSize = 500

// ObjectRef is a managed object as a list found it.
type ObjectRef struct {
	Ref
	GatewayID string
	// OwnerKind and OwnerID are the document that owns it.
	OwnerKind resource.Kind
	OwnerID   string
	// Token is the newest claim on it.
	Token   int64
	UID     types.UID
	Created time.Time
	// Status is a word or two on how it is, for people.
	Status string
}

// Owner is the object's owner with the token that is on the object: who
// deletes it so (the sweeper, of an object whose document is gone) is refused
// as soon as any claim has written to it since the list. verify should ask
// whether the document is still gone.
func (o ObjectRef) Owner(verify func(context.Context) error) resource.Owner {
	return resource.Owner{Kind: o.OwnerKind, ID: o.OwnerID, GatewayID: o.GatewayID, Token: o.Token, Verify: verify}
}

// ListManaged lists every managed object of a gateway, or of all gateways if
// gatewayID is empty, from the API server. If some types cannot be listed, it
// returns the objects of the others together with the error: that they are
// missing from the list then means nothing.
func (c *Client) ListManaged(ctx context.Context, gatewayID string) ([]ObjectRef, error) {
	selector := managed
	if gatewayID != "" {
		selector += "," + resource.LabelGateway + "=" + gatewayID
	}
	var found []ObjectRef
	var errs []error
	for _, t := range Types {
		objects, err := c.listType(ctx, t, gatewayID, selector)
		if err != nil {
			errs = append(errs, err)
		}
		found = append(found, objects...)
	}
	return found, errors.Join(errs...)
}

func (c *Client) listType(ctx context.Context, t Type, gatewayID, selector string) ([]ObjectRef, error) {
	// A gateway's objects are all in its namespace, which is cheaper to list
	// than the whole cluster.
	namespace := v1.NamespaceAll
	if t.Namespaced && gatewayID != "" {
		namespace = resource.NamespaceName(gatewayID)
	}
	var found []ObjectRef
	options := v1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, next, err := c.listPage(ctx, t, namespace, options)
		if err != nil {
			return nil, fmt.Errorf("listing managed %s: %w", t.Resource, err)
		}
		found = append(found, page...)
		if next == "" {
			return found, nil
		}
		options.Continue = next
	}
}

func (c *Client) listPage(ctx context.Context, t Type, namespace string, options v1.ListOptions) (page []ObjectRef, next string, err error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	if unread[t] {
		list, err := c.metadata.Resource(t.GVR()).Namespace(namespace).List(ctx, options)
		if err != nil {
			return nil, "", err
		}
		for i := range list.Items {
			page = append(page, objectRef(t, &list.Items[i]))
		}
		return page, list.Continue, nil
	}
	list, err := c.dynamic.Resource(t.GVR()).Namespace(namespace).List(ctx, options)
	if err != nil {
		return nil, "", err
	}
	for i := range list.Items {
		ref := objectRef(t, &list.Items[i])
		if ref.Status == "" {
			ref.Status = status(&list.Items[i])
		}
		page = append(page, ref)
	}
	return page, list.GetContinue(), nil
}

func objectRef(t Type, obj v1.Object) ObjectRef {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	// A token that cannot be read is 0: the object is listed nevertheless, and
	// a write to it reports what is wrong with it.
	token, _ := parseToken(annotations[resource.AnnotationToken])
	ref := ObjectRef{
		Ref:       Ref{Type: t, Namespace: obj.GetNamespace(), Name: obj.GetName()},
		GatewayID: labels[resource.LabelGateway],
		OwnerKind: resource.Kind(labels[resource.LabelKind]),
		OwnerID:   annotations[resource.AnnotationOwner],
		Token:     token,
		UID:       obj.GetUID(),
		Created:   obj.GetCreationTimestamp().Time,
	}
	if terminating(obj) {
		ref.Status = "terminating"
	}
	return ref
}

// status puts how an object is into a word or two.
func status(obj *unstructured.Unstructured) string {
	if phase, ok, _ := unstructured.NestedString(obj.Object, "status", "phase"); ok {
		return phase
	}
	if obj.GetKind() == Deployment.Kind {
		wanted, _, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas")
		available, _, _ := unstructured.NestedInt64(obj.Object, "status", "availableReplicas")
		return fmt.Sprintf("%d/%d available", available, wanted)
	}
	for _, condition := range Conditions(obj) {
		switch condition.Type {
		case "Ready", "Accepted", "ResourcesAvailable":
			if condition.Status == "True" {
				return condition.Type
			}
			return "not " + condition.Type + ": " + condition.Why()
		}
	}
	return ""
}
