package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

// Crash at every step of a transition, before its effect, after it, and once
// the checkpoint is written: another replica goes on where the first left,
// within the lock timeout; each effect is made once, in order, and recorded
// once. Fails if the lock of the dead never expires, or if steps do not run
// from the first.
func TestCrashAtEveryStep(t *testing.T) {
	all := []string{"one", "two", "three", "four"}
	for crash := range all {
		for _, when := range []string{"before", "after"} {
			t.Run(when+" "+all[crash], func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.insert("a")
					var line cable
					var effects journal
					die := func(ctx context.Context) error {
						line.cut() // nothing of it reaches the store any more
						return rest(ctx, time.Hour)
					}
					steps := func(mortal bool) (steps []step) {
						for i, name := range all {
							steps = append(steps, does(name, func(ctx context.Context, _ *thing) (engine.Outcome, error) {
								if effects.count(name) > 0 {
									return engine.Done(), nil // it looked before it acted
								}
								if mortal && i == crash && when == "before" {
									return engine.Done(), die(ctx)
								}
								effects.note(name)
								if mortal && i == crash {
									return engine.Done(), die(ctx)
								}
								return engine.Done(), nil
							}))
						}
						return steps
					}
					w.runOn(line.to(w.store), "dead", things(steps(true)...))
					w.pass(2 * tick)
					w.run("heir", things(steps(false)...))
					w.pass(lockTimeout + tick)

					w.inPhase("a", up)
					var done, recorded []string
					for _, e := range effects.all() {
						done = append(done, e.what)
					}
					for _, h := range w.get("a").History {
						if h.Step != "" {
							recorded = append(recorded, h.Step)
						}
					}
					if !slices.Equal(done, all) || !slices.Equal(recorded, all[:len(all)-1]) {
						t.Errorf("effects %v, recorded %v", done, recorded)
					}
				})
			})
		}
	}
}

// The store fails at each operation in turn, before it is made and after it
// was: documents are late by a lock timeout at the most, and nothing is lost,
// repeated or out of order.
func TestStoreFailsAtEachOperation(t *testing.T) {
	type hole struct {
		after bool
		op    string
		kind  engine.ChangeKind
	}
	var holes []hole
	for _, after := range []bool{false, true} {
		for _, op := range []string{"due", "claim", "update", "verify"} {
			holes = append(holes, hole{after, op, ""})
		}
		for _, kind := range []engine.ChangeKind{
			engine.Move, engine.Relock, engine.Fail, engine.Checkpoint, engine.Renew, engine.Rest, engine.Purge,
		} {
			holes = append(holes, hole{after, "apply", kind})
		}
	}
	for _, h := range holes {
		for _, times := range []int64{1, 2, 5} {
			t.Run(fmt.Sprintf("%s %s after=%t times=%d", h.op, h.kind, h.after, times), func(t *testing.T) {
				inWorld(t, func(w *world) {
					var line cable
					var failures atomic.Int64
					fail := func(_ context.Context, op enginetest.Op) error {
						if op.Name == h.op && op.Change == h.kind && failures.Add(1) <= times {
							return errCut
						}
						return nil
					}
					if h.after {
						line.onAfter(fail)
					} else {
						line.onBefore(fail)
					}
					lifeUnder(w, line.to(w.store))
					if failures.Load() == 0 {
						t.Error("the operation was never made")
					}
				})
			})
		}
	}
}

// lifeUnder takes one thing through its whole life on a store that may fail.
func lifeUnder(w *world, store engine.Store[*thing]) {
	w.Helper()
	failed := map[string]bool{}
	once := func(what string) bool { defer func() { failed[what] = true }(); return !failed[what] }
	def := things(
		does("note", func(ctx context.Context, _ *thing) (engine.Outcome, error) {
			c := engine.ClaimOf(ctx)
			if err := c.Update(ctx, map[string]any{"note": "written"}); err != nil {
				return engine.Done(), err
			}
			return engine.Done(), c.Verify(ctx)
		}),
		does("wait", func(context.Context, *thing) (engine.Outcome, error) {
			if once("wait") {
				return engine.Wait("a second look"), nil
			}
			return engine.Done(), nil
		}),
		does("err", func(context.Context, *thing) (engine.Outcome, error) {
			if once("err") {
				return engine.Done(), errCut
			}
			return engine.Done(), nil
		}),
		does("long", func(ctx context.Context, _ *thing) (engine.Outcome, error) {
			if failed["long"] {
				return engine.Done(), nil
			}
			err := rest(ctx, 15*time.Second)
			failed["long"] = err == nil
			return engine.Done(), err
		}),
	)
	def.Settled[0].Resync = time.Minute
	w.insert("a")
	w.runOn(store, "r", def)

	reach := func(what string, by time.Duration, is func() bool) {
		w.Helper()
		for end := time.Now().Add(by); !is(); w.pass(tick) {
			if time.Now().After(end) {
				w.Fatalf("not %s in %s: %+v", what, by, w.get("a").Meta)
			}
		}
	}
	reach("up", 10*lockTimeout, func() bool { return w.get("a").Phase == up })
	var recorded []string
	for _, h := range w.get("a").History {
		recorded = append(recorded, h.Step)
	}
	if want := []string{"note", "wait", "err", ""}; !slices.Equal(recorded, want) || w.get("a").Note != "written" {
		w.Errorf("recorded %q, want %q", recorded, want)
	}
	at := w.get("a").UpdatedAt
	reach("resynced", time.Minute+8*lockTimeout, func() bool { return w.get("a").UpdatedAt.After(at) })
	w.wants("a", gone)
	reach("purged", 8*lockTimeout, func() bool { return !w.exists("a") })
}
