// Package cloudfunction is the kind of a gateway's code. A function drives
// nothing by itself: what a Stage publishes is a copy. It has a task service
// all the same, because users delete functions one by one.
package cloudfunction

import (
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Definition is the lifecycle of a CloudFunction.
func Definition() *engine.Definition[*resource.CloudFunction] {
	var (
		active   = []engine.State{resource.Active}
		deleted  = []engine.State{resource.Deleted}
		anyState = []engine.State{resource.Active, resource.Deleted}
	)
	phases := func(p ...engine.Phase) []engine.Phase { return p }
	return &engine.Definition[*resource.CloudFunction]{
		Kind:    string(resource.KindCloudFunction),
		Initial: resource.PhaseCreating,
		States:  anyState,
		Phases:  phases(resource.PhaseCreating, resource.PhaseCreated, resource.PhaseDeleting, resource.PhaseDeleted),
		Settled: []engine.Settled[*resource.CloudFunction]{{State: resource.Active, Phase: resource.PhaseCreated}},
		Transitions: []engine.Transition[*resource.CloudFunction]{
			{From: phases(resource.PhaseCreating), When: active, To: resource.PhaseCreated},
			{From: phases(resource.PhaseCreating, resource.PhaseCreated), When: deleted, To: resource.PhaseDeleting},
			{From: phases(resource.PhaseDeleting), When: anyState, To: resource.PhaseDeleted},
			{From: phases(resource.PhaseDeleted), When: anyState, To: engine.Purged},
		},
	}
}
