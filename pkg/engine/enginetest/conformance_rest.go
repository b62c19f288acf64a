package enginetest

import (
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// restTests check the changes that end a claim without a move: Rest, Release
// and Purge.
func restTests(t *testing.T, open func(*testing.T) Harness) {
	settled := func(b *bench) *Widget {
		return b.held("w", b.burdened, func(w *Widget) { pair(w, Running, Ready) })
	}
	for name, resync := range map[string]time.Duration{"ForGood": 0, "Resync": time.Hour} {
		test(t, open, name, func(b *bench) {
			c := change(engine.Rest)
			c.From, c.Resync = Ready, resync
			b.applied(settled(b), c, func(w *Widget, now time.Time) { rested(w, now, resync) })
		})
	}
	test(t, open, "NotDueUntilResync", func(b *bench) {
		c := change(engine.Rest)
		c.From, c.Resync = Ready, time.Hour
		b.ids("lost", b.apply(c, settled(b)))
		b.ids("due", dueOf(b, []string{"w"}))
		b.ids("claimed", idsOf(b.tryClaim(bob, "w")))
	})
	test(t, open, "Release", func(b *bench) {
		b.applied(b.held("w", b.burdened), change(engine.Release), func(w *Widget, _ time.Time) {
			w.LockedAt = engine.Epoch
		})
		b.ids("due", dueOf(b, []string{"w"}), "w")
	})
	test(t, open, "Purge", func(b *bench) {
		doc := b.held("w")
		b.insert(b.widget("other"))
		b.ids("lost", b.apply(change(engine.Purge), doc))
		b.gone("w")
		b.get("other")
		b.ids("lost again", b.apply(change(engine.Purge), doc), "w")
	})
}
