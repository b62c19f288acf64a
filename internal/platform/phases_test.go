package platform_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// The steps of a gateway's transitions, by the phase in which they run.
var steps = map[engine.Phase][]string{
	resource.PhaseCreating: {"namespace", "database", "environments", "config map", "runtime domain", "stages"},
	resource.PhaseStarting: {"config map", "instance", "pods ready", "runtime domain", "stages", "cron triggers"},
	resource.PhaseStopping: {"cron triggers", "stages", "runtime domain", "instance"},
}

// holdups keep gateways at a step: it waits, fails, or fails for good, until
// the gateway is in another phase.
type holdups struct {
	mu sync.Mutex
	at map[string]holdup // by gateway
}

type holdup struct {
	phase engine.Phase
	step  string
	how   string
}

func (h holdup) String() string { return fmt.Sprintf("%s/%s %s", h.phase, h.step, h.how) }

// ways are how a step can keep a document.
var ways = []string{"waits", "fails", "fails for good"}

func (h *holdups) around() platform.Around {
	return func(ctx context.Context, kind resource.Kind, doc engine.Document, step string,
		run func(context.Context) (engine.Outcome, error)) (engine.Outcome, error) {
		m := doc.Lifecycle()
		h.mu.Lock()
		up, ok := h.at[m.ID]
		h.mu.Unlock()
		if !ok || kind != resource.KindApiGateway || m.Phase != up.phase || step != up.step {
			return run(ctx)
		}
		switch up.how {
		case "fails":
			return engine.Outcome{}, errors.New("held by the test")
		case "fails for good":
			return engine.Outcome{}, engine.Terminal(errors.New("held by the test"))
		}
		return engine.Wait("the test"), nil
	}
}

func (h *holdups) set(id string, up holdup) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at[id] = up
}

func (h *holdups) free(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.at, id)
}

// held waits until a gateway is kept where it should be.
func (w *world) held(id string, up holdup) {
	w.t.Helper()
	await(w.t, fmt.Sprintf("gateway %s to be held at %s", id, up), func() error {
		gw := w.get(id)
		there := gw.Phase == up.phase && gw.Step == up.step
		switch up.how {
		case "waits":
			there = there && gw.WaitingFor == "the test"
		default:
			there = there && gw.LastError != nil && gw.LastError.Terminal == (up.how == "fails for good")
		}
		if !there {
			return errors.New(witness.Stands(&gw.Meta))
		}
		return nil
	})
}

// everywhere makes a gateway for each step of the given phases and keeps it
// there, each in another way.
func (w *world) everywhere(h *holdups, r *replica, phases ...engine.Phase) map[string]holdup {
	w.t.Helper()
	all, stopping := map[string]holdup{}, []string{}
	for _, phase := range phases {
		for i, step := range steps[phase] {
			gw := w.newGateway()
			up := holdup{phase, step, ways[i%len(ways)]}
			h.set(gw.ID, up)
			must(w.t, w.docs.ApiGateways.Insert(w.t.Context(), gw))
			all[gw.ID] = up
			if phase == resource.PhaseStopping {
				stopping = append(stopping, gw.ID)
			}
		}
	}
	w.reaches(resource.Running, resource.PhaseStarted, stopping...)
	r.set(resource.Stopped, stopping...)
	for id, up := range all {
		w.held(id, up)
	}
	return all
}

// A gateway can be deleted from every phase, at whatever step it is, and
// whether that step waits, fails, or has failed for good. What held it up is
// not waited for.
//
// With a deletion that waits for a healthy start (no arrow to Deleting from
// Starting), or that waits out the backoff of the intent before (a claim that
// does not look at observedState), this fails: both seen.
func TestDeletedFromEveryPhase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	up := &holdups{at: map[string]holdup{}}
	r := w.replica("r", withAround(up.around()), withWorkers(16))
	held := w.everywhere(up, r, resource.PhaseCreating, resource.PhaseStarting, resource.PhaseStopping)
	created, started, stopped := w.gateway(initially(resource.Stopped)), w.gateway(), w.gateway()
	w.reaches(resource.Stopped, resource.PhaseCreated, created)
	w.reaches(resource.Running, resource.PhaseStarted, started, stopped)
	r.set(resource.Stopped, stopped)
	w.reaches(resource.Stopped, resource.PhaseStopped, stopped)

	ids := []string{created, started, stopped}
	for id := range held {
		ids = append(ids, id)
	}
	w.set(resource.Deleted, ids...) // by hand, nobody is told
	for id, up := range held {
		awaitWithin(t, soon, fmt.Sprintf("gateway %s, held at %s, to be on its way", id, up), func() error {
			if h := w.header(resource.KindApiGateway, id); h != nil && h.Phase != resource.PhaseDeleting && h.Phase != resource.PhaseDeleted {
				return errors.New(witness.Stands(&h.Meta))
			}
			return nil
		})
	}
	w.gone(ids...)
}

// A gateway can be stopped from every phase that makes sense: from each step of
// Starting and from Started it stops; during Creating it is created and not
// started; and afterwards it starts.
func TestStoppedFromEveryPhase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	up := &holdups{at: map[string]holdup{}}
	r := w.replica("r", withAround(up.around()), withWorkers(16))
	held := w.everywhere(up, r, resource.PhaseCreating, resource.PhaseStarting)
	started := w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, started)

	ids := []string{started}
	for id := range held {
		ids = append(ids, id)
	}
	w.set(resource.Stopped, ids...)
	w.reaches(resource.Stopped, resource.PhaseStopped, started)
	for id, at := range held {
		if at.phase == resource.PhaseStarting {
			w.reaches(resource.Stopped, resource.PhaseStopped, id)
			continue
		}
		// What is half created stays held until it can be created.
		up.free(id)
		w.write(resource.KindApiGateway, mongoUpdate("lockedAt", engine.Epoch), id)
		w.reaches(resource.Stopped, resource.PhaseCreated, id)
		if moves := strings.Join(w.moves(id), ", "); moves != "Creating -> Created" {
			t.Errorf("gateway %s, stopped at %s, made the moves %s", id, at, moves)
		}
		if w.uid(deployment(id)) != "" {
			t.Errorf("gateway %s, stopped at %s, has a Deployment", id, at)
		}
	}
	for id := range held {
		up.free(id)
	}
	r.set(resource.Running, ids...)
	w.reaches(resource.Running, resource.PhaseStarted, ids...)
	for _, id := range ids {
		w.allReady(id)
	}
}
