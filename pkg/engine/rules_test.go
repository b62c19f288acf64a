package engine_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Rules write the unsettled pairs as few, coarse matches: phases in which
// nothing rests, states that rest nowhere, and only then pairs.
func TestRulesAreCompressed(t *testing.T) {
	d := things()
	d.Settled[0].Resync = time.Minute
	d.LockTimeout = 12 * time.Second
	want := engine.Rules{
		Kind: "Thing", LockTimeout: 12 * time.Second,
		Unsettled: []engine.Match{
			{Phase: fresh}, {Phase: leaving},
			{State: cycle}, {State: gone},
			{State: off, Phase: up}, {State: on, Phase: down},
		},
		Resync: []engine.Match{{State: on, Phase: up}},
	}
	if got := d.Rules(); !reflect.DeepEqual(got, want) {
		t.Errorf("rules %+v\nwant  %+v", got, want)
	}
}

func TestRulesDefaults(t *testing.T) {
	if got := things().Rules(); got.LockTimeout != engine.DefaultLockTimeout || got.Resync != nil {
		t.Errorf("rules %+v", got)
	}
}

// unsettled says whether the rules find work in a pair.
func unsettled(r engine.Rules, s engine.State, p engine.Phase) bool {
	return slices.ContainsFunc(r.Unsettled, func(m engine.Match) bool { return m.Matches(s, p) })
}

// A document whose state or phase nobody knows is found, so that it can be
// told of, unless it looks like a pair at which others rest.
func TestRulesOfUnknownNames(t *testing.T) {
	r := things().Rules()
	for _, c := range []struct {
		state engine.State
		phase engine.Phase
		want  bool
	}{
		{"Onn", fresh, true}, {"Onn", leaving, true}, {gone, "Lost", true}, {"Onn", up, false}, {on, "Lost", false},
	} {
		if got := unsettled(r, c.state, c.phase); got != c.want {
			t.Errorf("(%s, %s) unsettled: %t, want %t", c.state, c.phase, got, c.want)
		}
	}
}
