package platform_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// A gateway is not Started without its domain: one that is being deleted (it
// was taken for an orphan before the gateway was adopted) is waited for, in
// words, and made again; so is a stage that is lost under a gateway that runs.
func TestLostChildrenAreMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := make(chan struct{})
	r := w.replica("r", withAround(func(ctx context.Context, kind resource.Kind, doc engine.Document, _ string,
		run func(context.Context) (engine.Outcome, error)) (engine.Outcome, error) {
		if kind == resource.KindRuntimeDomain && doc.Lifecycle().State == resource.Deleted {
			select {
			case <-release:
			default:
				return engine.Wait("the test"), nil
			}
		}
		return run(ctx)
	}))
	id := w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, id)
	r.set(resource.Stopped, id)
	w.reaches(resource.Stopped, resource.PhaseStopped, id)

	before := w.header(resource.KindRuntimeDomain, id)
	w.write(resource.KindRuntimeDomain, bson.D{{Key: "$set", Value: bson.D{{Key: "state", Value: resource.Active}, {Key: "phase", Value: resource.PhaseCreated}}}}, id)
	_, err := w.docs.RuntimeDomains.SetIntent(t.Context(), id, mongostore.Intent{State: resource.Deleted})
	must(t, err)
	r.set(resource.Running, id)
	await(t, "the gateway to wait for the old domain", func() error {
		if gw := w.get(id); gw.Phase != resource.PhaseStarting || !strings.Contains(gw.WaitingFor, "RuntimeDomain to be gone") {
			return errors.New(witness.Stands(&gw.Meta))
		}
		return nil
	})
	close(release)
	w.reaches(resource.Running, resource.PhaseStarted, id)
	domain := w.header(resource.KindRuntimeDomain, id)
	if domain == nil || domain.Phase != resource.PhaseCreated || domain.LockToken <= before.LockToken {
		t.Fatalf("the domain is %+v", domain)
	}

	stage := resource.EnvironmentName(id, "prod")
	must(t, w.docs.Stages.DeleteMany(t.Context(), bson.D{{Key: "_id", Value: stage}}))
	w.write(resource.KindApiGateway, bson.D{{Key: "$unset", Value: bson.D{{Key: "resyncAt", Value: ""}}}}, id)
	await(t, "the stage to be made again", func() error {
		if h := w.header(resource.KindStage, stage); h == nil || h.Phase != resource.PhaseCreated {
			return fmt.Errorf("%+v", h)
		}
		return nil
	})
	w.reaches(resource.Running, resource.PhaseStarted, id)
}
