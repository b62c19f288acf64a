package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

var noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)

// explained is a kind whose documents can be in every condition.
func explained() *definition {
	d := things(takes("rent a place", 0), takes("move in", 0))
	d.Transitions[0].Within = 10 * time.Minute
	d.Settled[0].Resync = 5 * time.Minute
	return d
}

// moving is a thing on its way up that was last written a minute ago.
func moving(change func(m *engine.Meta)) engine.Meta {
	m := engine.Meta{
		ID: "a", State: on, Generation: 1, Phase: fresh, PhaseAt: noon.Add(-3 * time.Minute),
		ObservedState: on, ObservedGeneration: 1, LockedAt: engine.Epoch, UpdatedAt: noon.Add(-time.Minute),
	}
	change(&m)
	return m
}

var explanations = []struct {
	name      string
	condition engine.Condition
	nextIn    time.Duration // -1: never
	meta      engine.Meta
}{
	{"settled for good", engine.IsSettled, -1, moving(func(m *engine.Meta) {
		m.State, m.ObservedState, m.Phase = off, off, down
	})},
	{"settled, resynced", engine.IsSettled, 90 * time.Second, moving(func(m *engine.Meta) {
		m.Phase, m.ResyncAt = up, noon.Add(90*time.Second)
	})},
	{"new", engine.IsMoving, 0, moving(func(*engine.Meta) {})},
	{"locked", engine.IsLocked, 18 * time.Second, moving(func(m *engine.Meta) {
		m.LockedAt, m.LockedBy, m.Step = noon.Add(-12*time.Second), "replica-2", "move in"
	})},
	{"lock of a dead replica", engine.IsMoving, 0, moving(func(m *engine.Meta) {
		m.LockedAt, m.LockedBy, m.Step = noon.Add(-40*time.Second), "replica-2", "move in"
	})},
	{"waiting", engine.IsWaiting, 6 * time.Second, moving(func(m *engine.Meta) {
		m.Step, m.WaitingFor, m.WaitingSince = "move in", "2 boxes left", noon.Add(-time.Minute)
		m.LockedAt = noon.Add(6*time.Second - lockTimeout)
	})},
	{"waiting, due", engine.IsWaiting, 0, moving(func(m *engine.Meta) {
		m.Step, m.WaitingFor, m.WaitingSince = "move in", "2 boxes left", noon.Add(-time.Minute)
		m.LockedAt = noon.Add(-lockTimeout - time.Second)
	})},
	{"waiting, intent changed", engine.IsMoving, 0, moving(func(m *engine.Meta) {
		m.State, m.Step, m.WaitingFor, m.WaitingSince = gone, "move in", "2 boxes left", noon.Add(-time.Minute)
		m.LockedAt = noon.Add(20*time.Second - lockTimeout)
	})},
	{"backing off", engine.IsBacking, 44 * time.Second, moving(func(m *engine.Meta) {
		m.Step, m.Attempts = "rent a place", 7
		m.LastError = &engine.LastError{Step: "rent a place", Message: "landlord: 503 Service Unavailable", At: noon}
		m.LockedAt = noon.Add(44*time.Second - lockTimeout)
	})},
	{"failed", engine.IsFailed, -1, moving(func(m *engine.Meta) {
		m.Step, m.Attempts, m.LockedAt = "rent a place", 1, engine.Never
		m.LastError = &engine.LastError{Step: "rent a place", Message: "no such street", At: noon, Terminal: true}
	})},
	{"failed, intent changed", engine.IsMoving, 0, moving(func(m *engine.Meta) {
		m.State, m.Step, m.Attempts, m.LockedAt = gone, "rent a place", 1, engine.Never
		m.LastError = &engine.LastError{Step: "rent a place", Message: "no such street", At: noon, Terminal: true}
	})},
	{"overdue", engine.IsOverdue, 30 * time.Second, moving(func(m *engine.Meta) {
		m.PhaseAt = noon.Add(-14*time.Minute - 10*time.Second)
		m.Step, m.WaitingFor, m.WaitingSince = "move in", "the keys", noon.Add(-14*time.Minute)
		m.LockedAt = noon
	})},
	{"settled, drifted", engine.IsWaiting, 3 * time.Second, moving(func(m *engine.Meta) {
		m.Phase, m.Step, m.WaitingFor, m.WaitingSince = up, "look", "the roof", noon.Add(-30*time.Second)
		m.LockedAt = noon.Add(3*time.Second - lockTimeout)
	})},
	{"settled for good, left in the middle of another intent", engine.IsSettled, -1, moving(func(m *engine.Meta) {
		m.State, m.Phase, m.Step, m.WaitingFor, m.WaitingSince = off, down, "move in", "2 boxes left", noon.Add(-time.Minute)
	})},
	{"resync failed for good, settings changed", engine.IsMoving, 0, moving(func(m *engine.Meta) {
		m.Phase, m.Step, m.Attempts, m.LockedAt, m.Generation = up, "look", 1, engine.Never, 2
		m.LastError = &engine.LastError{Step: "look", Message: "no such house", At: noon, Terminal: true}
	})},
	{"state of no such kind", engine.IsUnhandled, -1, moving(func(m *engine.Meta) { m.State, m.Phase = "Onn", up })},
	{"phase of no such kind", engine.IsUnhandled, -1, moving(func(m *engine.Meta) { m.Phase = "Upp" })},
}

// Every condition is told, with when it will end; an intent that was changed
// ends it at the next tick.
func TestExplain(t *testing.T) {
	var all strings.Builder
	for _, c := range explanations {
		e := explained().Explain(&c.meta, noon)
		fmt.Fprintf(&all, "%s (%s):\n    %s\n", c.name, e.Condition, e.Summary)
		if e.Condition != c.condition {
			t.Errorf("%s is %s, want %s", c.name, e.Condition, c.condition)
		}
		switch {
		case c.nextIn < 0 && !e.NextAt.IsZero():
			t.Errorf("%s is next looked at %s, want never", c.name, e.NextAt)
		case c.nextIn == 0 && e.NextAt.After(noon):
			t.Errorf("%s is next looked at in %s, want now", c.name, e.NextAt.Sub(noon))
		case c.nextIn > 0 && !e.NextAt.Equal(noon.Add(c.nextIn)):
			t.Errorf("%s is next looked at in %s, want %s", c.name, e.NextAt.Sub(noon), c.nextIn)
		}
		if s := e.Summary; !strings.HasSuffix(s, ".") || strings.Contains(s, "%!") || strings.Contains(s, "  ") ||
			strings.Contains(s, `""`) || strings.Contains(s, "-") && !strings.ContainsAny(s, ">2") {
			t.Errorf("%s reads badly: %s", c.name, s)
		}
	}
	golden(t, "explain.txt", all.String())
}

// What moves the document next is named, with its steps and its deadline.
func TestExplainWhatMovesIt(t *testing.T) {
	m := moving(func(m *engine.Meta) { m.Step = "move in" })
	e := explained().Explain(&m, noon)
	if e.ID != "a" || e.Kind != "Thing" || e.Step != "move in" || len(e.Steps) != 2 ||
		e.Transition != "Fresh -> Up" || !e.Deadline.Equal(m.PhaseAt.Add(10*time.Minute)) {
		t.Errorf("explained as %+v", e)
	}
	m.Step = ""
	if e = explained().Explain(&m, noon); e.Step != "rent a place" {
		t.Errorf("at step %q, want the first", e.Step)
	}
	m.State, m.Step = gone, "move in"
	if e = explained().Explain(&m, noon); e.Step != "" || e.Transition != "Fresh -> Leaving" {
		t.Errorf("%s at step %q, want none: the step is another transition's", e.Transition, e.Step)
	}
}

// What is said is what happens: a document explained as due within d is
// claimed by then, and one that will not move does not.
func TestExplanationsComeTrue(t *testing.T) {
	for _, c := range explanations {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				time.Sleep(time.Until(noon))
				w.add(&thing{Meta: c.meta})
				e := explained().Explain(&c.meta, noon)
				w.run("r", explained())
				due := min(max(0, e.NextAt.Sub(noon)), time.Hour)
				if due > 0 {
					w.pass(due)
					if w.get("a").LockToken != 0 {
						t.Errorf("claimed earlier than told: %s", e.Summary)
					}
				}
				w.pass(2 * tick)
				claimed := !w.exists("a") || w.get("a").LockToken != 0
				if claimed == e.NextAt.IsZero() && c.name != "phase of no such kind" {
					t.Errorf("claimed: %t. Explained: %s", claimed, e.Summary)
				}
			})
		})
	}
}
