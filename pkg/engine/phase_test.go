package engine_test

import (
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Hole: a write of phases that ignores the lock resets work in flight.
// Protection: nobody claims, and so nobody moves, a document under a live
// lock: not on a tick, not on a hint, not on a change of intent. Fails without
// the lock in the claim's predicate.
func TestNoPhaseMovesUnderALiveLock(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		w.run("holder", things(takes("work", 3*lockTimeout)))
		w.pass(tick)
		other := w.run("other", things())
		for i := range 80 {
			if i == 20 {
				w.wants("a", off)
			}
			other.Hint("a")
			w.pass(tick)
			if m := w.get("a"); m.LockedBy != "holder" || m.Phase != fresh || m.LockToken != 1 {
				t.Fatalf("under the holder's lock the document became %+v", m.Meta)
			}
		}
		w.pass(lockTimeout)
		w.inPhase("a", down)
		if h := w.get("a").History; len(h) != 2 || h[0].By != "holder" || h[0].To != up {
			t.Errorf("history %+v", h)
		}
	})
}

// Should someone write the phase by hand under a live lock, the holder does
// not write its own over it: a move matches the phase it moves from. Fails
// without the phase in the move's filter.
func TestMoveMatchesItsPhase(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		r := w.run("r", things(takes("work", 10*time.Second)))
		w.pass(5 * time.Second)
		w.set("a", "phase", leaving)
		w.pass(6 * time.Second)
		w.inPhase("a", leaving)
		if r.seen.count("lost: settle") != 1 || len(w.get("a").History) != 0 {
			t.Errorf("the document says %+v", w.get("a").Meta)
		}
		w.pass(2 * lockTimeout)
		if w.exists("a") {
			t.Error("the phase set by hand was not acted on")
		}
	})
}

// Phases follow the definition, one document at a time, whatever the user asks
// for in between.
func TestPhasesFollowTheDefinition(t *testing.T) {
	inWorld(t, func(w *world) {
		def := things(takes("start", 300*time.Millisecond))
		edges := map[[2]engine.Phase]bool{}
		for _, tr := range def.Transitions {
			for _, from := range tr.From {
				edges[[2]engine.Phase{from, tr.To}] = true
			}
		}
		for _, name := range []string{"one", "two", "three"} {
			w.run(name, def)
		}
		w.insert("a")
		wishes := []engine.State{on, off, cycle, on, cycle, off, on}
		for i := range 50 {
			w.wants("a", wishes[i%len(wishes)])
			w.pass(time.Duration(100+i*37%900) * time.Millisecond)
		}
		w.wants("a", off)
		w.pass(5 * tick)
		w.inPhase("a", down)
		at := fresh
		for _, h := range w.get("a").History {
			if h.Step == "" && (h.From != at || !edges[[2]engine.Phase{h.From, h.To}]) {
				t.Errorf("from %s: %+v", at, h)
			}
			at = h.To
		}
		if at != down {
			t.Errorf("the history ends in %s", at)
		}
	})
}
