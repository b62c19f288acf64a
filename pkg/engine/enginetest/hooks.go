package enginetest

import (
	"context"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Op is one operation on a store, as [Hooks] see it.
type Op struct {
	// Name is "due", "claim", "apply", "update" or "verify".
	Name string
	// IDs are the documents asked for; none for "due".
	IDs []string
	// Change is the kind of change that an "apply" makes.
	Change engine.ChangeKind
}

// Hooks run before and after the operations of a store, on the goroutine that
// makes them and under no lock: they may block, count, or fail. Either may be
// nil.
type Hooks struct {
	// Before runs first. Its error is returned and nothing is done: the store
	// could not be reached.
	Before func(ctx context.Context, op Op) error
	// After runs once the operation has been made without an error. Its error
	// is returned in place of the answer: what was done is done, and the
	// caller does not learn of it.
	After func(ctx context.Context, op Op) error
}

// WithHooks returns a store that runs hooks around the operations of another.
// Replicas that share one store may each have hooks of their own: one that is
// cut off, one that is slow.
func WithHooks[D engine.Document](store engine.Store[D], hooks Hooks) engine.Store[D] {
	return &hooked[D]{store: store, hooks: hooks}
}

type hooked[D engine.Document] struct {
	store engine.Store[D]
	hooks Hooks
}

func (h *hooked[D]) Due(ctx context.Context, rules engine.Rules, limit int) (ids []string, err error) {
	return around(ctx, h.hooks, Op{Name: "due"}, func() ([]string, error) {
		return h.store.Due(ctx, rules, limit)
	})
}

func (h *hooked[D]) Claim(ctx context.Context, req engine.ClaimRequest) ([]D, error) {
	return around(ctx, h.hooks, Op{Name: "claim", IDs: req.IDs}, func() ([]D, error) {
		return h.store.Claim(ctx, req)
	})
}

func (h *hooked[D]) Apply(ctx context.Context, change engine.Change, claims []engine.Ref) ([]string, error) {
	ids := make([]string, len(claims))
	for i, ref := range claims {
		ids[i] = ref.ID
	}
	return around(ctx, h.hooks, Op{Name: "apply", IDs: ids, Change: change.Kind}, func() ([]string, error) {
		return h.store.Apply(ctx, change, claims)
	})
}

func (h *hooked[D]) Update(ctx context.Context, claim engine.Ref, fields map[string]any) error {
	_, err := around(ctx, h.hooks, Op{Name: "update", IDs: []string{claim.ID}}, func() (struct{}, error) {
		return struct{}{}, h.store.Update(ctx, claim, fields)
	})
	return err
}

func (h *hooked[D]) Verify(ctx context.Context, claim engine.Ref) error {
	_, err := around(ctx, h.hooks, Op{Name: "verify", IDs: []string{claim.ID}}, func() (struct{}, error) {
		return struct{}{}, h.store.Verify(ctx, claim)
	})
	return err
}

// around makes one operation between the hooks. A failed operation has no
// After: the error there is goes back as it is.
func around[T any](ctx context.Context, hooks Hooks, op Op, do func() (T, error)) (answer T, err error) {
	var none T
	if hooks.Before != nil {
		if err := hooks.Before(ctx, op); err != nil {
			return none, err
		}
	}
	answer, err = do()
	if err != nil || hooks.After == nil {
		return answer, err
	}
	if err := hooks.After(ctx, op); err != nil {
		return none, err
	}
	return answer, nil
}
