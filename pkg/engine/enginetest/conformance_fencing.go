package enginetest

import (
	"errors"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// fencingTests check that every write of a claim which is not the latest, or
// has ended, is refused and changes nothing.
//
// Hole: a holder that outlives its lock writes over its successor.
func fencingTests(t *testing.T, open func(*testing.T) Harness) {
	test(t, open, "TakenOver", fencedByToken)
	test(t, open, "TakenOverAndEnded", fencedAfterSuccessor)
	test(t, open, "TakenOverByItself", fencedFromItself)
	test(t, open, "Ended", fencedByEnd)
	test(t, open, "Purged", fencedByPurge)
	test(t, open, "InsertedAgain", fencedFromNamesake)
	test(t, open, "ExpiredOnly", notFencedByExpiry)
	test(t, open, "IntentChanged", notFencedByUser)
}

// refused checks that no write under the claim of doc gets through, and that
// the document, if there is one, stays as it is.
func (b *bench) refused(doc *Widget) {
	b.Helper()
	before, err := b.users.Get(b.ctx, doc.ID)
	gone := errors.Is(err, ErrNotFound)
	if !gone {
		b.check(err)
	}
	for _, kind := range allKinds {
		c := change(kind)
		c.OneShot = engine.OneShot{From: Running, To: Stopped}
		b.ids(string(kind)+" lost", b.apply(c, doc), doc.ID)
	}
	ref := engine.RefOf(doc)
	if err := b.store.Update(b.ctx, ref, map[string]any{"spec.size": 99}); !errors.Is(err, engine.ErrLockLost) {
		b.Errorf("update: error %v, want ErrLockLost", err)
	}
	if err := b.store.Verify(b.ctx, ref); !errors.Is(err, engine.ErrLockLost) {
		b.Errorf("verify: error %v, want ErrLockLost", err)
	}
	if gone {
		b.gone(doc.ID)
		return
	}
	b.same(before, b.get(doc.ID))
}

// accepted checks that every write under the claim of doc gets through.
func (b *bench) accepted(doc *Widget) {
	b.Helper()
	ref := engine.RefOf(doc)
	b.check(b.store.Verify(b.ctx, ref))
	b.check(b.store.Update(b.ctx, ref, map[string]any{"spec.size": 99}))
	for _, kind := range []engine.ChangeKind{engine.Renew, engine.Checkpoint, engine.Move} {
		b.ids(string(kind)+" lost", b.apply(change(kind), doc))
	}
}

func fencedByToken(b *bench) {
	zombie := b.held("w")
	b.expire("w")
	successor := b.claim(bob, "w")[0]
	b.refused(zombie)
	b.accepted(successor)
}

// The successor has come and gone; the token remains.
func fencedAfterSuccessor(b *bench) {
	zombie := b.held("w")
	b.expire("w")
	b.ids("lost", b.apply(change(engine.Release), b.claim(bob, "w")[0]))
	b.refused(zombie)
}

// A replica is fenced from its own former claims too: the holder's name does
// not make a claim.
func fencedFromItself(b *bench) {
	zombie := b.held("w")
	b.expire("w")
	successor := b.claim(alice, "w")[0]
	b.refused(zombie)
	b.accepted(successor)
}

// A claim is settled once, whichever change ends it.
func fencedByEnd(b *bench) {
	for _, kind := range allKinds {
		if kind.Ends() {
			doc := b.held(string(kind))
			b.ids("lost", b.apply(change(kind), doc))
			b.refused(doc)
		}
	}
}

func fencedByPurge(b *bench) {
	zombie := b.held("w")
	b.expire("w")
	b.ids("lost", b.apply(change(engine.Purge), b.claim(bob, "w")[0]))
	b.refused(zombie)
}

// A document that was purged and inserted again under its id begins with the
// same tokens, and is still another one: batches tell them apart.
func fencedFromNamesake(b *bench) {
	zombie := b.held("w")
	b.expire("w")
	b.ids("lost", b.apply(change(engine.Purge), b.claim(bob, "w")[0]))
	b.insert(b.widget("w"))
	namesake := b.claim(bob, "w")[0]
	if namesake.LockToken != zombie.LockToken {
		b.Fatalf("tokens %d and %d", zombie.LockToken, namesake.LockToken)
	}
	b.refused(zombie)
	b.accepted(namesake)
}

// A lock that has expired is lost only once somebody else has claimed the
// document: until then nobody's work is overwritten.
func notFencedByExpiry(b *bench) {
	doc := b.held("w")
	b.set("w", "lockedAt", b.ago(5*time.Minute))
	b.accepted(doc)
}

// The user may change their mind while the document is held. The claim is
// still the latest, and its end leaves the new intent alone.
func notFencedByUser(b *bench) {
	doc := b.held("w")
	b.check(b.users.SetFields(b.ctx, "w", map[string]any{"state": Stopped, "generation": int64(4)}))
	b.accepted(doc)
	got := b.get("w")
	if got.State != Stopped || got.Generation != 4 || got.ObservedState != Running || got.ObservedGeneration != 3 {
		b.Errorf("state %s/%d, observed %s/%d", got.State, got.Generation, got.ObservedState, got.ObservedGeneration)
	}
}
