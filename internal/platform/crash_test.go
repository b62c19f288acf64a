package platform_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// act is one intent, and the steps that fulfil it.
type act struct {
	name  string
	state engine.State // asked for; none for the creation
	wants engine.State // reached
	phase engine.Phase
	steps []point
	moves []string
}

func gatewaySteps(phase engine.Phase, names ...string) (all []point) {
	for _, name := range names {
		all = append(all, point{resource.KindApiGateway, phase, name})
	}
	return all
}

func domainSteps(phase engine.Phase, names ...string) (all []point) {
	for _, name := range names {
		all = append(all, point{resource.KindRuntimeDomain, phase, name})
	}
	return all
}

func stageSteps(phase engine.Phase, names ...string) (all []point) {
	for _, name := range names {
		all = append(all, point{resource.KindStage, phase, name})
	}
	return all
}

// acts are a gateway's life. Beside its own steps there are those of its
// children, which it waits for.
var acts = []act{
	{
		name: "create and start", wants: resource.Running, phase: resource.PhaseStarted,
		steps: slices.Concat(
			gatewaySteps(resource.PhaseCreating, steps[resource.PhaseCreating]...),
			gatewaySteps(resource.PhaseStarting, steps[resource.PhaseStarting]...),
			domainSteps(resource.PhaseCreating, "plugin config", "tls", "routes"),
			stageSteps(resource.PhaseCreating, "functions", "routes")),
		moves: []string{"Creating -> Created", "Created -> Starting", "Starting -> Started"},
	},
	{
		name: "stop", state: resource.Stopped, wants: resource.Stopped, phase: resource.PhaseStopped,
		steps: slices.Concat(
			gatewaySteps(resource.PhaseStopping, steps[resource.PhaseStopping]...),
			domainSteps(resource.PhaseDeleting, "routes", "custom domain", "tls", "plugin config"),
			stageSteps(resource.PhaseDeleting, "routes", "functions")),
		moves: []string{"Started -> Stopping", "Stopping -> Stopped"},
	},
	{
		name: "start again", state: resource.Running, wants: resource.Running, phase: resource.PhaseStarted,
		steps: slices.Concat(
			gatewaySteps(resource.PhaseStarting, steps[resource.PhaseStarting]...),
			domainSteps(resource.PhaseCreating, "plugin config", "tls", "routes"),
			stageSteps(resource.PhaseCreating, "functions", "routes")),
		moves: []string{"Stopped -> Starting", "Starting -> Started"},
	},
	{
		name: "restart", state: resource.Restarting, wants: resource.Running, phase: resource.PhaseStarted,
		steps: slices.Concat(
			gatewaySteps(resource.PhaseStarted, "new revision"),
			gatewaySteps(resource.PhaseStarting, steps[resource.PhaseStarting]...)),
		moves: []string{"Started -> Starting", "Starting -> Started"},
	},
	{
		name: "delete", state: resource.Deleted,
		steps: slices.Concat(
			gatewaySteps(resource.PhaseDeleting, "cron triggers", "cloud functions", "client apps", "stages", "runtime domain",
				"instance", "database", "environments", "config map", "namespace", "nothing left"),
			domainSteps(resource.PhaseDeleting, "routes", "custom domain", "tls", "plugin config"),
			stageSteps(resource.PhaseDeleting, "routes", "functions"),
			[]point{{resource.KindClientApp, resource.PhaseDeleting, "consumer"}}),
	},
}

// A crash at every step of a gateway's life. A replica takes the gateways
// through an act, in which each is given up at several of its steps: the step
// has run, and nothing that should be written after it ever is. Then the whole
// replica goes down, and another finishes. After each act everything is there
// once, and in the end nothing is left.
//
// With steps that do not look before they act this fails (EnsureUser without
// its look; an insert of a child that takes "exists already" for an error): seen.
// So it does if a claim that was not ended is never taken again (a claimable
// rule without lockTimeout): seen.
func TestCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second
	w := newWorld(t)
	ids := make([]string, 6)
	for i := range ids {
		ids[i] = w.gateway(initially(resource.Stopped))
	}
	start := func(n int) (*replica, *breakpoints) {
		crashes := newBreakpoints()
		return w.replica(fmt.Sprintf("replica-%d", n), withLockTimeout(timeout), withWorkers(16), withAround(crashes.around(
			func(ctx context.Context, run func(context.Context) (engine.Outcome, error)) (engine.Outcome, error) {
				_, _ = run(ctx)
				return engine.Outcome{}, engine.ErrLockLost // which the engine takes for "write nothing more"
			}))), crashes
	}
	r, crashes := start(0)
	var history []string
	for n, a := range acts {
		for i, p := range a.steps {
			crashes.at(ids[i%len(ids)], p)
		}
		r.set(cmp.Or(a.state, a.wants), ids...)
		await(t, a.name+": a crash at every step", crashes.missing)
		r.crash()

		r, crashes = start(n + 1)
		if a.phase == "" {
			w.gone(ids...)
			return
		}
		w.reaches(a.wants, a.phase, ids...)
		if n == 0 {
			w.furnish(ids...)
		}
		if a.phase == resource.PhaseStarted {
			w.furnished(r, ids...)
			w.hasExactly(wholeObjects, ids...)
		} else {
			w.hasExactly(stoppedObjects, ids...)
		}
		w.hasOneOfEach(ids...)
		history = append(history, a.moves...)
		for _, id := range ids {
			if got := w.moves(id); !slices.Equal(got, history) {
				t.Errorf("%s: gateway %s made the moves %q, want %q", a.name, id, got, history)
			}
		}
	}
}
