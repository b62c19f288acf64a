package engine_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Hole: "now" is each replica's wall clock, and skew double-claims or starves.
// Protection: times in documents are the database's and are compared with it
// alone; a replica's clock measures only how long something took. Two replicas
// 20 minutes apart do exactly what two equal ones do, at the same times. Fails
// if the trust window is counted from lockedAt.
func TestSkewChangesNothing(t *testing.T) {
	const skew = 10 * time.Minute
	run := func(one, two time.Duration) (trace []entry) {
		inWorld(t, func(w *world) {
			var done journal
			def := things(
				does("long", func(ctx context.Context, doc *thing) (engine.Outcome, error) {
					if doc.Step == "wait" {
						return engine.Done(), nil
					}
					return engine.Done(), rest(ctx, lockTimeout/2)
				}),
				does("wait", func(_ context.Context, doc *thing) (engine.Outcome, error) {
					done.note("look at " + doc.ID)
					if time.Since(doc.PhaseAt) < 4*time.Minute {
						return engine.Wait("the time"), nil
					}
					return engine.Done(), nil
				}))
			for name, skew := range map[string]time.Duration{"one": one, "two": two} {
				r := w.run(name, def, func(o *engine.Options) {
					o.Now = func() time.Time { return time.Now().Add(skew) }
				})
				r.OnMove(func(doc *thing, to engine.Phase) { done.note(doc.ID + " to " + string(to)) })
			}
			w.insert(names(3)...)
			w.pass(6 * time.Minute)
			for _, id := range names(3) {
				w.inPhase(id, up)
				done.note(id + " took " + time.Duration(w.get(id).History[0].Took*int64(time.Millisecond)).String())
			}
			trace = done.all()
		})
		for i := range trace {
			trace[i].at = trace[i].at.Truncate(time.Millisecond)
		}
		slices.SortFunc(trace, func(a, b entry) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.what, b.what)) })
		return trace
	}
	level := run(0, 0)
	if len(level) < 20 {
		t.Fatalf("a short trace: %v", level)
	}
	for _, skews := range [][2]time.Duration{{-skew, skew}, {skew, 0}, {-skew, -skew}} {
		if skewed := run(skews[0], skews[1]); !slices.Equal(skewed, level) {
			t.Errorf("replicas %v off:\n%v\nlevel:\n%v", skews, skewed, level)
		}
	}
}

// No time of a replica is ever written to a document: with replicas in
// another century, every time in it is the database's.
func TestTimesAreTheDatabases(t *testing.T) {
	inWorld(t, func(w *world) {
		began := time.Now()
		w.insert("a", "b")
		failed := false
		def := things(takes("one", lockTimeout), does("two", func(_ context.Context, doc *thing) (engine.Outcome, error) {
			if doc.ID == "b" {
				return engine.Wait("ever"), nil
			}
			if failed {
				return engine.Done(), nil
			}
			failed = true
			return engine.Done(), errCut
		}))
		def.Settled[0].Resync = time.Minute
		w.run("r", def, func(o *engine.Options) {
			o.Now = func() time.Time { return time.Now().AddDate(100, 0, 0) }
		})
		for range 200 {
			w.pass(tick)
			for _, id := range []string{"a", "b"} {
				m := w.get(id)
				times := []time.Time{m.PhaseAt, m.StepAt, m.WaitingSince, m.LockedAt, m.CreatedAt, m.UpdatedAt, m.ResyncAt.Add(-time.Minute)}
				if m.LastError != nil {
					times = append(times, m.LastError.At)
				}
				for _, h := range m.History {
					times = append(times, h.At)
				}
				for _, at := range times {
					if at.After(time.Now().Add(lockTimeout)) || at.After(engine.Epoch) && at.Before(began.Add(-lockTimeout)) {
						t.Fatalf("a time of nobody's clock: %s in %+v", at, m)
					}
				}
			}
		}
		w.inPhase("a", up)
	})
}
