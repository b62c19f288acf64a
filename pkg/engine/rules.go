package engine

import "slices"

// Rules derives from the definition which documents can be claimed.
//
// Unsettled pairs are written as few, coarse matches: a phase in which every
// state has work to do becomes one match on the phase, a state that is never
// settled one match on the state. Each match is served by an index of its own,
// so few matches keep both the indexes and the query small.
func (d *Definition[D]) Rules() Rules {
	rules := Rules{Kind: d.Kind, LockTimeout: d.lockTimeout()}
	rest := func(state State, phase Phase) bool { _, ok := d.settled(state, phase); return ok }

	for _, phase := range d.Phases {
		if !slices.ContainsFunc(d.States, func(s State) bool { return rest(s, phase) }) {
			rules.Unsettled = append(rules.Unsettled, Match{Phase: phase})
		}
	}
	for _, state := range d.States {
		if !slices.ContainsFunc(d.Phases, func(p Phase) bool { return rest(state, p) }) {
			rules.Unsettled = append(rules.Unsettled, Match{State: state})
		}
	}
	for _, phase := range d.Phases {
		for _, state := range d.States {
			covered := slices.ContainsFunc(rules.Unsettled, func(m Match) bool { return m.Matches(state, phase) })
			if !covered && !rest(state, phase) {
				rules.Unsettled = append(rules.Unsettled, Match{State: state, Phase: phase})
			}
		}
	}
	for _, s := range d.Settled {
		if s.Resync > 0 {
			rules.Resync = append(rules.Resync, Match{State: s.State, Phase: s.Phase})
		}
	}
	return rules
}
