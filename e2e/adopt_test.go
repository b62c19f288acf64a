package e2e_test

import (
	"net/http"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// A gateway whose document is removed by mistake is adopted: what it had in the
// cluster and in MongoDB is still the same afterwards, and goes with it when it
// is deleted.
//
// With tokens that begin at one again, its steps wait for ever for the claims of
// the document before, whose tokens its objects carry.
func TestAdoptedGateway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.ready("replica")
	id := r.create()
	w.reaches(resource.Running, resource.PhaseStarted, id)
	before := w.uids(id)
	if len(before) == 0 || !w.userExists(id) {
		t.Fatalf("it has nothing: %v", before)
	}
	_, err := w.db.Collection(string(resource.KindApiGateway)).DeleteOne(t.Context(), bson.D{{Key: "_id", Value: id}})
	must(t, err)

	r.call(http.MethodPost, "/v1/api-gateways/"+id+"/adopt",
		map[string]any{"name": "shop", "region": "eu", "reason": "removed by mistake"}, http.StatusCreated, nil)
	w.reaches(resource.Running, resource.PhaseStarted, id)
	after := w.uids(id)
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("%s is another one than before", name)
		}
	}
	r.set(resource.Restarting, id)
	w.reaches(resource.Running, resource.PhaseStarted, id)
	r.set(resource.Deleted, id)
	w.gone(id)
}
