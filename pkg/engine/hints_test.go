package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

// Hole: up to a tick before anything happens. Protection: a hint is acted on
// at once. Fails without the hints' wake-up.
func TestHintIsImmediate(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.run("r", things())
		w.pass(10 * tick)
		for _, id := range names(20) {
			w.insert(id)
			r.Hint(id)
			w.pass(0)
			w.inPhase(id, up)
			w.pass(tick / 7)
		}
		r.Hint("nobody", "nobody")
		w.pass(tick)
	})
}

// A document that moved and has more to do goes on at once, without a tick.
func TestMoveGoesOnAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		r := w.run("r", things())
		w.pass(2 * tick)
		w.wants("a", gone)
		r.Hint("a")
		w.pass(0)
		if w.exists("a") {
			t.Errorf("the document says %+v", w.get("a").Meta)
		}
	})
}

// A hint bypasses a wait: what the document waits for may have happened.
func TestHintBypassesWaits(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		happened := false
		r := w.run("r", things(does("wait", func(context.Context, *thing) (engine.Outcome, error) {
			if happened {
				return engine.Done(), nil
			}
			return engine.Wait("it"), nil
		})))
		w.pass(10 * time.Minute)
		happened = true
		r.Hint("a")
		w.pass(0)
		w.inPhase("a", up)
	})
}

// A hint does not bypass the backoff of an error: what fails is not tried
// again at the pace of its own events. Fails if hints ignore attempts.
func TestHintRespectsBackoff(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var tries journal
		r := w.run("r", things(does("work", func(context.Context, *thing) (engine.Outcome, error) {
			tries.note("try")
			return engine.Done(), errors.New("x")
		})))
		for range 6000 {
			r.Hint("a")
			w.pass(10 * time.Millisecond)
		}
		if n := tries.count("try"); n > 9 {
			t.Errorf("%d tries in a minute", n)
		}
	})
}

// A hint that comes while its document is worked on is kept until that work
// has ended: it may have looked too early. Fails without the hints' memory.
func TestHintDuringWorkIsKept(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		happened := false
		r := w.run("r", things(does("wait", func(ctx context.Context, _ *thing) (engine.Outcome, error) {
			seen := happened
			if err := rest(ctx, 5*time.Second); seen || err != nil {
				return engine.Done(), err
			}
			return engine.Wait("it"), nil
		})))
		w.pass(4 * time.Minute) // by now it waits for long between looks
		for w.get("a").LockedBy == "" {
			w.pass(tick / 3)
		}
		w.pass(time.Second) // the look is over, the work is not
		happened = true
		r.Hint("a")
		w.pass(10 * time.Second)
		w.inPhase("a", up)
	})
}

// So is a hint that comes while its document is being claimed: the claim may
// have read it just before. Fails if only what was claimed already counts as
// worked on.
func TestHintDuringClaimIsKept(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var line cable
		claiming := make(chan struct{}, 1)
		line.onAfter(func(ctx context.Context, op enginetest.Op) error {
			if op.Name != "claim" {
				return nil
			}
			line.mend()
			claiming <- struct{}{}
			return rest(ctx, time.Second) // the answer is on its way
		})
		r := w.runOn(line.to(w.store), "r", things(takes("work", time.Second)), func(o *engine.Options) { o.Interval = time.Hour })
		r.Hint("a")
		<-claiming
		w.wants("a", off)
		r.Hint("a")
		w.pass(3 * time.Second)
		w.inPhase("a", down)
	})
}

// Hints only save time: with all of them lost, ticks find everything.
func TestAllHintsLost(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert(names(100)...)
		w.runOn(deaf{w.store}, "r", things(takes("work", time.Millisecond)))
		w.pass(3 * tick)
		for _, id := range names(100) {
			w.inPhase(id, up)
			w.wants(id, gone)
		}
		w.pass(5 * tick) // to leaving, and out
		for _, id := range names(100) {
			if w.exists(id) {
				t.Fatalf("the document says %+v", w.get(id).Meta)
			}
		}
	})
}

// deaf is a store that knows no hints.
type deaf struct{ engine.Store[*thing] }

func (d deaf) Claim(ctx context.Context, req engine.ClaimRequest) ([]*thing, error) {
	if req.Hinted {
		return nil, nil
	}
	return d.Store.Claim(ctx, req)
}

// A flood of hints for some documents does not keep others from being found.
// Fails if hints always come before what is due.
func TestFloodOfHintsStarvesNobody(t *testing.T) {
	inWorld(t, func(w *world) {
		const noisy = 50
		w.insert(names(noisy)...)
		r := w.run("r", things(does("wait", func(ctx context.Context, doc *thing) (engine.Outcome, error) {
			if doc.ID == "quiet" {
				return engine.Done(), nil
			}
			return engine.Wait("ever"), rest(ctx, 10*time.Millisecond)
		})), func(o *engine.Options) { o.Workers = 2 })
		flood := time.NewTicker(time.Millisecond)
		defer flood.Stop()
		end := time.After(20 * tick)
		for i, over := 0, false; !over; i++ {
			select {
			case <-flood.C:
				r.Hint(names(noisy)...)
			case <-end:
				over = true
			}
			if i == 5000 {
				w.insert("quiet")
			}
		}
		w.inPhase("quiet", up)
	})
}
