package enginetest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

var errDown = errors.New("the store is down")

func failing(name string) func(context.Context, enginetest.Op) error {
	return func(_ context.Context, op enginetest.Op) error {
		if op.Name == name {
			return errDown
		}
		return nil
	}
}

// Where Before fails, nothing is done; where After fails, it is done and the
// caller does not learn of it.
func TestHooksFail(t *testing.T) {
	mem := newStore(newWidget("w"))
	req := engine.ClaimRequest{Rules: enginetest.WidgetRules(), IDs: []string{"w"}, Holder: "holder", Batch: "1"}

	unreachable := enginetest.WithHooks(mem, enginetest.Hooks{Before: failing("claim")})
	if docs, err := unreachable.Claim(t.Context(), req); !errors.Is(err, errDown) || docs != nil {
		t.Errorf("claimed %v, %v", docs, err)
	}
	if token := get(t, mem, "w").LockToken; token != 0 {
		t.Errorf("token %d after a request that did not arrive", token)
	}

	mute := enginetest.WithHooks(mem, enginetest.Hooks{After: failing("claim")})
	if docs, err := mute.Claim(t.Context(), req); !errors.Is(err, errDown) || docs != nil {
		t.Errorf("claimed %v, %v", docs, err)
	}
	if token := get(t, mem, "w").LockToken; token != 1 {
		t.Errorf("token %d after an answer that was lost", token)
	}
}

// Hooks see every operation, and what it is for.
func TestHooksSee(t *testing.T) {
	var seen []enginetest.Op
	see := func(_ context.Context, op enginetest.Op) error {
		seen = append(seen, op)
		return nil
	}
	mem := newStore(newWidget("w"))
	store := enginetest.WithHooks(mem, enginetest.Hooks{Before: see, After: see})

	if _, err := store.Due(t.Context(), enginetest.WidgetRules(), 1); err != nil {
		t.Error(err)
	}
	refs := claim(t, store, "1", "w")
	if err := store.Update(t.Context(), refs[0], map[string]any{"spec.size": 1}); err != nil {
		t.Error(err)
	}
	if err := store.Verify(t.Context(), refs[0]); err != nil {
		t.Error(err)
	}
	if _, err := store.Apply(t.Context(), engine.Change{Kind: engine.Release}, refs); err != nil {
		t.Error(err)
	}
	if err := store.Verify(t.Context(), refs[0]); !errors.Is(err, engine.ErrLockLost) {
		t.Error(err)
	}

	ids := []string{"w"}
	want := []enginetest.Op{
		{Name: "due"}, {Name: "due"},
		{Name: "claim", IDs: ids}, {Name: "claim", IDs: ids},
		{Name: "update", IDs: ids}, {Name: "update", IDs: ids},
		{Name: "verify", IDs: ids}, {Name: "verify", IDs: ids},
		{Name: "apply", IDs: ids, Change: engine.Release}, {Name: "apply", IDs: ids, Change: engine.Release},
		{Name: "verify", IDs: ids}, // it failed: no After
	}
	if !slices.EqualFunc(seen, want, func(a, b enginetest.Op) bool {
		return a.Name == b.Name && a.Change == b.Change && slices.Equal(a.IDs, b.IDs)
	}) {
		t.Errorf("saw %+v, want %+v", seen, want)
	}
}

// Hooks run under no lock: while one replica's request is on its way, another
// may claim, and lose its lock.
func TestHooksMayBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newStore(newWidget("w"))
		var fast []engine.Ref
		slow := enginetest.WithHooks(mem, enginetest.Hooks{
			Before: func(context.Context, enginetest.Op) error {
				fast = claim(t, mem, "fast", "w")
				time.Sleep(time.Minute)
				return nil
			},
		})
		late := claim(t, slow, "slow", "w")
		if len(fast) != 1 || len(late) != 1 || late[0].Token != fast[0].Token+1 {
			t.Errorf("claims %v, then %v", fast, late)
		}
	})
}
