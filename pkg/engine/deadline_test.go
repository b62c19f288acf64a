package engine_test

import (
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// A missed deadline changes neither state nor phase: a deadline that does
// overwrites the user's intent, or stops what still serves. It is reported, and
// the document goes on trying. Fails if Within does more than observe.
func TestDeadlineOnlyReports(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var looks journal
		def := things(waits(&looks))
		def.Transitions[0].Within = time.Minute
		r := w.run("r", def)
		w.pass(50 * time.Second)
		if r.seen.count("overdue") != 0 {
			t.Error("overdue before its deadline")
		}
		w.pass(5 * time.Minute)
		n := looks.count("a")
		if r.seen.count("overdue") == 0 {
			t.Error("the missed deadline was not observed")
		}
		m := w.get("a")
		if m.State != on || m.Phase != fresh || m.LastError != nil {
			t.Errorf("the document says %+v", m.Meta)
		}
		if e := def.Explain(&m.Meta, time.Now()); e.Condition != engine.IsOverdue && e.Condition != engine.IsLocked {
			t.Errorf("explained as %s: %s", e.Condition, e.Summary)
		}
		w.pass(2 * lockTimeout)
		if looks.count("a") == n {
			t.Error("it was given up")
		}
		w.wants("a", off)
		w.pass(2 * tick)
		w.inPhase("a", down)
	})
}

// The clock of a deadline is when the phase was entered: neither steps nor
// waits nor settings reset it.
func TestDeadlineCountsFromThePhase(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var looks journal
		def := things(takes("first", 0), waits(&looks))
		def.Transitions[0].Within = time.Minute
		r := w.run("r", def)
		entered := time.Time{}
		for i := range 24 {
			w.set("a", "generation", int64(i+2))
			w.pass(5 * time.Second)
			if entered.IsZero() {
				entered = w.get("a").PhaseAt
			}
		}
		if at := w.get("a").PhaseAt; !at.Equal(entered) {
			t.Errorf("the phase was entered at %s, and later at %s", entered, at)
		}
		if r.seen.count("overdue") == 0 {
			t.Error("the deadline was put off")
		}
	})
}
