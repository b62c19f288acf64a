package enginetest

import (
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// claimTests check what a claim does to a document.
func claimTests(t *testing.T, open func(*testing.T) Harness) {
	test(t, open, "SameIntent", claimSameIntent)
	test(t, open, "ChangedState", func(b *bench) { claimChangedIntent(b, "state", Deleted) })
	test(t, open, "ChangedSettings", func(b *bench) { claimChangedIntent(b, "generation", int64(4)) })
	test(t, open, "NewDocument", claimNewDocument)
	test(t, open, "Expired", claimExpired)
	test(t, open, "LeftOut", claimLeftOut)
	test(t, open, "Resync", claimResync)
}

// claimed claims a document for alice and compares every field of it, as
// returned and as stored, with what is expected.
func (b *bench) claimed(id string, want func(w *Widget, now time.Time)) *Widget {
	b.Helper()
	expected := b.get(id)
	before := b.now()
	req := b.request(alice, id)
	docs, err := b.store.Claim(b.ctx, req)
	b.check(err)
	if len(docs) != 1 {
		b.Fatalf("claimed %q, want %q", idsOf(docs), id)
	}
	after, got := b.now(), docs[0]
	b.between("claim", before, got.LockedAt, after)

	expected.LockedAt, expected.LockedBy, expected.LockBatch = got.LockedAt, alice, req.Batch
	expected.LockToken++
	expected.ResyncAt = time.Time{}
	want(expected, got.LockedAt)
	b.same(expected, got)
	b.same(expected, b.get(id))
	return got
}

// Hole: an error must not be forgotten by trying again. A claim for the same
// intent sets the lock and nothing else.
func claimSameIntent(b *bench) {
	b.insert(b.widget("w", b.burdened))
	b.claimed("w", func(*Widget, time.Time) {})
}

// What a document waited for or failed at belongs to the intent before.
func claimChangedIntent(b *bench, field string, value any) {
	b.insert(b.widget("w", b.burdened))
	b.set("w", field, value)
	got := b.claimed("w", func(w *Widget, _ time.Time) {
		w.ObservedState, w.ObservedGeneration = w.State, w.Generation
		w.Attempts, w.LastError = 0, nil
		w.WaitingFor, w.WaitingSince = "", time.Time{}
	})
	if got.IntentChanged() {
		b.Error("the intent is still said to have changed")
	}
}

// The first claim of a document notes when it began.
func claimNewDocument(b *bench) {
	b.insert(b.widget("w", func(w *Widget) {
		w.Meta = engine.Meta{ID: "w", State: Running, Generation: 1, Phase: Pending, LockedAt: engine.Epoch}
	}))
	got := b.claimed("w", func(w *Widget, now time.Time) {
		w.PhaseAt, w.CreatedAt = now, now
		w.ObservedState, w.ObservedGeneration = Running, 1
	})
	if got.LockToken != 1 {
		b.Errorf("the first token is %d", got.LockToken)
	}
}

// Hole: whoever takes over from a dead holder gets a higher token.
func claimExpired(b *bench) {
	b.insert(b.widget("w", func(w *Widget) { lock(w, b.ago(31*time.Second)) }))
	b.claimed("w", func(*Widget, time.Time) {})
}

// Documents that cannot be claimed are left out without an error: those that
// are held, are settled, are not there, and were claimed a moment ago.
func claimLeftOut(b *bench) {
	held := b.widget("held", func(w *Widget) { lock(w, b.ago(5*time.Second)) })
	settled := b.widget("settled", func(w *Widget) { pair(w, Stopped, Idle) })
	b.insert(held, settled, b.widget("free"), b.widget("not asked for"))
	b.ids("claimed", idsOf(b.tryClaim(alice, "held", "free", "settled", "absent", "free")), "free")
	b.same(held, b.get("held"))
	b.same(settled, b.get("settled"))
	b.gone("absent")
	b.ids("claimed again", idsOf(b.tryClaim(alice, "free")))
	b.ids("claimed by another", idsOf(b.tryClaim(bob, "free")))
	b.ids("claimed of none", idsOf(b.tryClaim(bob)))
	b.ids("due", dueOf(b, make([]string, 9)), "not asked for")
	if token := b.get("free").LockToken; token != 5 {
		b.Errorf("the token is %d, want 5", token)
	}
}

// A claim clears resyncAt: what becomes of the claim decides when the document
// is looked at again, and not a time that was set before.
func claimResync(b *bench) {
	b.insert(b.widget("w", func(w *Widget) {
		pair(w, Running, Ready)
		w.ResyncAt = b.ago(time.Minute)
	}))
	b.claimed("w", func(*Widget, time.Time) {})
}
