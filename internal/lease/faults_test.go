package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/lockstep-io/lockstep/internal/lease"
)

// settle waits until a frozen replica's keeper and watchdog wait for its clock.
func (r replica) settle(t *testing.T) {
	t.Helper()
	eventually(t, "keeper and watchdog wait", func() bool { return r.clock.Waiters() >= 2 })
}

func ended(t *testing.T, ctx context.Context, why error) {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(patience):
		t.Fatal("the work was not cancelled")
	}
	if cause := context.Cause(ctx); !errors.Is(cause, why) {
		t.Errorf("cause = %v, want %v", cause, why)
	}
}

// Guards the holder's half of the bargain: cut from the store, it stops by
// itself when its deadline is over, on its own clock, and not before.
func stopsWhenItCannotRenew(t *testing.T, h *harness) {
	r := h.clocked(t)
	c := r.run(t, leaseName(t))
	term := c.wait()
	r.settle(t)
	r.link.hold()
	r.clock.Step(9 * time.Second)
	eventually(t, "a renewal hangs", func() bool { return r.link.held.Load() == 1 })
	if err := lease.Check(term.ctx); err != nil {
		t.Errorf("before the deadline: %v", err)
	}
	r.clock.Step(2 * time.Second)
	ended(t, term.ctx, lease.ErrLost)
	if err := lease.Check(term.ctx); !errors.Is(err, lease.ErrLost) {
		t.Errorf("after the deadline: %v", err)
	}
}

// Guards against counting from the answer: a renewal whose answer took long is
// good for RenewDeadline from when it was sent, because others count from when
// it was written.
func trustCountsFromTheSending(t *testing.T, h *harness) {
	r := h.clocked(t)
	c := r.run(t, leaseName(t))
	term := c.wait() // trusted until 10 s
	r.settle(t)
	r.link.hold()
	r.clock.Step(4 * time.Second) // sent at 4 s
	eventually(t, "a renewal hangs", func() bool { return r.link.held.Load() == 1 })
	r.clock.Step(5 * time.Second) // answered at 9 s
	r.link.letGo()
	r.settle(t)
	r.link.hold()
	r.clock.Step(3 * time.Second) // 12 s: trusted until 14 s
	eventually(t, "the next hangs", func() bool { return r.link.held.Load() == 1 })
	if err := lease.Check(term.ctx); err != nil {
		t.Fatalf("the renewal did not count: %v", err)
	}
	r.clock.Step(3 * time.Second) // 15 s; from the answer it would be 19 s
	if err := lease.Check(term.ctx); !errors.Is(err, lease.ErrLost) {
		t.Errorf("trusted for longer than a deadline after the sending: %v", err)
	}
	ended(t, term.ctx, lease.ErrLost)
}

// Guards against two works of one replica: after a loss it waits for the old
// work to end before it tries again.
func waitsForItsWorkToEnd(t *testing.T, h *harness) {
	name, linger := leaseName(t), make(chan struct{})
	r := h.clocked(t)
	c := r.lingering(t, name, linger)
	term := c.wait()
	r.settle(t)
	r.clock.Step(lease.DefaultRenewDeadline)
	ended(t, term.ctx, lease.ErrLost)
	// Renewals go on, to keep others out.
	for range 3 {
		eventually(t, "it waits to renew", r.clock.HasWaiters)
		asked := r.link.asked.Load()
		r.clock.Step(lease.DefaultRetryPeriod)
		eventually(t, "it renews", func() bool { return r.link.asked.Load() > asked })
		c.none("while the old work goes on")
	}
	rival := h.eager(t)
	other := rival.run(t, name)
	eventually(t, "the rival asks", func() bool { return rival.link.asked.Load() > 5 })
	other.none("while the old work goes on")
	c.cancel()
	close(linger)
	other.wait()
}

// Guards against a holder that was stopped, overtaken, and goes on: it knows
// before its timers do, does not get its lease back, and takes nothing from
// its successor.
func pausedHolderDoesNoHarm(t *testing.T, h *harness) {
	name, paused, next := leaseName(t), h.frozen(t), h.eager(t)
	c := paused.run(t, name)
	term := c.wait()
	paused.settle(t)
	successor := next.run(t, name).wait()
	if successor.token <= term.token {
		t.Errorf("the successor's token is %d, the paused holder's %d", successor.token, term.token)
	}
	paused.link.hold()
	paused.clock.Step(time.Hour)
	if err := lease.Check(term.ctx); !errors.Is(err, lease.ErrLost) {
		t.Errorf("the paused holder trusts its lease: %v", err)
	}
	ended(t, term.ctx, lease.ErrLost)
	paused.link.letGo()

	// Its late renewal and release go out, and it asks again and again. (Its
	// clock is stepped only as it asks: a clock that runs faster than the
	// others' is the one thing that leases on Kubernetes do not bear.)
	for range 5 {
		asked, renewed := paused.link.asked.Load(), next.link.asked.Load()
		eventually(t, "it pauses", paused.clock.HasWaiters)
		paused.clock.Step(120 * time.Millisecond)
		eventually(t, "both ask", func() bool {
			return paused.link.asked.Load() > asked && next.link.asked.Load() > renewed
		})
	}
	c.none("under its successor")
	if err := lease.Check(successor.ctx); err != nil {
		t.Errorf("the successor lost its lease: %v", err)
	}
}

// Guards against trusting the deadline alone: a holder that hears from the
// store that it was overtaken stops at once.
func lossIsNoticedByRenewing(t *testing.T, h *harness) {
	name, paused := leaseName(t), h.frozen(t)
	term := paused.run(t, name).wait()
	paused.settle(t)
	h.eager(t).run(t, name).wait()
	// Much less than the deadline, but a renewal.
	paused.clock.Step(200 * time.Millisecond)
	ended(t, term.ctx, lease.ErrLost)
}

// Guards the successor against a release that was long under way.
func lateReleaseFreesNothing(t *testing.T, h *harness) {
	name := leaseName(t)
	late := h.lock(t, name, "late", time.Second)
	acquire(t, late)
	rival := h.lock(t, name, "rival", time.Minute)
	eventually(t, "it expires", func() bool { _, held, _ := rival.Acquire(t.Context()); return held })
	if err := late.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, held, err := h.lock(t, name, "third", time.Minute).Acquire(t.Context()); held || err != nil {
		t.Errorf("the successor's lease was given away: held %v, %v", held, err)
	}
	if err := rival.Renew(t.Context()); err != nil {
		t.Errorf("the successor: %v", err)
	}
}

// Guards the successor, and those after a release, against a renewal that was
// long under way.
func lateRenewalExtendsNothing(t *testing.T, h *harness) {
	name := leaseName(t)
	late := h.lock(t, name, "late", time.Minute)
	acquire(t, late)
	if err := late.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := late.Renew(t.Context()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("renewing a released lease: %v", err)
	}
	rival := h.lock(t, name, "rival", time.Minute)
	acquire(t, rival)
	if err := late.Renew(t.Context()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("renewing another's lease: %v", err)
	}
	if err := rival.Renew(t.Context()); err != nil {
		t.Errorf("the successor: %v", err)
	}
}

// Guards against waiting out a lease of one's own: whoever won it without being
// told finds out by asking again.
func lostAnswerIsNoLostLease(t *testing.T, h *harness) {
	name := leaseName(t)
	store, l := h.connect(t)
	mine := store.Lock(name, lease.Campaign{Identity: "me", Duration: time.Minute, Clock: clock.RealClock{}})
	first := acquire(t, mine)
	if err := mine.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.lose.Store(true)
	if _, held, err := mine.Acquire(t.Context()); held || err == nil {
		t.Fatalf("held %v, %v, want a lost answer", held, err)
	}
	var token int64
	eventually(t, "the store answers again", func() bool {
		got, held, err := mine.Acquire(t.Context())
		token = got
		return err == nil && held
	})
	if token <= first {
		t.Errorf("token %d after %d", token, first)
	}

	// The same of a renewal: it is no loss.
	l.lose.Store(true)
	if err := mine.Renew(t.Context()); err == nil || errors.Is(err, lease.ErrLost) {
		t.Errorf("renewal with a lost answer: %v", err)
	}
	eventually(t, "it renews", func() bool {
		err := mine.Renew(t.Context())
		if errors.Is(err, lease.ErrLost) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// Guards the shutdown of a replica that is just winning: a lease that nobody
// knows to be won is released.
func brokenOffAttemptIsReleased(t *testing.T, h *harness) {
	name, r := leaseName(t), h.eager(t)
	// What is asked after the lost answer hangs, so that it stays unknown.
	r.link.afterLoss = r.link.hold
	r.link.lose.Store(true)
	c := r.run(t, name)
	eventually(t, "it asks again", func() bool { return r.link.held.Load() > 0 })
	c.cancel()
	r.link.letGo()
	c.stop()
	next := h.eager(t)
	began := time.Now()
	next.run(t, name).wait()
	if took := time.Since(began); took > lease.DefaultLeaseDuration/2 {
		t.Errorf("the next began after %s: that is expiry, not release", took)
	}
}

// Guards replicas that were given one name by mistake, and one that starts
// again under its name: they are rivals.
func sameNameIsNotTheSameHolder(t *testing.T, h *harness) {
	name := leaseName(t)
	h.eager(t).run(t, name).wait()
	twin := h.eager(t)
	c := twin.run(t, name)
	eventually(t, "the twin asks", func() bool { return twin.link.asked.Load() > 5 })
	c.none("under its twin's lease")
}

// Guards against working on without a lease: that it was removed by hand is
// noticed with the next renewal.
func removedByHandEndsTheTerm(t *testing.T, h *harness) {
	name, r := leaseName(t), h.eager(t)
	c := r.run(t, name)
	term := c.wait()
	h.remove(t, name)
	ended(t, term.ctx, lease.ErrLost)
	c.wait()
}

// Guards against taking silence for a free lease.
func unreachableStoreStartsNobody(t *testing.T, h *harness) {
	name, r := leaseName(t), h.eager(t)
	r.link.hold()
	c := r.run(t, name)
	eventually(t, "it asks", func() bool { return r.link.held.Load() > 0 })
	c.none("without an answer")
	r.link.letGo()
	c.wait()
}
