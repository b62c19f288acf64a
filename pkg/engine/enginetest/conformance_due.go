package enginetest

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// dueTests check the order and the bounds of Due.
func dueTests(t *testing.T, open func(*testing.T) Harness) {
	test(t, open, "Order", dueOrder)
	test(t, open, "Read", dueReads)
	test(t, open, "Empty", func(b *bench) { b.ids("due", dueOf(b, make([]string, 10))) })
}

// Hole: one order for all, with the nearest expiry first and then the longest
// waiting, so that nothing starves. The limit takes from the front.
func dueOrder(b *bench) {
	place := func(id string, locked, updated time.Time) *Widget {
		return b.widget(id, func(w *Widget) { w.LockedAt, w.UpdatedAt = locked, updated })
	}
	changed := place("6 backing off from an intent that is no more", engine.Never, b.ago(time.Hour))
	changed.Generation++
	waiting := place("5 waiting for an intent that is no more", b.ago(5*time.Second), b.ago(time.Hour))
	waiting.Generation++
	b.insert(
		place("3 lock expired long ago", b.ago(time.Hour), b.ago(3*time.Hour)),
		changed,
		place("2 unlocked just now", engine.Epoch, b.ago(time.Second)),
		place("4 lock expired just now", b.ago(31*time.Second), b.ago(2*time.Hour)),
		place("1 unlocked long ago", engine.Epoch, b.ago(time.Minute)),
		waiting,
		place("7 not due", b.ago(5*time.Second), b.ago(time.Hour)),
	)
	for _, limit := range []int{100, 6, 3, 1, 0} {
		due, err := b.store.Due(b.ctx, b.rules, limit)
		b.check(err)
		if len(due) != min(limit, 6) || !slices.IsSorted(due) {
			b.Errorf("due, at most %d: %q", limit, due)
		}
		if len(due) > 0 && due[0] != "1 unlocked long ago" {
			b.Errorf("due, at most %d: %q is first", limit, due[0])
		}
	}
}

// Due is a read: it takes nothing, and says the same again.
func dueReads(b *bench) {
	want := b.widget("w")
	b.insert(want)
	for range 2 {
		b.ids("due", dueOf(b, []string{"w"}), "w")
		b.same(want, b.get("w"))
	}
}
