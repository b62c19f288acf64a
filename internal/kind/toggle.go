package kind

import (
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Resync is how often settled documents are looked at again, and so the
// longest that drift which nobody hinted at lasts.
const Resync = 30 * time.Second

// Toggle describes a kind that is built while Active and dismantled while
// Inactive, any number of times, until it is Deleted:
//
//	Creating -> Created -> Deleting -> Deleted -> Creating …
//
// Up builds it. Keep, if given, is what is looked at and put right while it
// stands; Up if not. Down dismantles it.
type Toggle[D engine.Document] struct {
	Kind           resource.Kind
	Up, Keep, Down []engine.Step[D]
}

// Definition is the toggle's lifecycle.
func (t Toggle[D]) Definition() *engine.Definition[D] {
	keep := t.Keep
	if keep == nil {
		keep = t.Up
	}
	var (
		active, inactive, deleted = resource.Active, resource.Inactive, resource.Deleted
		every                     = []engine.State{active, inactive, deleted}
	)
	return &engine.Definition[D]{
		Kind:    string(t.Kind),
		Initial: resource.PhaseCreating,
		States:  every,
		Phases: []engine.Phase{
			resource.PhaseCreating, resource.PhaseCreated, resource.PhaseDeleting, resource.PhaseDeleted,
		},
		Settled: []engine.Settled[D]{
			{State: active, Phase: resource.PhaseCreated, Resync: Resync, Steps: keep},
			{State: inactive, Phase: resource.PhaseDeleted},
		},
		Transitions: []engine.Transition[D]{
			{From: phases(resource.PhaseCreating), When: states(active), To: resource.PhaseCreated, Steps: t.Up, Within: 5 * time.Minute},
			{From: phases(resource.PhaseCreating, resource.PhaseCreated), When: states(inactive, deleted), To: resource.PhaseDeleting},
			{From: phases(resource.PhaseDeleting), When: every, To: resource.PhaseDeleted, Steps: t.Down, Within: 5 * time.Minute},
			{From: phases(resource.PhaseDeleted), When: states(active), To: resource.PhaseCreating},
			{From: phases(resource.PhaseDeleted), When: states(deleted), To: engine.Purged},
		},
	}
}

func phases(p ...engine.Phase) []engine.Phase { return p }
func states(s ...engine.State) []engine.State { return s }
