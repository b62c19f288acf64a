package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// attempts bounds how often a write looks again after a conflict. Controllers
// write the status of a busy object a few times a second.
const attempts = 6

// Change is what an Apply did.
type Change string

// The changes.
const (
	Unchanged Change = "unchanged"
	Created   Change = "created"
	Updated   Change = "updated"
)

// Applied is what an [Client.Apply] found and did.
type Applied struct {
	// Object is as the API server has it; nil while Waiting.
	Object *unstructured.Unstructured
	Change Change
	// Waiting, if not empty, says why nothing could be applied yet: the object
	// of that name, or its namespace, is being deleted.
	Waiting string
}

// Apply makes the object be there as given, as owner's, fenced as the package
// describes. Fields that obj does not set are left to others, but those that
// an earlier Apply set and this one does not are removed.
func (c *Client) Apply(ctx context.Context, owner resource.Owner, obj *unstructured.Unstructured) (Applied, error) {
	a, err := c.newApply(owner, obj)
	if err != nil {
		return Applied{}, err
	}
	for range attempts {
		done, applied, err := a.once(ctx)
		if done || err != nil {
			return applied, err
		}
	}
	return Applied{}, fmt.Errorf("applying %s: %w", a.ref, ErrContended)
}

// apply is one Apply under way.
type apply struct {
	*Client
	owner resource.Owner
	ref   Ref
	// want is what is to be there, with labels, owner and hash but no token.
	want *unstructured.Unstructured
	// staked: this apply has announced itself on the object.
	staked bool
}

func (c *Client) newApply(owner resource.Owner, obj *unstructured.Unstructured) (*apply, error) {
	t, ok := typeOf(obj)
	if !ok {
		return nil, fmt.Errorf("applying %s %s: not a managed type", obj.GroupVersionKind(), obj.GetName())
	}
	want, err := dress(owner, obj)
	if err != nil {
		return nil, fmt.Errorf("applying %s %s: %w", t.Kind, obj.GetName(), err)
	}
	ref := Ref{Type: t, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	return &apply{Client: c, owner: owner, ref: ref, want: want}, nil
}

// once looks and does the next thing. It is not done when a conflict, or
// someone else's create or delete, asks for another look.
func (a *apply) once(ctx context.Context) (done bool, _ Applied, _ error) {
	live, err := a.Get(ctx, a.ref)
	if err != nil {
		return false, Applied{}, err
	}
	if live == nil {
		return a.create(ctx)
	}
	mark, err := inspect(a.owner, a.ref, live)
	if err != nil {
		return false, Applied{}, err
	}
	if terminating(live) {
		return true, Applied{Waiting: a.ref.String() + " terminating"}, nil
	}
	switch drift := differs(a.want, live); {
	case drift == "" && mark.sealed:
		return true, Applied{Object: live, Change: Unchanged}, nil
	case drift == "":
		return a.seal(ctx, live)
	default:
		return a.update(ctx, live, mark)
	}
}

// create makes the object, unsealed, and removes it again if the claim was
// lost meanwhile: what was created for nobody must not stay.
func (a *apply) create(ctx context.Context) (bool, Applied, error) {
	obj := a.want.DeepCopy()
	annotate(obj, resource.AnnotationToken, formatToken(a.owner.Token))
	created, err := a.doCreate(ctx, obj)
	switch {
	case apierrors.IsAlreadyExists(err):
		return false, Applied{}, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return true, Applied{Waiting: "namespace " + a.ref.Namespace + " terminating"}, nil
	case err != nil:
		return false, Applied{}, failed("creating", a.ref, err)
	}
	if err := verify(ctx, a.owner); err != nil {
		return false, Applied{}, a.takeBack(ctx, created, err)
	}
	if drift := differs(a.want, created); drift != "" {
		return false, Applied{}, altered(a.ref, drift)
	}
	return true, Applied{Object: created, Change: Created}, nil
}

func (a *apply) doCreate(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, cancel := a.call(ctx)
	defer cancel()
	return a.resource(a.ref).Create(ctx, obj, v1.CreateOptions{FieldManager: FieldManager})
}

// update stakes, verifies and applies.
func (a *apply) update(ctx context.Context, live *unstructured.Unstructured, mark fence) (bool, Applied, error) {
	if !a.staked || mark.sealed || mark.token != a.owner.Token {
		staked, err := a.stake(ctx, a.owner, a.ref, live)
		if err != nil || staked == nil {
			return false, Applied{}, err
		}
		live, a.staked = staked, true
	}
	if err := verify(ctx, a.owner); err != nil {
		return false, Applied{}, fmt.Errorf("before changing %s: %w", a.ref, err)
	}
	obj := a.want.DeepCopy()
	annotate(obj, resource.AnnotationToken, formatToken(a.owner.Token))
	annotate(obj, AnnotationApplied, formatToken(a.owner.Token))
	obj.SetResourceVersion(live.GetResourceVersion())
	obj.SetUID(live.GetUID())

	applied, err := a.doApply(ctx, obj)
	switch {
	case lookAgain(err, a.ref):
		return false, Applied{}, nil
	case err != nil:
		return false, Applied{}, failed("applying", a.ref, err)
	}
	if drift := differs(a.want, applied); drift != "" {
		return false, Applied{}, altered(a.ref, drift)
	}
	return true, Applied{Object: applied, Change: Updated}, nil
}

func (a *apply) doApply(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, cancel := a.call(ctx)
	defer cancel()
	return a.resource(a.ref).Apply(ctx, a.ref.Name, obj, v1.ApplyOptions{FieldManager: FieldManager, Force: true})
}

// lookAgain reports whether a write failed because the object is no longer
// what was looked at: changed, gone, or another one of the same name.
func lookAgain(err error, ref Ref) bool {
	return apierrors.IsConflict(err) || absent(err, ref)
}

// altered is the error for a field that the API server did not keep as it was
// given. Applying again and again would not help, and would be noticed by no one.
func altered(ref Ref, field string) error {
	return fmt.Errorf("applying %s: the API server did not keep %s as given: "+
		"does an admission webhook change it, or the CRD not know it?", ref, field)
}
