package apigateway

import (
	"time"

	"github.com/lockstep-io/lockstep/internal/kind"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Definition is the lifecycle of an ApiGateway and its instance.
func Definition(s *Steps) *engine.Definition[*resource.ApiGateway] {
	const (
		running, stopped, restarting, deleted = resource.Running, resource.Stopped, resource.Restarting, resource.Deleted

		creating, created   = resource.PhaseCreating, resource.PhaseCreated
		starting, started   = resource.PhaseStarting, resource.PhaseStarted
		stopping, isStopped = resource.PhaseStopping, resource.PhaseStopped
		deleting, isDeleted = resource.PhaseDeleting, resource.PhaseDeleted
	)
	var (
		alive    = states(running, stopped, restarting)
		anyState = states(running, stopped, restarting, deleted)
	)
	return &engine.Definition[*resource.ApiGateway]{
		Kind:    string(resource.KindApiGateway),
		Initial: creating,
		States:  anyState,
		Phases:  phases(creating, created, starting, started, stopping, isStopped, deleting, isDeleted),

		Settled: []engine.Settled[*resource.ApiGateway]{
			{State: running, Phase: started, Resync: kind.Resync, Steps: s.start()},
			{State: stopped, Phase: isStopped, Resync: kind.Resync, Steps: s.stop()},
			{State: stopped, Phase: created},
		},

		Transitions: []engine.Transition[*resource.ApiGateway]{
			// A user can leave every phase by deleting, and none of what
			// follows is waited for.
			{From: phases(creating, created, starting, started, stopping, isStopped), When: states(deleted), To: deleting},

			{From: phases(creating), When: alive, To: created, Steps: s.create(), Within: 5 * time.Minute},

			{From: phases(created, isStopped), When: states(running, restarting), To: starting},
			{From: phases(started), When: states(restarting), To: starting, Steps: s.restart()},
			{
				From: phases(starting), When: states(running, restarting), To: started,
				Steps: s.start(), Within: 10 * time.Minute,
				Completes: &engine.OneShot{From: restarting, To: running},
			},

			{From: phases(starting, started), When: states(stopped), To: stopping},
			{From: phases(stopping), When: alive, To: isStopped, Steps: s.stop(), Within: 5 * time.Minute},

			{From: phases(deleting), When: anyState, To: isDeleted, Steps: s.delete(), Within: 10 * time.Minute},
			{From: phases(isDeleted), When: anyState, To: engine.Purged},
		},
	}
}

// stepDatabase is named by what follows from it.
const stepDatabase = "database"

type step = engine.Step[*resource.ApiGateway]

func (s *Steps) create() []step {
	return []step{
		{Name: "namespace", Run: s.ensureNamespace},
		{Name: "database", Run: s.ensureDatabase},
		{Name: "environments", Run: s.ensureEnvironments},
		{Name: "config map", Run: s.ensureConfigMap},
		{Name: "runtime domain", Run: s.ensureRuntimeDomain},
		{Name: "stages", Run: s.ensureStages},
	}
}

// start makes the domain and the stages again if they are lost, as they may be
// of a gateway whose own document was.
func (s *Steps) start() []step {
	return []step{
		{Name: "config map", Run: s.ensureConfigMap},
		{Name: "instance", Run: s.ensureInstance},
		{Name: "pods ready", Run: s.podsReady},
		{Name: "runtime domain", Run: s.ensureRuntimeDomain},
		{Name: "stages", Run: s.ensureStages},
		{Name: "cron triggers", Run: s.turn(resource.KindCronTrigger, resource.Active)},
	}
}

func (s *Steps) restart() []step {
	return []step{{Name: "new revision", Run: s.newRevision}}
}

// stop takes traffic away first, then the pods.
func (s *Steps) stop() []step {
	return []step{
		{Name: "cron triggers", Run: s.turn(resource.KindCronTrigger, resource.Inactive)},
		{Name: "stages", Run: s.turn(resource.KindStage, resource.Inactive)},
		{Name: "runtime domain", Run: s.turn(resource.KindRuntimeDomain, resource.Inactive)},
		{Name: "instance", Run: s.removeInstance},
	}
}

// delete takes traffic away first, then the pods, then the data. The instance
// is never removed while a domain leads to it, nor the database while pods use
// it.
func (s *Steps) delete() []step {
	return []step{
		{Name: "cron triggers", Run: s.drain(resource.KindCronTrigger)},
		{Name: "cloud functions", Run: s.drain(resource.KindCloudFunction)},
		{Name: "client apps", Run: s.drain(resource.KindClientApp)},
		{Name: "stages", Run: s.drain(resource.KindStage)},
		{Name: "runtime domain", Run: s.drain(resource.KindRuntimeDomain)},
		{Name: "instance", Run: s.removeInstance},
		{Name: stepDatabase, Run: s.removeDatabase},
		{Name: "environments", Run: s.removeEnvironments},
		{Name: "config map", Run: s.removeConfigMap},
		{Name: "namespace", Run: s.removeNamespace},
		{Name: "nothing left", Run: s.nothingLeft},
	}
}

func phases(p ...engine.Phase) []engine.Phase { return p }
func states(s ...engine.State) []engine.State { return s }
