package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

// Hole: one document per handler per tick. Protection: each tick drains. One
// replica does 10,000 due documents within a few ticks, by its ticks alone.
// Fails if a tick claims once.
func TestTickDrains(t *testing.T) {
	inWorld(t, func(w *world) {
		const n = 10_000
		w.insert(names(n)...)
		r := w.run("r", things(takes("work", time.Millisecond)))
		w.pass(3 * tick)
		if done := r.seen.count("move"); done != n {
			t.Errorf("%d of %d documents done after three ticks", done, n)
		}
	})
}

// However much is due, no more steps run at once than there are workers, and
// no more documents are held than are soon begun.
func TestWorkIsBounded(t *testing.T) {
	inWorld(t, func(w *world) {
		const workers = 4
		w.insert(names(500)...)
		var running, most atomic.Int64
		w.run("r", things(does("work", func(ctx context.Context, _ *thing) (engine.Outcome, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			return engine.Done(), rest(ctx, 2*time.Second)
		})), func(o *engine.Options) { o.Workers = workers })
		for range 20 {
			w.pass(tick)
			held := 0
			for _, id := range names(500) {
				if w.get(id).LockedBy != "" {
					held++
				}
			}
			if held > 2*workers {
				t.Fatalf("%d documents are held by %d workers", held, workers)
			}
		}
		if most.Load() != workers {
			t.Errorf("%d steps at once, want %d", most.Load(), workers)
		}
	})
}

// Slow documents do not keep idle workers from others: as long as one worker
// has nothing to do, what is due is claimed. Fails if a place in the pool is
// free only once half of them are.
func TestIdleWorkersTakeWhatIsDue(t *testing.T) {
	inWorld(t, func(w *world) {
		const workers = 8
		w.insert(names(workers - 1)...)
		w.run("r", things(does("work", func(ctx context.Context, doc *thing) (engine.Outcome, error) {
			if doc.ID == "quick" {
				return engine.Done(), nil
			}
			return engine.Done(), rest(ctx, 15*time.Second)
		})), func(o *engine.Options) { o.Workers = workers })
		w.pass(2 * tick)
		w.insert("quick")
		w.pass(tick + tick/10)
		w.inPhase("quick", up)
	})
}

// Hole: ticks that pile up behind a long one. Protection: they are skipped and
// counted. Fails if ticks are stacked, or not counted.
func TestOverrunsAreCounted(t *testing.T) {
	inWorld(t, func(w *world) {
		const n = 45 // for 4.5 s
		w.insert(names(n)...)
		var line cable
		var sweeps journal
		line.onBefore(func(_ context.Context, op enginetest.Op) error {
			if op.Name == "due" {
				sweeps.note("sweep")
			}
			return nil
		})
		r := w.runOn(line.to(w.store), "r", things(takes("work", 100*time.Millisecond)),
			func(o *engine.Options) { o.Workers = 1 })
		w.pass(tick) // the first, which begins the rhythm
		w.pass(5*tick - time.Millisecond)
		w.insert(names(2 * n)[n:]...)
		w.pass(10 * tick)
		times := sweeps.times("sweep")
		rhythm := times[0].Sub(times[0].Truncate(tick))
		skipped := 0
		for i, at := range times {
			if at.Sub(at.Truncate(tick)).Truncate(time.Millisecond) != rhythm.Truncate(time.Millisecond) {
				t.Errorf("a sweep out of rhythm at %s", at)
			}
			if i > 0 {
				skipped += int(at.Sub(times[i-1])/tick) - 1
			}
		}
		if missed := r.seen.count("missed"); skipped < 3 || missed != skipped {
			t.Errorf("%d ticks counted as missed, %d were", missed, skipped)
		}
	})
}

// Hole: every replica tries the head document. Protection: sets, and each
// replica begins elsewhere. Few claims of a shared backlog are wasted, and
// none is made twice.
func TestReplicasShareABacklog(t *testing.T) {
	inWorld(t, func(w *world) {
		const n = 3000
		w.insert(names(n)...)
		var seen []*recorder
		for _, name := range []string{"one", "two", "three"} {
			r := w.run(name, things(takes("work", 5*time.Millisecond)))
			seen = append(seen, r.seen)
		}
		w.pass(10 * tick)
		claimed, moved, requested := 0, 0, 0
		for _, s := range seen {
			claimed += s.count("claimed")
			requested += s.count("requested")
			moved += s.count("move")
		}
		if claimed != n || moved != n {
			t.Errorf("%d claims and %d moves of %d documents", claimed, moved, n)
		}
		if requested > 3*n {
			t.Errorf("%d attempts for %d claims", requested, claimed)
		}
	})
}
