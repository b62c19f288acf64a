package enginetest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// dueTests check the order and the bounds of Due.
func dueTests(t *testing.T, open func(*testing.T) Harness) {
	test(t, open, "Order", dueOrder)
	test(t, open, "OrderAcrossRules", dueOrderAcrossRules)
	test(t, open, "Read", dueReads)
	test(t, open, "Empty", func(b *bench) { b.ids("due", dueOf(b, make([]string, 10))) })
}

// Hole: the nearest expiry first, then the longest waiting, so that nothing
// starves. The limit takes from the front.
func dueOrder(b *bench) {
	b.insert(
		b.place("lock expired long ago 3", b.ago(time.Hour), b.ago(3*time.Hour)),
		b.place("unlocked just now 2", engine.Epoch, b.ago(time.Second)),
		b.place("not due 5", b.ago(5*time.Second), b.ago(5*time.Hour)),
		b.place("lock expired just now 4", b.ago(31*time.Second), b.ago(4*time.Hour)),
		b.place("unlocked long ago 1", engine.Epoch, b.ago(time.Minute)),
	)
	b.dueInOrder(4)
}

// Hole: what is unsettled goes first, in one order for whatever reason it is
// due, so that a backlog of one sort does not keep the others waiting. What
// rests can wait, the longer the later it was to be looked at again.
func dueOrderAcrossRules(b *bench) {
	changed := func(w *Widget) *Widget { w.Generation++; return w }
	resting := func(w *Widget, at time.Time) *Widget {
		pair(w, Running, Ready)
		w.ResyncAt = at
		return w
	}
	b.insert(
		changed(b.place("given up on an intent that is no more 5", engine.Never, b.ago(6*time.Hour))),
		resting(b.place("at rest, its lock expired 8", b.ago(time.Hour), b.ago(8*time.Hour)), b.ago(40*time.Second)),
		resting(b.place("at rest for long 7", engine.Epoch, b.ago(2*time.Hour)), b.ago(time.Hour)),
		resting(b.place("at rest, and nobody knows until when 6", engine.Epoch, b.ago(time.Minute)), time.Time{}),
		b.place("unlocked just now 2", engine.Epoch, b.ago(time.Second)),
		changed(b.place("waiting for an intent that is no more 4", b.ago(5*time.Second), b.ago(time.Minute))),
		changed(b.place("unlocked long ago, its intent changed 1", engine.Epoch, b.ago(time.Hour))),
		b.place("lock expired 3", b.ago(31*time.Second), b.ago(5*time.Hour)),
	)
	b.dueInOrder(8)
}

// place returns an unsettled document at a place in the order.
func (b *bench) place(id string, locked, updated time.Time) *Widget {
	return b.widget(id, func(w *Widget) { w.LockedAt, w.UpdatedAt = locked, updated })
}

// dueInOrder checks that so many documents are due, and that they come in the
// order of the numbers that their ids end in, under any limit.
func (b *bench) dueInOrder(count int) {
	b.Helper()
	for limit := range count + 2 {
		due, err := b.store.Due(b.ctx, b.rules, limit)
		b.check(err)
		if len(due) != min(limit, count) {
			b.Errorf("at most %d: %d are due: %q", limit, len(due), due)
		}
		for i, id := range due {
			if !strings.HasSuffix(id, strconv.Itoa(i+1)) {
				b.Errorf("at most %d: number %d is %q", limit, i+1, id)
			}
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
