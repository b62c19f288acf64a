package platform_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// tooMuch is what no node has: pods that ask for it are never ready.
const tooMuch = "100000"

func needing(cpu string) func(*resource.ApiGateway) {
	return func(gw *resource.ApiGateway) { gw.Runtime.CPU = cpu }
}

// stuckStarting waits until the gateways' pods are waited for, and then makes
// it long ago that Starting was entered.
func (w *world) stuckStarting(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		await(w.t, "gateway "+id+" to wait for its pods", func() error {
			if gw := w.get(id); gw.Phase != resource.PhaseStarting || gw.Step != "pods ready" || gw.WaitingFor == "" {
				return errors.New(witness.Stands(&gw.Meta))
			}
			return nil
		})
	}
	w.write(resource.KindApiGateway, bson.D{{Key: "$set", Value: bson.D{{Key: "phaseAt", Value: time.Now().Add(-time.Hour)}}}}, ids...)
}

// keepsTrying fails unless the gateway is looked at several times more and
// stays in Starting, in its state.
func (w *world) keepsTrying(id string, state engine.State) {
	w.t.Helper()
	before := w.get(id)
	await(w.t, "gateway "+id+" to be looked at again", func() error {
		gw := w.get(id)
		if gw.State != state || gw.Phase != resource.PhaseStarting {
			w.t.Fatalf("it is not left as it was: %s", witness.Stands(&gw.Meta))
		}
		if gw.LockToken < before.LockToken+3 {
			return errors.New(witness.Stands(&gw.Meta))
		}
		return nil
	})
}

// Fault 5: a deadline of Starting that overwrites `state: Deleted`, or stops a
// gateway whose old pods still serve. A missed deadline changes nothing here: it
// is said (explain), the gateway goes on trying, and the user can leave.
//
// The protection is what the engine does not do: with a mutated transit that,
// overdue, sets state Stopped, this fails; with one that moves the overdue
// document to Stopping, too: both seen.
func TestMissedDeadlineChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica("r")
	serving := w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, serving)
	deleted, stopped, healed := w.gateway(needing(tooMuch)), w.gateway(needing(tooMuch)), w.gateway(needing(tooMuch))
	// The first has pods that serve when its next ones cannot start.
	w.change(serving, map[string]any{"runtime.cpu": tooMuch})
	r.set(resource.Restarting, serving)
	all := []string{serving, deleted, stopped, healed}
	w.stuckStarting(all...)

	for _, id := range all {
		state := resource.Running
		if id == serving {
			state = resource.Restarting
		}
		w.keepsTrying(id, state)
		w.overdue(r, id)
	}
	if n := w.available(serving); n < int64(w.region.RuntimeReplicas) {
		t.Errorf("of the pods that served %d are left", n)
	}

	w.set(resource.Deleted, deleted)
	w.set(resource.Stopped, stopped)
	w.change(healed, map[string]any{"runtime.cpu": "1m"})
	w.change(serving, map[string]any{"runtime.cpu": "1m"})
	w.reaches(resource.Stopped, resource.PhaseStopped, stopped)
	w.reaches(resource.Running, resource.PhaseStarted, healed, serving)
	w.gone(deleted)
}

// overdue waits until the gateway is explained as overdue: between two looks,
// while nobody is working on it.
func (w *world) overdue(r *replica, id string) {
	w.t.Helper()
	await(w.t, "gateway "+id+" to be called overdue", func() error {
		now, err := w.docs.ApiGateways.Now(w.t.Context())
		must(w.t, err)
		e, _ := r.Explain(resource.KindApiGateway, &w.get(id).Meta, now)
		if e.Condition != engine.IsOverdue || !e.Deadline.Before(now) {
			return fmt.Errorf("it counts as %s, with the deadline %s: %s", e.Condition, e.Deadline, e.Summary)
		}
		return nil
	})
}

// available counts the gateway's pods that serve.
func (w *world) available(id string) int64 {
	w.t.Helper()
	live := w.object(deployment(id))
	if live == nil {
		return 0
	}
	n, _, _ := unstructured.NestedInt64(live.Object, "status", "availableReplicas")
	return n
}

// Fault 9: a deadline clock that any rename resets. The deadline counts from
// when the phase was entered, and nothing but a change of phase moves that.
//
// With SetIntent setting phaseAt, or the deadline counted from updatedAt, this
// fails: both seen.
func TestRenameResetsNoDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica("r")
	id := w.gateway(needing(tooMuch))
	w.stuckStarting(id)
	before := w.get(id)
	for i := range 3 {
		w.change(id, map[string]any{"name": fmt.Sprintf("renamed-%d", i)})
		r.Hint(resource.KindApiGateway, id)
		w.keepsTrying(id, resource.Running)
	}
	gw := w.get(id)
	if gw.Name != "renamed-2" || !gw.PhaseAt.Equal(before.PhaseAt) {
		t.Errorf("phaseAt is %s, was %s", gw.PhaseAt, before.PhaseAt)
	}
	w.overdue(r, id)
}
