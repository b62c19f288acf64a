package api_test

import (
	"time"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

var allPhases = []engine.Phase{
	resource.PhaseCreating, resource.PhaseCreated, resource.PhaseStarting, resource.PhaseStarted,
	resource.PhaseStopping, resource.PhaseStopped, resource.PhaseDeleting, resource.PhaseDeleted,
}

// explainers are those of definitions like the kinds' own, which the API does
// not know: it is given their explanations.
func explainers() map[resource.Kind]api.Explainer {
	gateway := &engine.Definition[*resource.ApiGateway]{
		Kind: "ApiGateway", Initial: resource.PhaseCreating, States: resource.States(resource.KindApiGateway), Phases: allPhases,
		Settled: []engine.Settled[*resource.ApiGateway]{
			{State: resource.Running, Phase: resource.PhaseStarted, Resync: time.Minute},
			{State: resource.Stopped, Phase: resource.PhaseStopped},
			{State: resource.Stopped, Phase: resource.PhaseCreated},
		},
		Transitions: []engine.Transition[*resource.ApiGateway]{
			edge[*resource.ApiGateway](resource.PhaseDeleting, allPhases[:6], resource.Deleted),
			edge[*resource.ApiGateway](resource.PhaseDeleted, []engine.Phase{resource.PhaseDeleting}, resource.Running, resource.Stopped, resource.Deleted),
			edge[*resource.ApiGateway](resource.PhaseCreated, []engine.Phase{resource.PhaseCreating}, resource.Running, resource.Stopped),
			edge[*resource.ApiGateway](resource.PhaseStarting, []engine.Phase{resource.PhaseCreated, resource.PhaseStopped}, resource.Running),
			edge[*resource.ApiGateway](resource.PhaseStarted, []engine.Phase{resource.PhaseStarting}, resource.Running, resource.Restarting),
			edge[*resource.ApiGateway](resource.PhaseStopping, []engine.Phase{resource.PhaseStarted}, resource.Stopped),
			edge[*resource.ApiGateway](resource.PhaseStopped, []engine.Phase{resource.PhaseStopping}, resource.Stopped),
		},
	}
	out := map[resource.Kind]api.Explainer{resource.KindApiGateway: gateway.Explain}
	for _, kind := range []resource.Kind{
		resource.KindRuntimeDomain, resource.KindClientApp, resource.KindCloudFunction, resource.KindStage, resource.KindCronTrigger,
	} {
		out[kind] = child(kind).Explain
	}
	return out
}

func child(kind resource.Kind) *engine.Definition[*resource.Header] {
	phases := []engine.Phase{resource.PhaseCreating, resource.PhaseCreated, resource.PhaseDeleting, resource.PhaseDeleted}
	return &engine.Definition[*resource.Header]{
		Kind: string(kind), Initial: resource.PhaseCreating, States: resource.States(kind), Phases: phases,
		Settled: []engine.Settled[*resource.Header]{
			{State: resource.Active, Phase: resource.PhaseCreated}, {State: resource.Inactive, Phase: resource.PhaseDeleted},
		},
		Transitions: []engine.Transition[*resource.Header]{
			edge[*resource.Header](resource.PhaseCreated, phases[:1], resource.Active),
			edge[*resource.Header](resource.PhaseDeleting, phases[:2], resource.Inactive, resource.Deleted),
			edge[*resource.Header](resource.PhaseDeleted, phases[2:3], resource.Active, resource.Inactive, resource.Deleted),
			edge[*resource.Header](engine.Purged, phases[3:], resource.Deleted),
			edge[*resource.Header](resource.PhaseCreating, phases[3:], resource.Active),
		},
	}
}

func edge[D engine.Document](to engine.Phase, from []engine.Phase, when ...engine.State) engine.Transition[D] {
	return engine.Transition[D]{From: from, When: when, To: to, Steps: []engine.Step[D]{{Name: "to " + string(to)}}}
}
