package enginetest

import (
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// relockTests check the change Relock: a wait is looked at again after a delay
// that grows with it.
func relockTests(t *testing.T, open func(*testing.T) Harness) {
	test(t, open, "SameStep", relockSameStep)
	test(t, open, "OtherStep", relockOtherStep)
	test(t, open, "FirstStep", relockFirstStep)
	test(t, open, "AfterCheckpoint", relockAfterCheckpoint)
	test(t, open, "AfterFail", relockAfterFail)
	test(t, open, "AfterChangedIntent", relockAfterChangedIntent)
	test(t, open, "Delays", relockDelays)
	test(t, open, "LockTimeout", relockLockTimeout)
	test(t, open, "NotDue", relockNotDue)
}

// relocked relocks a document at step "brew" and compares every field. Since
// is when the wait began, at when the step was reached; zero is now.
func relocked(b *bench, doc *Widget, since, at time.Time) *Widget {
	b.Helper()
	c := change(engine.Relock)
	return b.applied(doc, c, func(w *Widget, now time.Time) {
		w.Step, w.StepAt = "brew", at
		w.WaitingFor, w.WaitingSince = c.Reason, since
		if at.IsZero() {
			w.StepAt = now
		}
		if since.IsZero() {
			w.WaitingSince = now
		}
		w.Attempts, w.LastError = 0, nil
		w.LockedAt = now.Add(-c.LockTimeout).Add(engine.RelockDelay(now.Sub(w.WaitingSince), c.LockTimeout))
	})
}

// A wait goes on while the step is the same, whatever its words.
func relockSameStep(b *bench) {
	doc := b.held("w", b.burdened)
	relocked(b, doc, doc.WaitingSince, doc.StepAt)
}

// Another step is another wait.
func relockOtherStep(b *bench) {
	doc := b.held("w", b.burdened, func(w *Widget) { w.Step = "grind" })
	relocked(b, doc, time.Time{}, time.Time{})
}

func relockFirstStep(b *bench) {
	relocked(b, b.held("w"), time.Time{}, time.Time{})
}

// The checkpoint before has reached the step; the wait at it begins now.
func relockAfterCheckpoint(b *bench) {
	doc := b.held("w", b.burdened, func(w *Widget) { w.Step = "grind" })
	c := change(engine.Checkpoint)
	c.Step, c.Next = "grind", "brew"
	b.ids("lost", b.apply(c, doc))
	doc = b.get("w")
	relocked(b, doc, time.Time{}, doc.StepAt)
}

// An error ends a wait; the one after it is new.
func relockAfterFail(b *bench) {
	doc := b.held("w", b.burdened)
	b.ids("lost", b.apply(change(engine.Fail), doc))
	b.expire("w")
	relocked(b, b.claim(alice, "w")[0], time.Time{}, doc.StepAt)
}

// A wait belongs to its intent.
func relockAfterChangedIntent(b *bench) {
	doc := b.held("w", b.burdened, func(w *Widget) { w.Generation++ })
	relocked(b, doc, time.Time{}, doc.StepAt)
}

// Hole: waiting always relocks. This is the table of the specification. While
// the test runs the wait grows, and with it the delay, by a tenth of the time
// that passes; the last moment of the progressive part therefore cannot be met
// from outside, and two minutes are tried from a little below.
func relockDelays(b *bench) {
	const tolerance = 200 * time.Millisecond // two seconds more of waiting
	for _, row := range []struct{ waited, delay time.Duration }{
		{0, 0},
		{time.Second, 100 * time.Millisecond},
		{10 * time.Second, time.Second},
		{30 * time.Second, 3 * time.Second},
		{time.Minute, 6 * time.Second},
		{2*time.Minute - 2*time.Second, 11800 * time.Millisecond},
		{2*time.Minute + time.Millisecond, 30 * time.Second},
		{3 * time.Minute, 30 * time.Second},
		{24 * time.Hour, 30 * time.Second},
		// The clock of a new primary may lie behind that of the one before.
		{-time.Minute, 0},
	} {
		id := row.waited.String()
		began := b.now().Add(-row.waited)
		doc := b.held(id, func(w *Widget) {
			w.Step, w.StepAt = "brew", b.ago(time.Hour)
			w.WaitingFor, w.WaitingSince = "water", began
		})
		got := relocked(b, doc, began, doc.StepAt)
		delay := got.LockedAt.Add(engine.DefaultLockTimeout).Sub(got.UpdatedAt)
		if delay < row.delay || delay > row.delay+tolerance {
			b.Errorf("waited %v: looked at again after %v, want %v", row.waited, delay, row.delay)
		}
	}
}

// The lock timeout is that of the change.
func relockLockTimeout(b *bench) {
	doc := b.held("w", b.burdened)
	c := change(engine.Relock)
	c.LockTimeout = 7 * time.Minute
	b.ids("lost", b.apply(c, doc))
	got := b.get("w")
	if !got.LockedAt.Equal(got.UpdatedAt) {
		b.Errorf("a wait of 3 minutes: lockedAt %v, want now - 7 min + 7 min, which is %v", got.LockedAt, got.UpdatedAt)
	}
}

// Hole: a document that waits is not claimed again in the sweep that relocked
// it, once it has waited at all; others come first.
func relockNotDue(b *bench) {
	doc := b.held("w", b.burdened)
	b.insert(b.widget("other"))
	b.ids("lost", b.apply(change(engine.Relock), doc))
	b.ids("due", dueOf(b, make([]string, 2)), "other")
	b.ids("claimed", idsOf(b.tryClaim(bob, "w")))
}
