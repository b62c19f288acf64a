package platform_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// A gateway's whole life, with one of everything beneath it and a custom
// domain, by two replicas: what exists at each rest is what should, and nothing
// more, and in the end nothing.
func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.issuer()
	r := w.replica("r1")
	w.replica("r2")

	id := w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, id)
	w.furnish(id)
	w.furnished(r, id)
	w.hasExactly(wholeObjects, id)
	w.hasOneOfEach(id)
	w.isSeen(id)

	domain := "shop-" + id + ".example.org"
	w.bind(r, id, domain)
	w.serves(id, domain)
	bound := func(id string) []string {
		objects := append(wholeObjects(id),
			"ApisixRoute "+resource.CustomDomainName(id), "ApisixTls "+resource.CustomTLSName(id),
			"Certificate "+resource.CustomDomainName(id), "Secret "+resource.CustomTLSName(id))
		slices.Sort(objects)
		return objects
	}
	w.hasExactly(bound, id)

	r.set(resource.Stopped, id)
	w.reaches(resource.Stopped, resource.PhaseStopped, id)
	w.hasExactly(stoppedObjects, id)

	r.set(resource.Running, id)
	w.reaches(resource.Running, resource.PhaseStarted, id)
	w.serves(id, domain)
	w.hasExactly(bound, id)

	r.set(resource.Restarting, id)
	w.reaches(resource.Running, resource.PhaseStarted, id)
	w.hasExactly(bound, id)

	want := []string{
		"Creating -> Created", "Created -> Starting", "Starting -> Started", "Started -> Stopping", "Stopping -> Stopped",
		"Stopped -> Starting", "Starting -> Started", "Started -> Starting", "Starting -> Started",
	}
	if got := w.moves(id); !slices.Equal(got, want) {
		t.Errorf("moves %q, want %q", got, want)
	}
	r.set(resource.Deleted, id)
	w.gone(id)
}

// Traffic first, then pods, then data: as each step begins, what must have
// gone before is gone. It fails if steps of stop or delete change places, or if
// a step says "done" as soon as a deletion was accepted.
func TestTrafficThenPodsThenData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	var broken []string
	var looked = map[string]int{}
	// before says what must be gone before a step of the gateway runs.
	before := func(doc engine.Document, step string) []string {
		m, gw := doc.Lifecycle(), doc.Lifecycle().ID
		traffic := []kube.Ref{}
		for _, env := range resource.Environments {
			traffic = append(traffic, in(kube.ApisixRoute, gw, resource.EnvironmentName(gw, env)),
				in(kube.ApisixRoute, gw, resource.StageRouteName(gw, env)))
		}
		var early []string
		check := func(refs ...kube.Ref) {
			for _, ref := range refs {
				if w.object(ref) != nil {
					early = append(early, ref.String())
				}
			}
		}
		switch string(m.Phase) + "/" + step {
		case "Stopping/instance":
			check(traffic...)
		case "Deleting/instance":
			check(traffic...)
			if w.header(resource.KindRuntimeDomain, gw) != nil {
				early = append(early, "the RuntimeDomain's document")
			}
		case "Deleting/database":
			check(deployment(gw), in(kube.Service, gw, resource.InstanceName(gw)))
			if n := w.replicaSets(gw); n > 0 {
				early = append(early, fmt.Sprintf("%d ReplicaSets with pods", n))
			}
		case "Deleting/environments":
			if w.databaseExists(gw) || w.userExists(gw) {
				early = append(early, "the database or its user")
			}
		case "Deleting/namespace":
			check(in(kube.ConfigMap, gw, resource.ConfigMapName(gw)))
		case "Deleting/nothing left":
			check(kube.Ref{Type: kube.Namespace, Name: gw})
		}
		return early
	}
	r := w.replica("r", withAround(func(ctx context.Context, kind resource.Kind, doc engine.Document, step string,
		run func(context.Context) (engine.Outcome, error)) (engine.Outcome, error) {
		if kind == resource.KindApiGateway {
			at := string(doc.Lifecycle().Phase) + "/" + step
			early := before(doc, step)
			mu.Lock()
			looked[at]++
			for _, name := range early {
				broken = append(broken, fmt.Sprintf("%s began while there was still %s", at, name))
			}
			mu.Unlock()
		}
		return run(ctx)
	}))
	id := w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, id)
	w.furnish(id)
	w.furnished(r, id)
	r.set(resource.Stopped, id)
	w.reaches(resource.Stopped, resource.PhaseStopped, id)
	r.set(resource.Running, id)
	w.reaches(resource.Running, resource.PhaseStarted, id)
	r.set(resource.Deleted, id)
	w.gone(id)

	mu.Lock()
	defer mu.Unlock()
	if len(broken) > 0 {
		t.Error(broken)
	}
	for _, at := range []string{
		"Stopping/instance", "Deleting/instance", "Deleting/database", "Deleting/environments", "Deleting/namespace", "Deleting/nothing left",
	} {
		if looked[at] == 0 {
			t.Errorf("nobody looked at %s", at)
		}
	}
}
