package enginetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// setTests check claims and changes of many documents at once: one write, but
// each document by its own claim.
func setTests(t *testing.T, open func(*testing.T) Harness) {
	for _, kind := range allKinds {
		test(t, open, "SomeLost/"+string(kind), func(b *bench) { someLost(b, kind) })
	}
	test(t, open, "Large", largeSet)
	test(t, open, "OwnTimes", setWithOwnTimes)
	test(t, open, "None", func(b *bench) {
		b.insert(b.widget("w"))
		b.ids("lost of none", b.apply(change(engine.Move)))
		b.same(b.widget("w"), b.get("w"))
	})
}

// someLost makes one change to documents of two claims, of which some are not
// held any more, for one reason each. It returns exactly those and changes
// exactly the others.
func someLost(b *bench, kind engine.ChangeKind) {
	ids := []string{"a1", "a2", "a3", "taken", "settled", "purged", "c1", "c2"}
	for _, id := range ids {
		b.insert(b.widget(id))
	}
	docs := slices.Concat(b.claim(alice, ids[:6]...), b.claim(alice, ids[6:]...))
	b.expire("taken")
	b.claim(bob, "taken")
	b.ids("lost", b.apply(change(engine.Release), docs[4]))
	b.ids("lost", b.apply(change(engine.Purge), docs[5]))
	docs = append(docs, b.widget("absent"))
	taken, settled := b.get("taken"), b.get("settled")

	b.ids("lost", b.apply(change(kind), docs...), "taken", "settled", "purged", "absent")
	b.same(taken, b.get("taken"))
	b.same(settled, b.get("settled"))
	b.gone("purged")
	b.gone("absent")

	// The others have been changed: those claims that a change of this kind
	// ends have ended, and the others have not.
	for _, i := range []int{0, 1, 2, 6, 7} {
		switch err := b.store.Verify(b.ctx, engine.RefOf(docs[i])); {
		case kind.Ends() && err == nil:
			b.Errorf("%s: the claim has not ended", docs[i].ID)
		case !kind.Ends():
			b.check(err)
		}
		if kind == engine.Purge {
			b.gone(docs[i].ID)
		}
	}
}

// largeSet takes more documents through a claim and a move than any limit of
// a store's own should be.
func largeSet(b *bench) {
	const size = 500
	ids := make([]string, size)
	docs := make([]*Widget, size)
	for i := range ids {
		ids[i] = fmt.Sprintf("w%03d", i)
		docs[i] = b.widget(ids[i], func(w *Widget) { w.LockToken = int64(i) })
	}
	b.insert(docs...)
	b.ids("due", dueOf(b, ids), ids...)
	claimed := b.claim(alice, ids...)
	for i, w := range claimed {
		if w.LockToken != int64(i+1) {
			b.Fatalf("%s: token %d, want its own, %d", w.ID, w.LockToken, i+1)
		}
	}
	b.ids("lost", b.apply(change(engine.Move), claimed...))
	for i := 0; i < size; i += 99 {
		if w := b.get(ids[i]); w.Phase != Ready || w.LockedBy != "" {
			b.Errorf("%s: phase %s, locked by %q", w.ID, w.Phase, w.LockedBy)
		}
	}
}

// setWithOwnTimes relocks documents that have waited for different times, and
// at different steps, in one write: each gets the delay of its own wait.
func setWithOwnTimes(b *bench) {
	waits := map[string]time.Duration{"20 s": 20 * time.Second, "60 s": time.Minute, "5 min": 5 * time.Minute}
	b.insert(b.widget("other step", b.burdened, func(w *Widget) { w.Step = "grind" }))
	ids := []string{"other step"}
	for id, waited := range waits {
		ids = append(ids, id)
		b.insert(b.widget(id, b.burdened, func(w *Widget) { w.WaitingSince = b.ago(waited) }))
	}
	c := change(engine.Relock)
	b.ids("lost", b.apply(c, b.claim(alice, ids...)...))
	for _, id := range ids {
		got := b.get(id)
		waited := got.UpdatedAt.Sub(got.WaitingSince)
		if waited < waits[id] {
			b.Errorf("%s: has waited %v", id, waited)
		}
		want := got.UpdatedAt.Add(-c.LockTimeout).Add(engine.RelockDelay(waited, c.LockTimeout))
		if !got.LockedAt.Equal(want) {
			b.Errorf("%s: lockedAt %v, want %v", id, got.LockedAt, want)
		}
	}
}
