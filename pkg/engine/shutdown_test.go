package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

// First signal: what is in flight finishes, what was claimed but not begun is
// given back at once, and nothing new is claimed. Fails if the queue is worked
// off, or left locked.
func TestShutdownFinishesWhatRuns(t *testing.T) {
	inWorld(t, func(w *world) {
		work := time.Millisecond
		var begun journal
		r := w.run("r", things(does("work", func(ctx context.Context, doc *thing) (engine.Outcome, error) {
			begun.note(doc.ID)
			return engine.Done(), rest(ctx, work)
		})), func(o *engine.Options) { o.Workers = 2 })
		w.insert(names(300)...) // quick ones: batches grow
		w.pass(5 * tick)
		work = 10 * time.Second
		slow := []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"}
		w.insert(slow...)
		w.pass(tick + tick/10)
		running, held := len(begun.all())-300, 0
		for _, id := range slow {
			if w.get(id).LockedBy != "" {
				held++
			}
		}
		if running != 2 || held != len(slow) {
			t.Fatalf("%d run and %d are held: not the case to test", running, held)
		}
		began := time.Now()
		r.stop()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("stopping took %s", took)
		}
		if n := len(begun.all()) - 300; n != 2 {
			t.Errorf("%d were begun in the end, want the 2 that ran", n)
		}
		moved := 0
		for _, id := range slow {
			m := w.get(id)
			if m.LockedBy != "" || !m.LockedAt.Equal(engine.Epoch) {
				t.Errorf("%s is still locked: %+v", id, m.Meta)
			}
			if m.Phase == up {
				moved++
			}
		}
		if moved != 2 || r.seen.count("release") != len(slow)-2 {
			t.Errorf("%d finished, %d released", moved, r.seen.count("release"))
		}
	})
}

// Grace over: contexts are cancelled and claims unlocked, so that others go on
// at once. It is no error of the document's. Fails if the lock is left to
// expire, or the cancellation is counted as an attempt.
func TestShutdownGraceOver(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var why error
		r := w.run("old", things(within(time.Hour, does("work", func(ctx context.Context, _ *thing) (engine.Outcome, error) {
			err := rest(ctx, time.Hour)
			why = err
			return engine.Done(), err
		}))), func(o *engine.Options) { o.Grace = 7 * time.Second })
		w.pass(2 * tick)
		w.run("new", things())
		began := time.Now()
		r.stop()
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("stopping took %s", took)
		}
		if why == nil || !strings.Contains(why.Error(), "grace period is over") || errors.Is(why, engine.ErrLockLost) {
			t.Errorf("cancelled because: %v", why)
		}
		if m := w.get("a"); m.Attempts != 0 || m.LastError != nil || !m.LockedAt.Equal(engine.Epoch) {
			t.Errorf("the document says %+v", m.Meta)
		}
		w.pass(tick + tick/10)
		w.inPhase("a", up)
	})
}

// A claim that is on its way when the signal comes is not forgotten: its
// answer is waited for, and what it took is given back. Fails if the signal
// cancels the claim's call: the store makes it all the same.
func TestShutdownDuringClaim(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var line cable
		claiming := make(chan struct{})
		line.onAfter(func(ctx context.Context, op enginetest.Op) error {
			if op.Name != "claim" {
				return nil
			}
			close(claiming)
			line.mend()
			return rest(ctx, 3*time.Second) // the answer is on its way
		})
		r := w.runOn(line.to(w.store), "old", things(takes("work", 0)))
		<-claiming
		r.stop()
		if m := w.get("a"); m.LockedBy != "" || !m.LockedAt.Equal(engine.Epoch) {
			t.Errorf("the document is left locked: %+v", m.Meta)
		}
	})
}

// A stopped service claims nothing, whatever is due or hinted.
func TestStoppedServiceClaimsNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.run("r", things())
		w.pass(2 * tick)
		r.stop()
		w.insert("a")
		r.Hint("a")
		w.pass(10 * tick)
		if m := w.get("a"); m.LockToken != 0 {
			t.Errorf("the document says %+v", m.Meta)
		}
	})
}

// What is wrong with the options or the definition is said at once.
func TestRunRefuses(t *testing.T) {
	broken := things()
	broken.Kind = ""
	for want, s := range map[string]*engine.Service[*thing]{
		"Kind is empty":                   engine.NewService(broken, nil, engine.Options{Holder: "r"}),
		"Options.Holder is empty":         engine.NewService(things(), nil, engine.Options{}),
		"leaves no trust window in a loc": engine.NewService(things(), nil, engine.Options{Holder: "r", Margin: time.Minute}),
	} {
		if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
