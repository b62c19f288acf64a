package platform_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// A step of a deletion that cannot be done any more is skipped when an
// administrator says so, and nothing else is: a step of another phase runs,
// and what the skipped step would have removed stays.
func TestForcedDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica("r", withAround(func(ctx context.Context, kind resource.Kind, doc engine.Document, step string,
		run func(context.Context) (engine.Outcome, error)) (engine.Outcome, error) {
		if kind == resource.KindApiGateway && doc.Lifecycle().Phase == resource.PhaseDeleting && step == "database" {
			return engine.Outcome{}, errors.New("the database's server is gone for good")
		}
		return run(ctx)
	}))
	id := w.gateway(func(gw *resource.ApiGateway) { gw.SkippedSteps = []string{"config map", "pods ready"} })
	w.reaches(resource.Running, resource.PhaseStarted, id)
	w.hasOneOfEach(id)
	if w.object(deployment(id)) == nil || !w.userExists(id) {
		t.Fatal("a step that is no deletion's was skipped")
	}
	r.set(resource.Deleted, id)
	await(t, "the deletion to fail", func() error {
		if gw := w.get(id); gw.LastError == nil || gw.LastError.Step != "database" {
			return errors.New(witness.Stands(&gw.Meta))
		}
		return nil
	})
	_, err := r.docs.ApiGateways.SetIntent(t.Context(), id, mongostore.Intent{
		Fields: map[string]any{resource.SkippedField: []string{"database"}},
	})
	must(t, err)
	r.Hint(resource.KindApiGateway, id)
	await(t, "gateway "+id+" to be gone", func() error {
		if left := w.documentsOf(id); len(left) > 0 {
			return fmt.Errorf("documents left: %v", left)
		}
		return nil
	})
	if !w.userExists(id) {
		t.Error("the skipped step was run nevertheless")
	}
}
