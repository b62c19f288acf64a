package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// world is a database of the test's own and the real cluster, as a person sees
// them: not through any replica.
type world struct {
	t       *testing.T
	db      *mongo.Database
	docs    *documents.Documents
	kube    dynamic.Interface
	witness *witness.Witness
	region  resource.Region
	folder  string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	region := drivertest.Region(t)
	region.Name = "eu"
	region.RuntimeMongoURI = testenv.MongoURI(t)
	db := testenv.Database(t)
	w := &world{t: t, db: db, docs: documents.Open(db), kube: drivertest.Raw(t), region: region, folder: t.TempDir()}
	w.witness = witness.New(db, w.kube)
	t.Cleanup(w.clear)
	return w
}

// clear removes what is left of the gateways, without waiting for it to be
// gone.
func (w *world) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, id := range w.everMade(ctx) {
		err := w.kube.Resource(kube.Namespace.GVR()).Delete(ctx, id, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			w.t.Errorf("clear namespace %s: %v", id, err)
		}
		if w.userExists(id) {
			w.db.Client().Database("admin").RunCommand(ctx, bson.D{{Key: "dropUser", Value: resource.DatabaseUser(id)}})
		}
		if err := w.db.Client().Database(resource.DatabaseName(id)).Drop(ctx); err != nil {
			w.t.Errorf("clear the database of %s: %v", id, err)
		}
	}
}

// everMade are the ids that were ever given out here.
func (w *world) everMade(ctx context.Context) (ids []string) {
	w.t.Helper()
	cursor, err := w.db.Collection("ReservedId").Find(ctx, bson.D{})
	must(w.t, err)
	var rows []struct {
		ID string `bson:"_id"`
	}
	must(w.t, cursor.All(ctx, &rows))
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids
}

// get reads a gateway.
func (w *world) get(id string) *resource.ApiGateway {
	w.t.Helper()
	gw, err := w.docs.ApiGateways.Get(context.Background(), id)
	must(w.t, err)
	return gw
}

// header reads what all documents have; nil if there is none.
func (w *world) header(kind resource.Kind, id string) *resource.Header {
	w.t.Helper()
	store, err := w.docs.Headers(kind)
	must(w.t, err)
	h, err := store.Get(context.Background(), id)
	if errors.Is(err, mongostore.ErrNotFound) {
		return nil
	}
	must(w.t, err)
	return h
}

// write makes an update by hand.
func (w *world) write(kind resource.Kind, update any, ids ...string) {
	w.t.Helper()
	result, err := w.db.Collection(string(kind)).UpdateMany(context.Background(),
		bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, update)
	must(w.t, err)
	if int(result.MatchedCount) != len(ids) {
		w.t.Fatalf("update of %s %v matched %d documents", kind, ids, result.MatchedCount)
	}
}

func set(field string, value any) bson.D {
	return bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: value}}}}
}

// reaches waits until each gateway is in the state and phase, and nothing is
// left to wait for there. It returns how long the last took.
func (w *world) reaches(state engine.State, phase engine.Phase, ids ...string) time.Duration {
	w.t.Helper()
	return await(w.t, fmt.Sprintf("gateways %s to be %s", ids, phase), func() error {
		for _, id := range ids {
			gw := w.get(id)
			if gw.State != state || gw.Phase != phase || gw.WaitingFor != "" || gw.LastError != nil {
				return errors.New(witness.Stands(&gw.Meta))
			}
		}
		return nil
	})
}

// gone waits until nothing at all is left of the gateways: no document, no
// object, no database, no user.
func (w *world) gone(ids ...string) time.Duration {
	w.t.Helper()
	took := await(w.t, fmt.Sprintf("gateways %s to be gone", ids), func() error {
		if left := w.documentsOf(ids...); len(left) > 0 {
			return fmt.Errorf("documents left: %s", strings.Join(left, "; "))
		}
		return nil
	})
	if left := w.leftOf(ids...); len(left) > 0 {
		w.t.Errorf("the documents are gone, but this is left: %v", left)
	}
	return took
}

// documentsOf names the gateways' documents, of all kinds.
func (w *world) documentsOf(ids ...string) []string {
	w.t.Helper()
	found, err := w.witness.Documents(context.Background(), ids...)
	must(w.t, err)
	return found
}

// leftOf names what there is of gateways outside their documents.
func (w *world) leftOf(ids ...string) []string {
	w.t.Helper()
	traces, err := w.witness.Of(context.Background(), ids...)
	must(w.t, err)
	return traces.Outside()
}

func (w *world) userExists(id string) bool {
	w.t.Helper()
	users, err := w.witness.Users(context.Background(), id)
	must(w.t, err)
	return len(users) > 0
}

// uids are the identities of a gateway's objects, by name.
func (w *world) uids(ids ...string) map[string]string {
	w.t.Helper()
	objects, err := w.witness.Objects(context.Background(), ids...)
	must(w.t, err)
	found := map[string]string{}
	for _, obj := range objects {
		found[obj.GetKind()+" "+obj.GetName()] = string(obj.GetUID())
	}
	return found
}

// lockedBy names the documents that a replica holds.
func (w *world) lockedBy(name string) (held []string) {
	w.t.Helper()
	for _, kind := range resource.Kinds {
		store, err := w.docs.Headers(kind)
		must(w.t, err)
		docs, err := store.Find(context.Background(), bson.D{{Key: "lockedBy", Value: name}})
		must(w.t, err)
		for _, doc := range docs {
			held = append(held, string(kind)+" "+doc.ID)
		}
	}
	return held
}
