package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// anyDefinition draws a definition that need make no sense: names that are not
// declared, empty lists, steps without functions.
func anyDefinition(t *rapid.T) *definition {
	states := rapid.SampledFrom([]engine.State{"A", "B", "C", "D", ""})
	phases := rapid.SampledFrom([]engine.Phase{"P", "Q", "R", "S", "", engine.Purged})
	d := &definition{
		Kind:    rapid.SampledFrom([]string{"", "K"}).Draw(t, "kind"),
		Initial: phases.Draw(t, "initial"),
		States:  rapid.SliceOfNDistinct(states, 0, 4, rapid.ID).Draw(t, "states"),
		Phases:  rapid.SliceOfNDistinct(phases, 0, 5, rapid.ID).Draw(t, "phases"),
	}
	for range rapid.IntRange(0, 5).Draw(t, "settled") {
		d.Settled = append(d.Settled, settled{
			State: states.Draw(t, "state"), Phase: phases.Draw(t, "phase"),
			Resync: time.Duration(rapid.IntRange(0, 1).Draw(t, "resync")) * time.Minute,
		})
	}
	for range rapid.IntRange(0, 6).Draw(t, "transitions") {
		tr := transition{
			From: rapid.SliceOfN(phases, 0, 4).Draw(t, "from"), When: rapid.SliceOfN(states, 0, 4).Draw(t, "when"),
			To: phases.Draw(t, "to"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "steps") {
			s := step{Name: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "step")}
			if rapid.Bool().Draw(t, "runs") {
				s.Run = func(context.Context, *thing) (engine.Outcome, error) { return engine.Done(), nil }
			}
			tr.Steps = append(tr.Steps, s)
		}
		if rapid.Bool().Draw(t, "completes") {
			tr.Completes = &engine.OneShot{From: states.Draw(t, "one"), To: states.Draw(t, "shot")}
		}
		d.Transitions = append(d.Transitions, tr)
	}
	return d
}

// Whatever a definition says, it is refused or accepted, and never panics;
// nor does what is made of it.
func TestAnyDefinitionIsJudged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDefinition(t)
		_ = d.Validate()
		_ = d.Rules()
		_ = d.Diagram()
		m := engine.Meta{State: "A", Phase: "P", WaitingFor: rapid.SampledFrom([]string{"", "x"}).Draw(t, "waiting")}
		if e := d.Explain(&m, time.Now()); e.Summary == "" || e.Condition == "" {
			t.Fatalf("nothing is explained: %+v", e)
		}
	})
}

// Rules match exactly the declared pairs that are not settled, whatever the
// definition.
func TestRulesMatchTheUnsettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDefinition(t)
		if slices.Contains(d.States, "") || slices.Contains(d.Phases, "") {
			return // no names: Validate refuses them
		}
		rests := map[[2]string]bool{}
		for _, s := range d.Settled {
			rests[[2]string{string(s.State), string(s.Phase)}] = true
		}
		rules := d.Rules()
		for _, s := range d.States {
			for _, p := range d.Phases {
				if got, want := unsettled(rules, s, p), !rests[[2]string{string(s), string(p)}]; got != want {
					t.Fatalf("(%s, %s) is unsettled: %t, want %t, by %+v", s, p, got, want, rules)
				}
			}
		}
	})
}

// completeDefinition draws a definition in which every pair is settled or
// moved: that is right but for circles and phases without a way in or out.
func completeDefinition(t *rapid.T) *definition {
	d := &definition{Kind: "K", Initial: "P", States: []engine.State{"A", "B"}, Phases: []engine.Phase{"P", "Q", "R"}}
	for _, s := range d.States {
		for _, p := range d.Phases {
			to := rapid.SampledFrom([]engine.Phase{"", "P", "Q", "R", engine.Purged}).Draw(t, "to")
			if to == "" {
				d.Settled = append(d.Settled, settled{State: s, Phase: p})
				continue
			}
			tr := transition{From: []engine.Phase{p}, When: []engine.State{s}, To: to}
			if rapid.IntRange(0, 3).Draw(t, "completes") == 0 {
				tr.Completes = &engine.OneShot{From: s, To: rapid.SampledFrom(d.States).Draw(t, "becomes")}
			}
			d.Transitions = append(d.Transitions, tr)
		}
	}
	return d
}

// In a definition that is accepted, every intent leads somewhere: from every
// phase, a fixed state ends at a settled pair, or the document does.
func TestAcceptedDefinitionsEnd(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		d := completeDefinition(t)
		if d.Validate() != nil {
			return
		}
		accepted++
		for _, s := range d.States {
			for _, p := range d.Phases {
				ends(t, d, engine.Meta{State: s, Phase: p})
			}
		}
	})
	if accepted == 0 {
		t.Error("no definition was accepted: nothing was tested")
	}
}

// ends follows a document by the definition alone.
func ends(t *rapid.T, d *definition, m engine.Meta) {
	began := m
	for range 10 * len(d.Phases) * len(d.States) {
		e := d.Explain(&m, time.Now())
		if e.Condition == engine.IsSettled {
			return
		}
		i := slices.IndexFunc(d.Transitions, func(tr transition) bool {
			return slices.Contains(tr.From, m.Phase) && slices.Contains(tr.When, m.State)
		})
		if e.Condition != engine.IsMoving || i < 0 {
			t.Fatalf("(%s, %s) is %s: %s", m.State, m.Phase, e.Condition, e.Summary)
		}
		tr := d.Transitions[i]
		if tr.To == engine.Purged {
			return
		}
		if m.Phase = tr.To; tr.Completes != nil && tr.Completes.From == m.State {
			m.State = tr.Completes.To
		}
	}
	t.Fatalf("(%s, %s) never ends", began.State, began.Phase)
}
