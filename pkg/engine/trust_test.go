package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

// untilCancelled is a step that works until its context ends, and tells when
// and why. It begins by doing what it is given.
func untilCancelled(begin func(), ended chan<- error) step {
	return within(time.Hour, does("work", func(ctx context.Context, _ *thing) (engine.Outcome, error) {
		begin()
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return engine.Done(), ctx.Err()
	}))
}

// Hole: the zombie calls Kubernetes. Protection: the trust window. A holder
// that cannot renew is cancelled a margin before anybody else can claim. Fails
// without the timer of the trust window, and without the margin.
func TestStepEndsBeforeItsLock(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var line cable
		var claimed time.Time
		ended := make(chan error, 1)
		w.runOn(line.to(w.store), "old", things(untilCancelled(func() {
			claimed = w.get("a").LockedAt
			line.cut()
		}, ended)))
		w.pass(tick)
		taken := make(chan time.Time, 1)
		w.run("new", things(does("work", func(context.Context, *thing) (engine.Outcome, error) {
			taken <- time.Now()
			return engine.Done(), nil
		})), func(o *engine.Options) { o.Interval = time.Millisecond })

		if err := <-ended; !errors.Is(err, engine.ErrLockLost) {
			t.Errorf("cancelled because %v, want ErrLockLost", err)
		}
		if lasted := time.Since(claimed); lasted.Truncate(time.Millisecond) > lockTimeout-margin {
			t.Errorf("the holder trusted its lock for %s of %s", lasted, lockTimeout)
		}
		over := time.Now()
		if at := <-taken; at.Sub(over) < margin || at.Sub(claimed) > lockTimeout+10*time.Millisecond {
			t.Errorf("claimed again after %s, %s after the holder was cancelled", at.Sub(claimed), at.Sub(over))
		}
	})
}

// The window counts from before the claim was sent: a slow answer takes from
// it. Fails if it counts from when the answer came.
func TestSlowClaimIsTrustedLess(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		const slow = 9 * time.Second
		var line cable
		line.onAfter(func(ctx context.Context, op enginetest.Op) error {
			if op.Name == "claim" {
				return rest(ctx, slow)
			}
			return nil
		})
		var claimed time.Time
		ended := make(chan error, 1)
		w.runOn(line.to(w.store), "r", things(untilCancelled(func() {
			claimed = w.get("a").LockedAt
			line.cut()
		}, ended)))
		<-ended
		if lasted := time.Since(claimed); lasted.Truncate(time.Millisecond) != window {
			t.Errorf("trusted for %s, of which %s had passed before the answer; want %s", lasted, slow, window)
		}
	})
}

// A renewal moves the window to when the renewal was sent. Fails if it counts
// from when the answer came.
func TestSlowRenewalIsTrustedLess(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		const slow = 9 * time.Second
		var line cable
		renewed := 0
		ended := make(chan error, 1)
		w.runOn(line.to(w.store), "r", things(untilCancelled(func() {
			line.onAfter(func(ctx context.Context, op enginetest.Op) error {
				if op.Change != engine.Renew {
					return nil
				}
				renewed++
				line.cut()
				return rest(ctx, slow)
			})
		}, ended)))
		<-ended
		if lasted := time.Since(w.get("a").LockedAt); lasted.Truncate(time.Millisecond) != window || renewed != 1 {
			t.Errorf("trusted for %s after %d renewals, want %s", lasted, renewed, window)
		}
	})
}

// Hole: work longer than the lock. Protection: renewal. Fails without it.
func TestWorkLongerThanTheLock(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		one := w.run("one", things(takes("work", 5*lockTimeout)))
		two := w.run("two", things(takes("work", 5*lockTimeout)))
		w.pass(5*lockTimeout + 3*tick)
		w.inPhase("a", up)
		if n := one.seen.count("claimed") + two.seen.count("claimed"); n != 1 {
			t.Errorf("%d claims, want 1", n)
		}
		if n := one.seen.count("renew") + two.seen.count("renew"); n < 5 || n > 15 {
			t.Errorf("%d renewals in %s", n, 5*lockTimeout)
		}
	})
}

// Many steps that each are short are work longer than the lock too, also where
// none of them is recorded: the lock must be renewed by the age of the claim,
// not of the step. Fails if each step begins to count anew.
func TestShortStepsLongerThanTheLock(t *testing.T) {
	var steps []step
	for _, name := range []string{"one", "two", "three", "four", "five", "six"} {
		steps = append(steps, takes(name, 8*time.Second))
	}
	t.Run("Resumed", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.insert("a")
			w.set("a", "step", "six") // the others look again, and are not recorded
			r := w.run("r", things(steps...))
			w.pass(50 * time.Second)
			w.inPhase("a", up)
			if n := r.seen.count("one done"); n != 1 {
				t.Errorf("the first step ran %d times", n)
			}
		})
	})
	t.Run("Resync", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.insert("a")
			def := things()
			def.Settled[0].Resync, def.Settled[0].Steps = time.Minute, steps
			r := w.run("r", def)
			w.pass(2 * time.Minute)
			if n := r.seen.count("rest"); n != 1 {
				t.Errorf("%d resyncs done, of one begun", n)
			}
		})
	})
}

// Hole: work longer than the lock. Protection: losing the renewal cancels the
// work. Fails if a refused renewal is ignored.
func TestRenewalLostCancels(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		ended := make(chan error, 1)
		r := w.run("r", things(untilCancelled(func() { w.set("a", "lockToken", int64(77)) }, ended)))
		w.pass(2 * tick)
		began := time.Now()
		if err := <-ended; !errors.Is(err, engine.ErrLockLost) {
			t.Errorf("cancelled because %v, want ErrLockLost", err)
		}
		if after := time.Since(began); after > lockTimeout/3 {
			t.Errorf("cancelled after %s, want at the first renewal", after)
		}
		w.pass(0)
		if r.seen.count("lost: renew") != 1 {
			t.Error("the lost renewal was not observed")
		}
	})
}

// A document that waited in the queue for too long is given back, not begun
// with little trust left. Fails without the check before the first step.
func TestQueuedTooLongIsNotBegun(t *testing.T) {
	inWorld(t, func(w *world) {
		work := 10 * time.Millisecond
		r := w.run("r", things(within(time.Hour, does("work", func(ctx context.Context, doc *thing) (engine.Outcome, error) {
			if age := time.Since(doc.LockedAt); age > window/2 {
				t.Errorf("begun %s after the claim", age)
			}
			return engine.Done(), rest(ctx, work)
		}))), func(o *engine.Options) { o.Workers = 1 })
		w.insert(names(200)...) // quick ones: batches grow
		w.pass(5 * tick)
		work = 20 * time.Second
		w.insert("x", "y", "z")
		w.pass(2 * time.Minute)
		for _, id := range []string{"x", "y", "z"} {
			w.inPhase(id, up)
		}
		if r.seen.count("release") == 0 {
			t.Error("no document was given back: they were not claimed together")
		}
	})
}
