package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Every mistake in a definition has a message that names it. Each row makes
// one mistake in a definition that is right.
func TestValidateNamesTheMistake(t *testing.T) {
	ok := func(context.Context, *thing) (engine.Outcome, error) { return engine.Done(), nil }
	for want, spoil := range map[string]func(d *definition){
		"definition of a kind without a name: Kind is empty": func(d *definition) { d.Kind = "" },
		"States and Phases must not be empty":                func(d *definition) { d.States = nil },
		"a state or phase has no name":                       func(d *definition) { d.States = append(d.States, "") },
		"phase Purged: the name is taken; it stands for the removal of the document": func(d *definition) {
			d.Phases = append(d.Phases, engine.Purged)
		},
		`Initial phase "Begun" is not among Phases`: func(d *definition) { d.Initial = "Begun" },
		"settled pair (Onn, Up): not among States and Phases": func(d *definition) {
			d.Settled[0].State = "Onn"
		},
		"settled pair (Off, Dwn): not among States and Phases": func(d *definition) {
			d.Settled[1].Phase = "Dwn"
		},
		"settled pair (On, Up): has steps, but no Resync after which they would run": func(d *definition) {
			d.Settled[0].Steps = []step{{Name: "look", Run: ok}}
		},
		`resync of (On, Up): step "look" has no function`: func(d *definition) {
			d.Settled[0].Resync, d.Settled[0].Steps = time.Minute, []step{{Name: "look"}}
		},
		"transition  -> Down: From and When must not be empty":     func(d *definition) { d.Transitions[1].From = nil },
		"transition Fresh, Up -> Down: From and When must not":     func(d *definition) { d.Transitions[1].When = nil },
		`transition Fersh -> Down: phase "Fersh" is not among`:     func(d *definition) { d.Transitions[1].From = []engine.Phase{"Fersh"} },
		`transition Fresh, Up -> Down: state "Of" is not among`:    func(d *definition) { d.Transitions[1].When = []engine.State{"Of"} },
		`transition Fresh, Up -> Dwn: phase "Dwn" is not among`:    func(d *definition) { d.Transitions[1].To = "Dwn" },
		"completes Cycle -> Onn, which are not among States":       func(d *definition) { d.Transitions[0].Completes.To = "Onn" },
		"transition Fresh, Down -> Up: a step has no name":         func(d *definition) { d.Transitions[0].Steps[0].Name = "" },
		`transition Fresh, Down -> Up: step "two" has no function`: func(d *definition) { d.Transitions[0].Steps[1].Run = nil },
		`transition Fresh, Down -> Up: two steps are named "one"`:  func(d *definition) { d.Transitions[0].Steps[1].Name = "one" },
		"transition Fresh, Up -> Leaving: never applies, because earlier ones match first": func(d *definition) {
			d.Transitions = append(d.Transitions,
				transition{From: []engine.Phase{fresh, up}, When: []engine.State{off}, To: leaving})
		},
		"phase Lost cannot be reached from Fresh": func(d *definition) { d.Phases = append(d.Phases, "Lost") },
		"phase Leaving has no way out":            func(d *definition) { d.Transitions[4].To = leaving },
		"state On in phase Up is both settled and moved by a transition": func(d *definition) {
			d.Transitions[1].When = append(d.Transitions[1].When, on)
		},
		"state Off in phase Down has no transition and is not settled": func(d *definition) { d.Settled = d.Settled[:1] },
		"state Cycle goes round in circles: Fresh -> Up -> Down -> Up": func(d *definition) {
			d.Transitions[0].Completes = nil
		},
		"state Off goes round in circles: Fresh -> Down -> Up -> Down": func(d *definition) {
			d.Transitions[0].Completes.To = off
			d.Transitions[1].Completes = &engine.OneShot{From: off, To: cycle}
		},
	} {
		t.Run(want, func(t *testing.T) {
			d := things(step{Name: "one", Run: ok}, step{Name: "two", Run: ok})
			if err := d.Validate(); err != nil {
				t.Fatalf("before it is spoilt: %v", err)
			}
			spoil(d)
			err := d.Validate()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// All that is wrong is said at once.
func TestValidateTellsEverything(t *testing.T) {
	d := things()
	d.Kind, d.Initial = "", "Begun"
	d.Transitions[1].To = "Dwn"
	err := d.Validate()
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("error %v, want three lines", err)
	}
}
