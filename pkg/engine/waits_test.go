package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// waits is a step that waits for ever, and notes each look.
func waits(looks *journal) step {
	return does("wait", func(_ context.Context, doc *thing) (engine.Outcome, error) {
		looks.note(doc.ID)
		return engine.Wait("a sign"), nil
	})
}

// Hole: waiting documents win every tick. Protection: a wait relocks, by the
// table: a tenth of the wait, and the lock timeout beyond two minutes. Fails
// if a wait unlocks.
func TestWaitRelocksByTheTable(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var looks journal
		w.run("r", things(waits(&looks)), func(o *engine.Options) { o.Interval = 20 * time.Millisecond })
		w.pass(10 * time.Minute)

		m := w.get("a")
		if m.WaitingFor != "a sign" || m.Step != "wait" || m.LockedBy != "" || m.Attempts != 0 {
			t.Errorf("the document says %+v", m.Meta)
		}
		times := looks.times("a")
		for i := 1; i < len(times); i++ {
			waited, gap := times[i-1].Sub(times[0]), times[i].Sub(times[i-1])
			want := engine.RelockDelay(waited, lockTimeout)
			if gap < want-time.Millisecond || gap > want+25*time.Millisecond {
				t.Fatalf("after %s of waiting the next look came in %s, want %s", waited, gap, want)
			}
		}
		if gap := times[len(times)-1].Sub(times[len(times)-2]); gap < lockTimeout {
			t.Errorf("after ten minutes the next look came in %s, want %s", gap, lockTimeout)
		}
	})
}

// Each step's wait begins anew: the progress of one is no reason to look
// seldom for the next.
func TestWaitBeginsAnewWithTheStep(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var looks journal
		w.run("r", things(does("first", func(context.Context, *thing) (engine.Outcome, error) {
			if time.Since(looks.all()[0].at) < 5*time.Minute {
				return engine.Wait("the first"), nil
			}
			return engine.Done(), nil
		}), waits(&looks)))
		looks.note("began")
		w.pass(5*time.Minute + lockTimeout + tick)
		if m := w.get("a"); m.Step != "wait" || time.Since(m.WaitingSince) > 2*lockTimeout {
			t.Errorf("the document says %+v", m.Meta)
		}
		if n := looks.count("a"); n < 3 {
			t.Errorf("%d looks at the second step in the time since", n)
		}
	})
}

// Hole: the oldest waiting document starves the rest. Protection: relocking.
// However many wait, with a worker that needs long for a look, others are done
// at once. Fails if a wait unlocks.
func TestWaitingStarvesNobody(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert(names(200)...)
		var looks journal
		r := w.run("r", things(does("work", func(ctx context.Context, doc *thing) (engine.Outcome, error) {
			if doc.Note == "quick" {
				return engine.Done(), nil
			}
			looks.note(doc.ID)
			return engine.Wait("ever"), rest(ctx, 30*time.Millisecond)
		})), func(o *engine.Options) { o.Workers = 1 })
		w.pass(5 * time.Minute)
		before := len(looks.all())
		w.pass(time.Minute)
		if n := len(looks.all()) - before; n > 3*200 {
			t.Errorf("%d looks at 200 waiting documents in a minute", n)
		}
		w.add(&thing{Meta: engine.Meta{ID: "quick", State: on, Phase: fresh}, Note: "quick"})
		w.pass(200*30*time.Millisecond + 2*tick)
		w.inPhase("quick", up)
		r.stop()
	})
}

// One document is claimed at most once per sweep, also where the sweep reads
// several times: what is due again at once comes after all others. Fails
// without the set of those seen.
func TestClaimedOncePerSweep(t *testing.T) {
	inWorld(t, func(w *world) {
		const most = 5000 // one read
		w.insert(names(most + 1000)...)
		var looks journal
		seen := map[string]int{}
		w.run("r", things(does("wait", func(_ context.Context, doc *thing) (engine.Outcome, error) {
			looks.note(doc.ID)
			time.Sleep(time.Millisecond)
			return engine.Wait("a sign"), nil
		})))
		w.pass(3 * tick)
		for _, e := range looks.all() {
			if seen[e.what]++; seen[e.what] > 1 && len(seen) < most+1000 {
				t.Fatalf("%s was claimed again after %d of %d had been", e.what, len(seen), most+1000)
			}
		}
	})
}
