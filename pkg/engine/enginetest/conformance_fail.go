package enginetest

import (
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// failTests check the change Fail. Hole: an error is seen, and backs off.
func failTests(t *testing.T, open func(*testing.T) Harness) {
	retry := change(engine.Fail)
	test(t, open, "SameStep", func(b *bench) {
		doc := b.held("w", b.burdened)
		failed(b, doc, retry, doc.StepAt)
	})
	test(t, open, "OtherStep", func(b *bench) {
		doc := b.held("w", b.burdened, func(w *Widget) { w.Step = "grind" })
		failed(b, doc, retry, time.Time{})
	})
	test(t, open, "FirstStep", func(b *bench) {
		failed(b, b.held("w"), retry, time.Time{})
	})
	test(t, open, "LongDelay", func(b *bench) {
		long := retry
		long.Delay = 5 * time.Minute
		failed(b, b.held("w"), long, time.Time{})
		b.ids("due", dueOf(b, []string{"w"}))
	})
	test(t, open, "NoDelay", func(b *bench) {
		none := retry
		none.Delay = 0
		failed(b, b.held("w"), none, time.Time{})
	})
	test(t, open, "Terminal", func(b *bench) {
		terminal := retry
		terminal.Terminal = true
		failed(b, b.held("w"), terminal, time.Time{})
		b.ids("due", dueOf(b, []string{"w"}))
	})
	test(t, open, "Attempts", failCounts)
	test(t, open, "ChangedIntent", failChangedIntent)
}

// failed fails a document at step "brew" and compares every field. At is when
// the step was reached; zero is now.
func failed(b *bench, doc *Widget, c engine.Change, at time.Time) {
	b.Helper()
	b.applied(doc, c, func(w *Widget, now time.Time) {
		w.Step, w.StepAt = "brew", at
		if at.IsZero() {
			w.StepAt = now
		}
		w.WaitingFor, w.WaitingSince = "", time.Time{}
		w.Attempts++
		w.LastError = &engine.LastError{Step: "brew", Message: c.Message, At: now, Terminal: c.Terminal}
		w.LockedAt = now.Add(c.Delay - c.LockTimeout)
		if c.Terminal {
			w.LockedAt = engine.Never
		}
	})
}

// Errors in a row are counted; a wait or a move ends the row.
func failCounts(b *bench) {
	b.insert(b.widget("w"))
	for i, step := range []struct {
		kind engine.ChangeKind
		want int
	}{
		{engine.Fail, 1}, {engine.Fail, 2}, {engine.Release, 2}, {engine.Fail, 3},
		{engine.Relock, 0}, {engine.Fail, 1}, {engine.Move, 0},
	} {
		b.ids("lost", b.apply(change(step.kind), b.claim(alice, "w")[0]))
		got := b.get("w")
		if got.Attempts != step.want || (got.LastError != nil) != (step.want > 0) {
			b.Errorf("%d. %s: %d attempts, error %v; want %d", i+1, step.kind, got.Attempts, got.LastError, step.want)
		}
		b.set("w", "lockedAt", engine.Epoch)
	}
}

// What the user has changed while the document was held ends even a terminal
// error, and begins to count anew.
func failChangedIntent(b *bench) {
	doc := b.held("w")
	b.set("w", "generation", int64(4))
	c := change(engine.Fail)
	c.Terminal = true
	b.ids("lost", b.apply(c, doc))
	b.ids("due", dueOf(b, []string{"w"}), "w")
	if got := b.claim(bob, "w")[0]; got.Attempts != 0 || got.LastError != nil {
		b.Errorf("%d attempts, error %v of the intent before", got.Attempts, got.LastError)
	}
}
