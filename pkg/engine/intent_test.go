package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// A change of intent made by hand (the state, and no other field) is picked up
// within one tick, however long the document would wait, back off or rest
// otherwise. Fails without the clause on the intent in the claim's predicate.
func TestIntentByHandIsPickedUp(t *testing.T) {
	cases := map[string]struct {
		phase engine.Phase
		step  func(*thing) (engine.Outcome, error)
		until time.Duration
	}{
		"Waiting":    {fresh, func(*thing) (engine.Outcome, error) { return engine.Wait("ever"), nil }, 10 * time.Minute},
		"BackingOff": {fresh, func(*thing) (engine.Outcome, error) { return engine.Done(), errCut }, 30 * time.Minute},
		"Failed":     {fresh, func(*thing) (engine.Outcome, error) { return engine.Done(), engine.Terminal(errCut) }, time.Minute},
		"Settled":    {up, func(*thing) (engine.Outcome, error) { return engine.Done(), nil }, time.Minute},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.insert("a")
				w.run("r", things(does("work", func(_ context.Context, doc *thing) (engine.Outcome, error) { return c.step(doc) })))
				w.pass(c.until)
				for w.get("a").LockedBy != "" || c.phase == fresh && w.get("a").LockedAt.Before(time.Now().Add(-lockTimeout+3*tick)) {
					w.pass(tick / 7) // until nothing but the intent would move it soon
				}
				w.inPhase("a", c.phase)
				w.wants("a", off)
				w.pass(tick + tick/10)
				w.inPhase("a", down)
				if m := w.get("a"); m.Attempts != 0 || m.LastError != nil || m.WaitingFor != "" || m.ObservedState != off {
					t.Errorf("something of the former intent is left: %+v", m.Meta)
				}
			})
		})
	}
}

// A change of the settings alone (the generation) is a change of intent too.
func TestGenerationIsIntent(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var looks journal
		w.run("r", things(waits(&looks)))
		w.pass(10 * time.Minute)
		n := looks.count("a")
		w.set("a", "generation", int64(2))
		w.pass(tick + tick/10)
		if looks.count("a") != n+1 || w.get("a").ObservedGeneration != 2 {
			t.Errorf("%d looks more, the document says %+v", looks.count("a")-n, w.get("a").Meta)
		}
	})
}

// The user changes their mind while a step runs: its outcome is recorded, the
// new intent is not overwritten, and is acted on at once afterwards.
func TestIntentDuringWork(t *testing.T) {
	for name, outcome := range map[string]func() (engine.Outcome, error){
		"Done":     func() (engine.Outcome, error) { return engine.Done(), nil },
		"Wait":     func() (engine.Outcome, error) { return engine.Wait("ever"), nil },
		"Error":    func() (engine.Outcome, error) { return engine.Done(), errors.New("x") },
		"Terminal": func() (engine.Outcome, error) { return engine.Done(), engine.Terminal(errors.New("x")) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.insert("a")
				w.run("r", things(does("work", func(ctx context.Context, _ *thing) (engine.Outcome, error) {
					if err := rest(ctx, 10*time.Second); err != nil {
						return engine.Done(), err
					}
					return outcome()
				})))
				w.pass(5 * time.Second)
				w.wants("a", off)
				w.pass(5*time.Second + 2*tick)
				if m := w.get("a"); m.State != off || m.Phase != down {
					t.Errorf("the document says %+v", m.Meta)
				}
			})
		})
	}
}

// A one-shot intent is used up once fulfilled.
func TestOneShotCompletes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		w.run("r", things(takes("start", time.Second)))
		w.pass(4 * tick)
		w.wants("a", cycle)
		w.pass(5 * tick)
		m := w.get("a")
		if m.State != on || m.Phase != up || m.IntentChanged() {
			t.Errorf("the document says %+v", m.Meta)
		}
		if n := len(m.History); n != 3 || m.History[1].To != down || m.History[2].To != up {
			t.Errorf("history %+v", m.History)
		}
	})
}

// The one write of state that the engine makes is a compare-and-set: a newer
// intent is never lost to it, whether it is another state or the same with
// other settings. Fails without the comparison.
func TestOneShotLosesToNewerIntent(t *testing.T) {
	for name, change := range map[string]struct {
		field string
		value any
		want  engine.State
	}{
		"State":      {"state", off, off},
		"Generation": {"generation", int64(9), cycle},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.add(&thing{Meta: engine.Meta{ID: "a", State: cycle, Phase: down}})
				w.run("r", things(takes("start", 10*time.Second)))
				w.pass(5 * time.Second)
				w.set("a", change.field, change.value)
				w.pass(6 * time.Second)
				m := w.get("a")
				if m.State != change.want || m.Generation == 9 && m.History[0].To != up {
					t.Errorf("the document says %+v", m.Meta)
				}
				w.pass(time.Minute)
				if m := w.get("a"); m.Phase == leaving || change.want == cycle && (m.State != on || m.Phase != up) {
					t.Errorf("in the end the document says %+v", m.Meta)
				}
			})
		})
	}
}

// New settings end a terminal error of a document at rest, such as one of an
// older version: by a tick, with no hint. Fails without the clause on the intent
// among those that are resynced.
func TestNewSettingsEndAFailedResync(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		def := things()
		def.Settled[0].Resync = time.Minute
		def.Settled[0].Steps = []step{does("look", func(context.Context, *thing) (engine.Outcome, error) { return engine.Done(), nil })}
		w.run("r", def)
		w.pass(2 * tick)
		w.set("a", "lastError", &engine.LastError{Step: "look", Message: "no such house", Terminal: true})
		w.set("a", "lockedAt", engine.Never)
		w.set("a", "resyncAt", time.Time{})
		w.pass(2 * time.Minute)
		if m := w.get("a"); m.LastError == nil || !m.LockedAt.Equal(engine.Never) {
			t.Fatalf("the document says %+v", m.Meta)
		}
		w.set("a", "generation", int64(2))
		w.pass(tick + tick/10)
		if m := w.get("a"); m.LastError != nil || m.ResyncAt.IsZero() {
			t.Errorf("the document says %+v", m.Meta)
		}
	})
}

// What a resync is refused it is refused for now: the document was as wanted
// before, and nobody has changed their mind. Fails if the error is as terminal
// there as in a transition: one wrong admission policy would leave every
// document failed that was looked at meanwhile.
func TestRefusedResyncIsTriedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var broken atomic.Bool
		broken.Store(true)
		def := things()
		def.Settled[0].Resync = time.Minute
		def.Settled[0].Steps = []step{does("look", func(context.Context, *thing) (engine.Outcome, error) {
			if broken.Load() {
				return engine.Done(), engine.Terminal(errCut)
			}
			return engine.Done(), nil
		})}
		w.run("r", def)
		w.pass(5 * time.Minute)
		if m := w.get("a"); m.LastError == nil || m.LastError.Terminal || m.Attempts < 2 || m.Phase != up {
			t.Fatalf("the document says %+v", m.Meta)
		}
		broken.Store(false)
		w.pass(10 * time.Minute)
		if m := w.get("a"); m.LastError != nil || m.Attempts != 0 {
			t.Errorf("the document says %+v", m.Meta)
		}
	})
}
