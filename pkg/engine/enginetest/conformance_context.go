package enginetest

import (
	"context"
	"errors"
	"testing"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// contextTests check that a store returns the errors of a context as they are,
// so that a shutdown is not taken for a failure of the database.
func contextTests(t *testing.T, open func(*testing.T) Harness) {
	test(t, open, "Canceled", func(b *bench) {
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		ended(ctx, b, context.Canceled)
	})
	test(t, open, "DeadlineExceeded", func(b *bench) {
		ctx, cancel := context.WithTimeout(b.ctx, -1)
		defer cancel()
		ended(ctx, b, context.DeadlineExceeded)
	})
}

// ended tries every operation under a context that has ended.
func ended(ctx context.Context, b *bench, want error) {
	free := b.widget("free")
	b.insert(free)
	held := b.held("held")
	ref := engine.RefOf(held)
	for name, do := range map[string]func() error{
		"due":    func() error { _, err := b.store.Due(ctx, b.rules, 10); return err },
		"claim":  func() error { _, err := b.store.Claim(ctx, b.request(bob, "free")); return err },
		"apply":  func() error { _, err := b.store.Apply(ctx, change(engine.Move), []engine.Ref{ref}); return err },
		"update": func() error { return b.store.Update(ctx, ref, map[string]any{"spec.size": 99}) },
		"verify": func() error { return b.store.Verify(ctx, ref) },
	} {
		err := do()
		if !errors.Is(err, want) || errors.Is(err, engine.ErrLockLost) {
			b.Errorf("%s: error %v, want %v", name, err, want)
		}
	}
	b.same(free, b.get("free"))
	b.same(held, b.get("held"))
}
