package enginetest

import (
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// moveTests check the change Move.
func moveTests(t *testing.T, open func(*testing.T) Harness) {
	test(t, open, "Effects", func(b *bench) {
		moved(b, b.held("w", b.burdened), 0)
	})
	test(t, open, "Resync", func(b *bench) {
		moved(b, b.held("w", b.burdened), time.Hour)
	})
	test(t, open, "From", moveFrom)
	test(t, open, "GoesOn", moveGoesOn)
}

// moved moves a document from Pending to Ready and compares every field.
func moved(b *bench, doc *Widget, resync time.Duration) {
	c := change(engine.Move)
	c.Resync = resync
	b.applied(doc, c, func(w *Widget, now time.Time) {
		w.Phase, w.PhaseAt = Ready, now
		w.History = append(w.History, engine.HistoryEntry{
			From: Pending, To: Ready, By: alice, At: now, Took: now.Sub(doc.PhaseAt).Milliseconds(),
		})
		rested(w, now, resync)
	})
}

// rested is what a document is like when nothing is being done to it.
func rested(w *Widget, now time.Time, resync time.Duration) {
	w.Step, w.StepAt = "", time.Time{}
	w.WaitingFor, w.WaitingSince = "", time.Time{}
	w.Attempts, w.LastError = 0, nil
	w.LockedAt = engine.Epoch
	w.ResyncAt = time.Time{}
	if resync > 0 {
		w.ResyncAt = now.Add(resync)
	}
}

// Hole: no write moves a phase that is not the one it means, whoever has
// changed it.
func moveFrom(b *bench) {
	doc := b.held("w")
	b.set("w", "phase", Leaving)
	want := b.get("w")
	b.ids("lost", b.apply(change(engine.Move), doc), "w")
	b.same(want, b.get("w"))

	// The claim itself has not ended: from the present phase it moves.
	c := change(engine.Move)
	c.From = Leaving
	b.ids("lost", b.apply(c, doc))
}

// Hole: progress unlocks, so that the next transition can begin at once, under
// a new token.
func moveGoesOn(b *bench) {
	doc := b.held("w", func(w *Widget) { pair(w, Deleted, Pending) })
	c := change(engine.Move)
	c.To = Leaving
	b.ids("lost", b.apply(c, doc))
	b.ids("due", dueOf(b, []string{"w"}), "w")
	if next := b.claim(bob, "w")[0]; next.LockToken != doc.LockToken+1 {
		b.Errorf("the next token after %d is %d", doc.LockToken, next.LockToken)
	}
}

// oneShotTests check the one write of state that the engine makes.
func oneShotTests(t *testing.T, open func(*testing.T) Harness) {
	used := engine.OneShot{From: Restarting, To: Running}
	for _, c := range []struct {
		name    string
		oneShot engine.OneShot
		// field and value are what the user sets while the document is held.
		field string
		value any
		want  engine.State
	}{
		{"Applied", used, "", nil, Running},
		// The user asked for another restart, or for something else.
		{"GenerationChanged", used, "generation", int64(4), Restarting},
		{"StateChanged", used, "state", Stopped, Stopped},
		// Other fields are not the intent.
		{"LabelChanged", used, "labels.team", "red", Running},
		{"OtherState", engine.OneShot{From: Stopped, To: Running}, "", nil, Restarting},
		{"None", engine.OneShot{}, "", nil, Restarting},
	} {
		test(t, open, c.name, func(b *bench) {
			doc := b.held("w", func(w *Widget) { pair(w, Restarting, Pending) })
			if c.field != "" {
				b.set("w", c.field, c.value)
			}
			completed(b, doc, c.oneShot, c.want)
		})
	}
	test(t, open, "ChangedAndBack", oneShotChangedAndBack)
}

// completed moves a document that somebody may have written to since it was
// claimed, and checks its intent.
func completed(b *bench, doc *Widget, oneShot engine.OneShot, state engine.State) {
	before := b.get("w")
	c := change(engine.Move)
	c.OneShot = oneShot
	b.ids("lost", b.apply(c, doc))
	got := b.get("w")
	if got.Phase != Ready || got.State != state || got.Generation != before.Generation {
		b.Errorf("(%s, %s), generation %d; want (%s, %s), generation %d",
			got.State, got.Phase, got.Generation, state, Ready, before.Generation)
	}
	if applied := state == oneShot.To; applied && got.IntentChanged() {
		b.Errorf("the intent is said to have changed: observed %s", got.ObservedState)
	}
	if changed := before.IntentChanged(); changed && !got.IntentChanged() {
		b.Error("what the user has changed since the claim counts as observed")
	}
}

// An intent that was changed and set back is another one, if its generation
// says so.
func oneShotChangedAndBack(b *bench) {
	doc := b.held("w", func(w *Widget) { pair(w, Restarting, Pending) })
	b.check(b.users.SetFields(b.ctx, "w", map[string]any{"state": Restarting, "generation": int64(5)}))
	completed(b, doc, engine.OneShot{From: Restarting, To: Running}, Restarting)
}
