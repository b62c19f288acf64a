package kube

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// Annotations beside those of package resource.
const (
	// AnnotationApplied is the token of the claim that finished its write last.
	// It differs from resource.AnnotationToken while a write is under way.
	AnnotationApplied = "lockstep.io/applied-token"
	// AnnotationHash is the hash of what was applied last: it tells a field
	// that is no longer wanted from one that was never ours.
	AnnotationHash = "lockstep.io/applied-hash"
)

// fence is what a look tells of an object's ownership.
type fence struct {
	// token is the newest claim on the object.
	token int64
	// sealed: no claim is in the middle of a write.
	sealed bool
}

// inspect reads the marks of a live object, and refuses it when it is someone
// else's or a newer claim's.
func inspect(owner resource.Owner, ref Ref, live v1.Object) (fence, error) {
	if whose := foreign(owner, live); whose != "" {
		return fence{}, &foreignError{ref, whose}
	}
	annotations := live.GetAnnotations()
	token, err := parseToken(annotations[resource.AnnotationToken])
	if err != nil {
		return fence{}, fmt.Errorf("%s: annotation %s: %w", ref, resource.AnnotationToken, err)
	}
	if token > owner.Token {
		return fence{}, &staleError{ref: ref, live: token, token: owner.Token}
	}
	applied, ok := annotations[AnnotationApplied]
	return fence{token: token, sealed: ok && applied == annotations[resource.AnnotationToken]}, nil
}

// foreign says in words whose the object is, or "" if it is owner's.
func foreign(owner resource.Owner, live v1.Object) string {
	labels, annotations := live.GetLabels(), live.GetAnnotations()
	if labels[resource.LabelManagedBy] != resource.ManagedBy {
		return fmt.Sprintf("is not managed by %s (no such label)", resource.ManagedBy)
	}
	kind, id := labels[resource.LabelKind], annotations[resource.AnnotationOwner]
	if kind != string(owner.Kind) || id != owner.ID {
		return fmt.Sprintf("is owned by %s %q, not by %s %q", kind, id, owner.Kind, owner.ID)
	}
	return ""
}

// parseToken reads a token. An object without one was written by nobody yet:
// controllers copy our labels and the owner to Secrets they make for us.
func parseToken(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	token, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no token: was it edited by hand?", s)
	}
	return token, nil
}

func formatToken(token int64) string { return strconv.FormatInt(token, 10) }

// verify asks whether the claim still holds its document.
func verify(ctx context.Context, owner resource.Owner) error {
	if owner.Verify == nil {
		return nil
	}
	return owner.Verify(ctx)
}

// OwnerLabels are the labels of everything that belongs to owner.
func OwnerLabels(owner resource.Owner) map[string]string {
	return map[string]string{
		resource.LabelManagedBy: resource.ManagedBy,
		resource.LabelGateway:   owner.GatewayID,
		resource.LabelKind:      string(owner.Kind),
	}
}
