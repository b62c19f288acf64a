package enginetest

import (
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// checkpointTests check the changes under which a claim goes on: Checkpoint
// and Renew.
func checkpointTests(t *testing.T, open func(*testing.T) Harness) {
	// Hole: each step is recorded, so that a crash repeats one and a person
	// sees where the document stands.
	test(t, open, "Effects", func(b *bench) {
		doc := b.held("w", b.burdened)
		checkpointed(b, doc, doc.StepAt)
	})
	test(t, open, "FirstStep", func(b *bench) {
		doc := b.held("w")
		checkpointed(b, doc, doc.PhaseAt)
	})
	// Hole: work longer than the lock is renewed by its holder.
	test(t, open, "Renew", func(b *bench) {
		doc := b.held("w", b.burdened)
		b.set("w", "lockedAt", b.ago(20*time.Second))
		b.applied(doc, change(engine.Renew), func(w *Widget, now time.Time) { w.LockedAt = now })
		b.ids("claimed by another", idsOf(b.tryClaim(bob, "w")))
	})
	test(t, open, "ManyUnderOneClaim", checkpointsUnderOneClaim)
}

// checkpointed finishes step "brew" and compares every field. Began is when
// the step is said to have begun.
func checkpointed(b *bench, doc *Widget, began time.Time) {
	b.Helper()
	b.set(doc.ID, "lockedAt", b.ago(20*time.Second))
	b.applied(doc, change(engine.Checkpoint), func(w *Widget, now time.Time) {
		w.Step, w.StepAt = "pour", now
		w.WaitingFor, w.WaitingSince = "", time.Time{}
		w.LockedAt = now
		w.History = append(w.History, engine.HistoryEntry{
			From: Pending, To: Pending, Step: "brew", By: alice, At: now, Took: now.Sub(began).Milliseconds(),
		})
	})
}

// A claim goes on through any number of checkpoints and renewals, under one
// token, until a change ends it.
func checkpointsUnderOneClaim(b *bench) {
	doc := b.held("w")
	kinds := []engine.ChangeKind{engine.Renew, engine.Checkpoint, engine.Renew, engine.Checkpoint, engine.Move}
	for _, kind := range kinds {
		b.check(b.store.Verify(b.ctx, engine.RefOf(doc)))
		b.ids(string(kind)+" lost", b.apply(change(kind), doc))
	}
	got := b.get("w")
	if got.LockToken != doc.LockToken || len(got.History) != len(doc.History)+3 {
		b.Errorf("token %d and %d entries of history; want token %d and 3 more than %d",
			got.LockToken, len(got.History), doc.LockToken, len(doc.History))
	}
}

// historyTests check that the history keeps the latest entries, oldest first.
func historyTests(t *testing.T, open func(*testing.T) Harness) {
	for _, c := range []struct {
		name string
		had  int
	}{
		{"Short", engine.HistoryLimit - 1},
		{"Full", engine.HistoryLimit},
		{"TooLong", engine.HistoryLimit + 15},
		{"None", 0},
	} {
		for _, kind := range []engine.ChangeKind{engine.Move, engine.Checkpoint} {
			test(t, open, c.name+"/"+string(kind), func(b *bench) { remembered(b, kind, c.had) })
		}
	}
}

// remembered adds an entry to a history of so many.
func remembered(b *bench, kind engine.ChangeKind, had int) {
	entries := make([]engine.HistoryEntry, had)
	for i := range entries {
		entries[i] = engine.HistoryEntry{From: Idle, To: Pending, By: bob, At: b.ago(time.Hour), Took: int64(i)}
	}
	doc := b.held("w", func(w *Widget) { w.History = entries })
	b.ids("lost", b.apply(change(kind), doc))

	got := b.get("w").History
	want := min(had+1, engine.HistoryLimit)
	if len(got) != want {
		b.Fatalf("%d entries after %d; want %d", len(got), had, want)
	}
	for i, entry := range got[:want-1] {
		if took := int64(had + 1 - want + i); entry.Took != took {
			b.Fatalf("entry %d is the former entry %d; want %d", i, entry.Took, took)
		}
	}
	if last := got[want-1]; last.By != alice || last.From != Pending {
		b.Errorf("the last entry is %+v", last)
	}
}
