package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Validate checks the definition, and returns an error that names everything
// that is wrong with it: what is missing or not known, a phase that cannot be
// reached or has no way out, an intent that no transition serves, a transition
// that can never apply, and an intent that leads round in circles.
// [Service.Run] calls it.
func (d *Definition[D]) Validate() error {
	v := validation[D]{def: d}
	v.vocabulary()
	if len(v.errs) == 0 {
		v.transitions()
		v.reachability()
		v.coverage()
	}
	if len(v.errs) == 0 {
		v.destinations()
	}
	if len(v.errs) == 0 {
		return nil
	}
	return fmt.Errorf("definition of %s: %w", cmp.Or(d.Kind, "a kind without a name"), errors.Join(v.errs...))
}

type validation[D Document] struct {
	def  *Definition[D]
	errs []error
}

func (v *validation[D]) fail(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf(format, args...))
}

// vocabulary checks that every name used is declared.
func (v *validation[D]) vocabulary() {
	d := v.def
	if d.Kind == "" {
		v.fail("Kind is empty")
	}
	if len(d.States) == 0 || len(d.Phases) == 0 {
		v.fail("States and Phases must not be empty")
	}
	// An empty name would match every document in the rules.
	if slices.Contains(d.States, "") || slices.Contains(d.Phases, "") {
		v.fail("a state or phase has no name")
	}
	if slices.Contains(d.Phases, Purged) {
		v.fail("phase %s: the name is taken; it stands for the removal of the document", Purged)
	}
	if !slices.Contains(d.Phases, d.Initial) {
		v.fail("Initial phase %q is not among Phases", d.Initial)
	}
	for _, s := range d.Settled {
		if !slices.Contains(d.States, s.State) || !slices.Contains(d.Phases, s.Phase) {
			v.fail("settled pair (%s, %s): not among States and Phases", s.State, s.Phase)
		}
		if s.Resync == 0 && len(s.Steps) > 0 {
			v.fail("settled pair (%s, %s): has steps, but no Resync after which they would run", s.State, s.Phase)
		}
		v.steps(fmt.Sprintf("resync of (%s, %s)", s.State, s.Phase), s.Steps)
	}
	for i := range d.Transitions {
		v.transition(&d.Transitions[i])
	}
}

func (v *validation[D]) transition(t *Transition[D]) {
	name := t.String()
	if len(t.From) == 0 || len(t.When) == 0 {
		v.fail("transition %s: From and When must not be empty", name)
	}
	for _, p := range t.From {
		if !slices.Contains(v.def.Phases, p) {
			v.fail("transition %s: phase %q is not among Phases", name, p)
		}
	}
	for _, s := range t.When {
		if !slices.Contains(v.def.States, s) {
			v.fail("transition %s: state %q is not among States", name, s)
		}
	}
	if t.To != Purged && !slices.Contains(v.def.Phases, t.To) {
		v.fail("transition %s: phase %q is not among Phases", name, t.To)
	}
	if o := t.Completes; o != nil && (!slices.Contains(v.def.States, o.From) || !slices.Contains(v.def.States, o.To)) {
		v.fail("transition %s: completes %s -> %s, which are not among States", name, o.From, o.To)
	}
	v.steps("transition "+name, t.Steps)
}

func (v *validation[D]) steps(where string, steps []Step[D]) {
	seen := map[string]bool{}
	for _, s := range steps {
		switch {
		case s.Name == "":
			v.fail("%s: a step has no name", where)
		case s.Run == nil:
			v.fail("%s: step %q has no function", where, s.Name)
		case seen[s.Name]:
			v.fail("%s: two steps are named %q", where, s.Name)
		}
		seen[s.Name] = true
	}
}

// transitions finds transitions that can never apply.
func (v *validation[D]) transitions() {
	d := v.def
	for i := range d.Transitions {
		t, applies := &d.Transitions[i], false
		for _, p := range t.From {
			for _, s := range t.When {
				first, _ := d.transition(s, p)
				applies = applies || first == t
			}
		}
		if !applies {
			v.fail("transition %s: never applies, because earlier ones match first", t)
		}
	}
}

// reachability finds phases without a way in or out.
func (v *validation[D]) reachability() {
	reached := map[Phase]bool{v.def.Initial: true}
	for grew := true; grew; {
		grew = false
		for _, t := range v.def.Transitions {
			if t.To != Purged && !reached[t.To] && slices.ContainsFunc(t.From, func(p Phase) bool { return reached[p] }) {
				reached[t.To], grew = true, true
			}
		}
	}
	for _, p := range v.def.Phases {
		if !reached[p] {
			v.fail("phase %s cannot be reached from %s", p, v.def.Initial)
		}
		out := func(t Transition[D]) bool { return slices.Contains(t.From, p) && t.To != p }
		if !slices.ContainsFunc(v.def.Transitions, out) {
			v.fail("phase %s has no way out", p)
		}
	}
}

// coverage finds pairs of state and phase for which nothing is said.
func (v *validation[D]) coverage() {
	for _, p := range v.def.Phases {
		for _, s := range v.def.States {
			_, moves := v.def.transition(s, p)
			_, rests := v.def.settled(s, p)
			switch {
			case moves && rests:
				v.fail("state %s in phase %s is both settled and moved by a transition", s, p)
			case !moves && !rests:
				v.fail("state %s in phase %s has no transition and is not settled", s, p)
			}
		}
	}
}

// destinations checks that every intent leads somewhere: to a settled pair or
// out of the store, also by way of a one-shot intent's end.
func (v *validation[D]) destinations() {
	for _, s := range v.def.States {
		for _, p := range v.def.Phases {
			if path, circle := v.path(s, p); circle {
				v.fail("state %s goes round in circles: %s", s, strings.Join(path, " -> "))
				break
			}
		}
	}
}

// path follows a document that nobody's intent changes, up to where it rests,
// ends, or comes by for the second time.
func (v *validation[D]) path(s State, p Phase) (path []string, circle bool) {
	for been := map[[2]string]bool{}; ; {
		at := [2]string{string(s), string(p)}
		path, circle = append(path, string(p)), been[at]
		been[at] = true
		t, ok := v.def.transition(s, p)
		if circle || !ok || t.To == Purged {
			return path, circle
		}
		if t.Completes != nil && t.Completes.From == s {
			s = t.Completes.To
		}
		p = t.To
	}
}

// String names the transition as people write it: "Starting -> Started".
func (t *Transition[D]) String() string {
	from := make([]string, len(t.From))
	for i, p := range t.From {
		from[i] = string(p)
	}
	return strings.Join(from, ", ") + " -> " + string(t.To)
}
