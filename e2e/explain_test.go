package e2e_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// explain asks the API how it stands with a gateway.
func (r *replica) explain(id string) (e api.GatewayExplanation) {
	r.t.Helper()
	r.call(http.MethodGet, "/v1/api-gateways/"+id+"/explain", nil, http.StatusOK, &e)
	return e
}

// explains waits until the explanation says all of the texts.
func (r *replica) explains(id string, texts ...string) {
	r.t.Helper()
	await(r.t, "the explanation of "+id, func() error {
		e := r.explain(id)
		encoded, err := json.Marshal(e)
		must(r.t, err)
		said := strings.ReplaceAll(string(encoded), `\"`, `"`)
		for _, text := range texts {
			if !strings.Contains(said, text) {
				return errors.New("it does not say " + text + ": " + said)
			}
		}
		return nil
	})
}

// byHand inserts documents as a person in mongosh does, or an older program:
// no more fields than it thought of.
func (w *world) byHand(kind resource.Kind, docs ...bson.D) {
	w.t.Helper()
	for _, doc := range docs {
		_, err := w.db.Collection(string(kind)).InsertOne(w.t.Context(), doc)
		must(w.t, err)
	}
}

func fields(id, gatewayID, state, phase string, more ...bson.E) bson.D {
	return append(bson.D{
		{Key: "_id", Value: id}, {Key: "gatewayId", Value: gatewayID}, {Key: "region", Value: "eu"},
		{Key: "state", Value: state}, {Key: "phase", Value: phase}, {Key: "lockedAt", Value: engine.Epoch},
	}, more...)
}

// stoppedStory inserts a gateway of the vn8ofl story: state Stopped, phase
// Stopped, and children that were left as if it ran.
func (w *world) stoppedStory(id string, more ...bson.E) {
	w.byHand(resource.KindApiGateway, fields(id, id, "Stopped", "Stopped", append(more, bson.E{Key: "name", Value: "shop"})...))
	w.byHand(resource.KindRuntimeDomain, fields(id, id, "Active", "Created"))
	w.byHand(resource.KindDatabase, fields(id, id, "Active", "Created"))
	w.byHand(resource.KindCronTrigger, fields(id+"-nightly", id, "Active", "Created",
		bson.E{Key: "name", Value: "nightly"}, bson.E{Key: "schedule", Value: "0 3 * * *"}, bson.E{Key: "function", Value: "f"}))
	for _, env := range resource.Environments {
		w.byHand(resource.KindEnvironment, fields(id+"-"+env, id, "Active", "Created", bson.E{Key: "name", Value: env}))
		w.byHand(resource.KindStage, fields(id+"-"+env, id, "Active", "Created", bson.E{Key: "environment", Value: env}))
	}
}

// Fault 11: a document that nobody's handler matches. The gateway of the story
// is Stopped, and as Stopped as can be; its domain, its stages and its trigger
// are as if it ran. The API says which these are, what that means, and what
// will move them: the next look, at its time. And that look then really puts
// them right.
//
// Without the findings (an explanation of the gateway's document alone) it says
// "settled"; without the Steps of the settled pair Stopped/Stopped nothing ever
// moves: both seen to fail.
func TestStoppedGatewayWithChildrenLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.ready("replica")
	id := testenv.RandomID(6)
	next := time.Now().Add(5 * time.Second).UTC()
	w.stoppedStory(id, bson.E{Key: "resyncAt", Value: next})

	e := r.explain(id)
	if e.Gateway == nil || e.Gateway.Condition != engine.IsSettled || len(e.Findings) != 5 {
		t.Fatalf("explanation %+v", e)
	}
	r.saysOf(e, resource.KindRuntimeDomain, id,
		"is still wanted (state Active, phase Created) although its gateway is Stopped: its routes lead to pods that are gone")
	r.saysOf(e, resource.KindStage, id+"-dev", "its routes lead to pods that are gone")
	r.saysOf(e, resource.KindCronTrigger, id+"-nightly", "it calls a function that nobody serves")
	for _, f := range e.Findings {
		if !strings.Contains(f.Next, "looked at again at "+next.Format("15:04:05")) || strings.Contains(f.Next, "Nothing will move it") {
			t.Errorf("of what comes next it says: %s", f.Next)
		}
	}
	if !strings.Contains(e.Summary, "But this contradicts it") {
		t.Errorf("summary: %s", e.Summary)
	}

	for kind, child := range map[resource.Kind]string{
		resource.KindRuntimeDomain: id, resource.KindStage: id + "-prod", resource.KindCronTrigger: id + "-nightly",
	} {
		await(t, string(kind)+" to be put right", func() error {
			if h := w.header(kind, child); h.State != resource.Inactive || h.Phase != resource.PhaseDeleted {
				return errors.New(witness.Stands(&h.Meta))
			}
			return nil
		})
	}
	await(t, "the explanation to find nothing more", func() error {
		if e := r.explain(id); len(e.Findings) > 0 || len(e.Children) > 0 {
			return errors.New(e.Summary)
		}
		return nil
	})
}

func (r *replica) saysOf(e api.GatewayExplanation, kind resource.Kind, id, text string) {
	r.t.Helper()
	for _, f := range e.Findings {
		if f.Kind == kind && f.ID == id {
			if f.Sort != api.Contradiction || !strings.Contains(f.Problem, text) {
				r.t.Errorf("of %s %s it says: %s", kind, id, f.Problem)
			}
			return
		}
	}
	r.t.Errorf("it finds nothing about %s %s", kind, id)
}

// The same without a time of the next look, as documents from elsewhere are:
// it is due now, and is said to be.
func TestNextLookOfADocumentThatWasNeverLookedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.ready("replica")
	id := testenv.RandomID(6)
	// Locked by somebody who is gone: the look is due when the lock expires.
	w.stoppedStory(id, bson.E{Key: "lockedBy", Value: "somebody"})
	w.write(resource.KindApiGateway, set("lockedAt", time.Now().UTC()), id)
	r.explains(id, "somebody has been working on it")
	await(t, "the domain to be put right", func() error {
		if h := w.header(resource.KindRuntimeDomain, id); h.Phase != resource.PhaseDeleted {
			return errors.New(witness.Stands(&h.Meta))
		}
		return nil
	})
}

// Children whose gateway is gone: the API says so, of each, and what to do,
// and that does it.
func TestChildrenOfAGatewayThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.ready("replica")
	id := testenv.RandomID(6)
	w.byHand(resource.KindRuntimeDomain, fields(id, id, "Inactive", "Deleted"))
	w.byHand(resource.KindCronTrigger, fields(id+"-nightly", id, "Active", "Created"))
	e := r.explain(id)
	if e.Gateway != nil || len(e.Findings) != 2 || !strings.Contains(e.Summary, "is gone, but 2 documents of it are left") {
		t.Fatalf("explanation %+v", e)
	}
	for _, f := range e.Findings {
		if f.Sort != api.Orphan || !strings.Contains(f.Fix, "{$set: {state: 'Deleted'}}") {
			t.Errorf("finding %+v", f)
		}
		w.write(f.Kind, set("state", "Deleted"), f.ID)
	}
	await(t, "the children to be gone", func() error {
		if left := w.documentsOf(id); len(left) > 0 {
			return errors.New(strings.Join(left, "; "))
		}
		return nil
	})
}
