package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
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

// What is left of a gateway may be its database and its user alone: it is
// adopted with both, and its tree shows them.
func TestAdoptedDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.ready("replica")
	id := r.create(func(body map[string]any) { body["state"] = resource.Stopped })
	w.reaches(resource.Stopped, resource.PhaseCreated, id)
	kept := w.db.Client().Database(resource.DatabaseName(id)).Collection("orders")
	_, err := kept.InsertOne(t.Context(), bson.D{{Key: "_id", Value: "first"}})
	must(t, err)
	r.signal(syscall.SIGTERM)
	r.ends()
	for _, kind := range resource.Kinds {
		_, err := w.db.Collection(string(kind)).DeleteMany(t.Context(), bson.D{})
		must(t, err)
	}
	must(t, w.kube.Resource(kube.Namespace.GVR()).Delete(t.Context(), id, metav1.DeleteOptions{}))
	await(t, "the namespace to be gone", func() error {
		if left := w.uids(id); len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})

	r = w.ready("next")
	adopt := "/v1/api-gateways/" + id + "/adopt"
	body := map[string]any{"name": "shop", "region": "eu", "reason": "removed by mistake"}
	r.call(http.MethodPost, adopt, body, http.StatusCreated, nil)
	w.reaches(resource.Running, resource.PhaseStarted, id)
	if n, err := kept.CountDocuments(t.Context(), bson.D{}); err != nil || n != 1 {
		t.Errorf("%d documents are left in its database, %v", n, err)
	}
	_, tree, err := r.request(http.MethodGet, "/v1/api-gateways/"+id+"/tree", nil)
	must(t, err)
	for _, want := range []string{resource.DatabaseName(id), resource.DatabaseUser(id), "Deployment"} {
		if !strings.Contains(string(tree), `"`+want+`"`) {
			t.Errorf("the tree does not show %s: %s", want, tree)
		}
	}
	r.set(resource.Deleted, id)
	w.gone(id)
}
