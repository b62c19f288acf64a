package kube

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrStale is matched (by errors.Is) by the error of a write that was refused
// because a newer claim of the same document owns the object. The error also
// has a method LockLost() bool, for callers that do not import this package.
var ErrStale = errors.New("a newer claim owns the object")

// ErrForeign is matched by the error of a write to an object that stands under
// the wanted name but is not the owner's. It is never taken over or deleted.
// The error also has a method Terminal() bool: trying again cannot cure it.
var ErrForeign = errors.New("the object belongs to someone else")

// ErrContended is matched by the error of a write that met a conflict on every
// attempt. Trying again later is right.
var ErrContended = errors.New("others kept changing the object")

// staleError says which object and tokens an [ErrStale] is about.
type staleError struct {
	ref         Ref
	live, token int64
}

func (e *staleError) Error() string {
	return fmt.Sprintf("%s: lock lost: token %d is on it, ours is %d", e.ref, e.live, e.token)
}
func (e *staleError) Is(target error) bool { return target == ErrStale }

// LockLost tells callers that the claim has ended.
func (e *staleError) LockLost() bool { return true }

// foreignError says whose an object is that is not ours.
type foreignError struct {
	ref   Ref
	whose string
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s exists but %s: it is left as it is; rename or remove it by hand", e.ref, e.whose)
}
func (e *foreignError) Is(target error) bool { return target == ErrForeign }

// Terminal tells callers that trying again cannot cure it.
func (e *foreignError) Terminal() bool { return true }

// refusedError wraps an answer of the API server that will stay the same
// however often it is asked: the object is invalid.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// Terminal tells callers that trying again cannot cure it.
func (e *refusedError) Terminal() bool { return true }

// failed wraps the error of a call with what was being done to which object.
func failed(doing string, ref Ref, err error) error {
	err = fmt.Errorf("%s %s: %w", doing, ref, err)
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return &refusedError{err}
	}
	return err
}

// absent reports whether err says that the object itself is not there. A 404
// for any other reason is not absence: an unknown path (a CRD that is missing
// or not served yet) and a proxy's 404 come without the API server's typed
// status, and a missing namespace is reported under the namespace's name.
func absent(err error, ref Ref) bool {
	if !apierrors.IsNotFound(err) || apierrors.IsUnexpectedServerError(err) {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	details := status.Status().Details
	return details.Name == ref.Name && details.Group == ref.Type.Group &&
		(details.Kind == ref.Type.Resource || details.Kind == ref.Type.Kind)
}
