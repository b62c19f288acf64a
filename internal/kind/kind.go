// Package kind holds what the kinds share. Each kind has a package of its own
// below, whose lifecycle.go is its state diagram as data and whose steps.go is
// what the steps do; the systems they drive stand behind small interfaces
// declared there.
package kind

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Owner is the document that the step with this context works on, as drivers
// know it: with the fencing token of the claim, and the means to verify it.
func Owner(ctx context.Context, k resource.Kind, gatewayID string) resource.Owner {
	claim := engine.ClaimOf(ctx)
	return resource.Owner{
		Kind: k, ID: claim.Ref.ID, GatewayID: gatewayID,
		Token: claim.Ref.Token, Verify: claim.Verify,
	}
}

// Observed turns a driver's answer into a step's. A driver says what it waits
// for, and nothing once the thing has been observed.
func Observed(waiting string, err error) (engine.Outcome, error) {
	switch {
	case err != nil:
		return engine.Outcome{}, Error(err)
	case waiting != "":
		return engine.Wait("%s", waiting), nil
	}
	return engine.Done(), nil
}

// Error tells the engine what a driver's error means: that a newer claim of
// the same document owns the object, or that trying again cannot cure it.
func Error(err error) error {
	var lost interface{ LockLost() bool }
	if errors.As(err, &lost) && lost.LockLost() {
		return fmt.Errorf("%w: %w", engine.ErrLockLost, err)
	}
	var terminal interface{ Terminal() bool }
	if errors.As(err, &terminal) && terminal.Terminal() {
		return engine.Terminal(err)
	}
	return err
}

// Each runs f for each item, up to the first that is not done.
func Each[T any](items []T, f func(item T) (waiting string, err error)) (engine.Outcome, error) {
	for _, item := range items {
		if waiting, err := f(item); err != nil || waiting != "" {
			return Observed(waiting, err)
		}
	}
	return engine.Done(), nil
}

// Documents is what kinds need of other documents.
type Documents interface {
	// Ask sets the state of all a gateway's documents of a kind, where it is
	// another.
	Ask(ctx context.Context, k resource.Kind, gatewayID string, state engine.State) error
	// Left returns a gateway's documents of a kind.
	Left(ctx context.Context, k resource.Kind, gatewayID string) ([]*resource.Header, error)
}

// Drain asks for the deletion of all a gateway's documents of a kind, and
// waits until none is left. How they are dismantled is theirs to know.
func Drain(ctx context.Context, docs Documents, k resource.Kind, gatewayID string) (engine.Outcome, error) {
	if err := docs.Ask(ctx, k, gatewayID, resource.Deleted); err != nil {
		return engine.Outcome{}, err
	}
	left, err := docs.Left(ctx, k, gatewayID)
	if err != nil || len(left) == 0 {
		return engine.Done(), err
	}
	return engine.Wait("%s left: %s", plural(len(left), k), describe(left[0])), nil
}

// Turn asks all a gateway's documents of a kind to be in a state, and waits
// until each has reached the phase that fulfils it.
func Turn(ctx context.Context, docs Documents, k resource.Kind, gatewayID string, state engine.State) (engine.Outcome, error) {
	if err := docs.Ask(ctx, k, gatewayID, state); err != nil {
		return engine.Outcome{}, err
	}
	left, err := docs.Left(ctx, k, gatewayID)
	if err != nil {
		return engine.Outcome{}, err
	}
	want := resource.PhaseCreated
	if state == resource.Inactive {
		want = resource.PhaseDeleted
	}
	for _, doc := range left {
		if doc.State == state && doc.Phase != want {
			return engine.Wait("%s to be %s: %s", k, want, describe(doc)), nil
		}
	}
	return engine.Done(), nil
}

// Stand is Turn to Active for children that every gateway has. One that is
// being deleted is none that stands, and its name is taken as long as it is
// there: that it is gone is waited for first.
func Stand(ctx context.Context, docs Documents, k resource.Kind, gatewayID string) (engine.Outcome, error) {
	left, err := docs.Left(ctx, k, gatewayID)
	if err != nil {
		return engine.Outcome{}, err
	}
	for _, doc := range left {
		if doc.State == resource.Deleted {
			return engine.Wait("%s to be gone, and made again: %s", k, describe(doc)), nil
		}
	}
	return Turn(ctx, docs, k, gatewayID, resource.Active)
}

func plural(n int, k resource.Kind) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", k)
	}
	return fmt.Sprintf("%d %ss", n, k)
}

// describe says where a document stands: "vn8ofl is Deleting (2 routes left)".
func describe(doc *resource.Header) string {
	s := fmt.Sprintf("%s is %s", doc.ID, doc.Phase)
	switch {
	case doc.LastError != nil:
		s += fmt.Sprintf(" (%s)", doc.LastError.Message)
	case doc.WaitingFor != "":
		s += fmt.Sprintf(" (%s)", doc.WaitingFor)
	}
	return s
}
