package platform_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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
	docs    *documents.Documents // what is changed by it wakes no replica
	kube    dynamic.Interface
	witness *witness.Witness
	region  resource.Region
	made    []string // gateways
}

// newWorld makes one. What the test leaves on the servers is removed when it
// ends.
func newWorld(t *testing.T, change ...func(*resource.Region)) *world {
	t.Helper()
	region := drivertest.Region(t)
	region.RuntimeMongoURI = testenv.MongoURI(t)
	region.ClusterIssuer = "test-" + testenv.RandomID(8)
	for _, f := range change {
		f(&region)
	}
	db := testenv.Database(t)
	w := &world{t: t, db: db, docs: documents.Open(db), kube: drivertest.Raw(t), region: region}
	w.witness = witness.New(db, w.kube)
	t.Cleanup(w.clear)
	return w
}

// clear removes what is left of the gateways, without waiting for it to be
// gone. After a test that passed this is little or nothing.
func (w *world) clear() {
	ctx, cancel := bounded(w.t)
	defer cancel()
	for _, id := range w.made {
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

// newGateway is a gateway's document, to be inserted.
func (w *world) newGateway(change ...func(*resource.ApiGateway)) *resource.ApiGateway {
	id := testenv.RandomID(6)
	gw := &resource.ApiGateway{
		Meta:      engine.Meta{ID: id, State: resource.Running, Phase: resource.PhaseCreating, Generation: 1},
		GatewayID: id, Name: "shop", Region: w.region.Name,
	}
	for _, f := range change {
		f(gw)
	}
	w.made = append(w.made, id)
	return gw
}

// gateway inserts a new gateway and returns its id.
func (w *world) gateway(change ...func(*resource.ApiGateway)) string {
	w.t.Helper()
	gw := w.newGateway(change...)
	must(w.t, w.docs.ApiGateways.Insert(w.t.Context(), gw))
	return gw.ID
}

func initially(state engine.State) func(*resource.ApiGateway) {
	return func(gw *resource.ApiGateway) { gw.State = state }
}

// get reads a gateway.
func (w *world) get(id string) *resource.ApiGateway {
	w.t.Helper()
	gw, err := w.docs.ApiGateways.Get(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
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

// set changes the state as a person in mongosh does: that field alone.
func (w *world) set(state engine.State, ids ...string) {
	w.t.Helper()
	w.write(resource.KindApiGateway, bson.D{{Key: "$set", Value: bson.D{{Key: "state", Value: state}}}}, ids...)
}

// write makes an update by hand.
func (w *world) write(kind resource.Kind, update any, ids ...string) {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	result, err := w.db.Collection(string(kind)).UpdateMany(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, update)
	must(w.t, err)
	if int(result.MatchedCount) != len(ids) {
		w.t.Fatalf("update of %s %v matched %d documents", kind, ids, result.MatchedCount)
	}
}

// change changes settings as the API does.
func (w *world) change(id string, fields map[string]any) {
	w.t.Helper()
	_, err := w.docs.ApiGateways.SetIntent(context.Background(), id, mongostore.Intent{Fields: fields})
	must(w.t, err)
}

// reaches waits until each gateway is in the state and phase, and nothing is
// left to wait for there.
func (w *world) reaches(state engine.State, phase engine.Phase, ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		await(w.t, fmt.Sprintf("gateway %s to be %s", id, phase), func() error {
			gw := w.get(id)
			if gw.State != state || gw.Phase != phase || gw.WaitingFor != "" || gw.LastError != nil {
				return errors.New(witness.Stands(&gw.Meta))
			}
			return nil
		})
	}
}

// gone waits until nothing at all is left of the gateways: no document, no
// object, no database, no user.
func (w *world) gone(ids ...string) {
	w.t.Helper()
	await(w.t, fmt.Sprintf("gateways %s to be gone", ids), func() error {
		if left := w.documentsOf(ids...); len(left) > 0 {
			return fmt.Errorf("documents left: %s", strings.Join(left, "; "))
		}
		return nil
	})
	if left := w.leftOf(ids...); len(left) > 0 {
		w.t.Errorf("the documents are gone, but this is left: %v", left)
	}
}

// documentsOf names the gateways' documents, of all kinds.
func (w *world) documentsOf(ids ...string) []string {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	found, err := w.witness.Documents(ctx, ids...)
	must(w.t, err)
	return found
}

// leftOf names what there is of gateways outside their documents.
func (w *world) leftOf(ids ...string) []string {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	traces, err := w.witness.Of(ctx, ids...)
	must(w.t, err)
	return traces.Outside()
}

func (w *world) userExists(id string) bool {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	users, err := w.witness.Users(ctx, id)
	must(w.t, err)
	return len(users) > 0
}

func (w *world) databaseExists(id string) bool {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	databases, err := w.witness.Databases(ctx, id)
	must(w.t, err)
	return len(databases) > 0
}

// isSeen makes sure that the witness sees a gateway that is there: "gone" means
// nothing otherwise.
func (w *world) isSeen(id string) {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	seen, err := w.witness.Of(ctx, id)
	must(w.t, err)
	if len(seen.Documents) == 0 || len(seen.Namespaces) != 1 || len(seen.Objects) == 0 || len(seen.Databases) != 1 || len(seen.Users) != 1 {
		w.t.Errorf("of a gateway that is there is seen: %+v", seen)
	}
}

// objectsOf names the managed objects of each gateway, in whatever namespace.
func (w *world) objectsOf(ids ...string) map[string][]string {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	found := map[string][]string{}
	for _, typ := range kube.Types {
		if typ == kube.Namespace {
			continue
		}
		list, err := w.kube.Resource(typ.GVR()).List(ctx, metav1.ListOptions{
			LabelSelector: resource.LabelGateway + " in (" + strings.Join(ids, ",") + ")",
		})
		must(w.t, err)
		for i := range list.Items {
			id := list.Items[i].GetLabels()[resource.LabelGateway]
			found[id] = append(found[id], typ.Kind+" "+list.Items[i].GetName())
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found
}

// object reads an object; nil if it is not there.
func (w *world) object(ref kube.Ref) *unstructured.Unstructured {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	obj, err := w.api(ref).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	must(w.t, err)
	return obj
}

// uid is an object's identity; empty if it is not there or on its way out.
func (w *world) uid(ref kube.Ref) string {
	w.t.Helper()
	obj := w.object(ref)
	if obj == nil || obj.GetDeletionTimestamp() != nil {
		return ""
	}
	return string(obj.GetUID())
}

func (w *world) api(ref kube.Ref) dynamic.ResourceInterface {
	if ref.Type.Namespaced {
		return w.kube.Resource(ref.Type.GVR()).Namespace(ref.Namespace)
	}
	return w.kube.Resource(ref.Type.GVR())
}

// remove deletes an object behind the service's back.
func (w *world) remove(ref kube.Ref) {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	must(w.t, w.api(ref).Delete(ctx, ref.Name, metav1.DeleteOptions{}))
}

// moves are a gateway's changes of phase, as its history tells them.
func (w *world) moves(id string) []string {
	w.t.Helper()
	var moves []string
	for _, h := range w.get(id).History {
		if h.Step == "" {
			moves = append(moves, fmt.Sprintf("%s -> %s", h.From, h.To))
		}
	}
	return moves
}

func in(t kube.Type, id, name string) kube.Ref {
	return kube.Ref{Type: t, Namespace: resource.NamespaceName(id), Name: name}
}

func deployment(id string) kube.Ref { return in(kube.Deployment, id, resource.InstanceName(id)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// soon is well below a resync: what comes within it came by a hint or a tick.
const soon = 10 * time.Second

// hold keeps an object from going, as a finalizer of somebody else does.
func (w *world) hold(ref kube.Ref) { w.setFinalizers(ref, `["test.lockstep.io/held"]`) }

// release lets it go.
func (w *world) release(ref kube.Ref) { w.setFinalizers(ref, `null`) }

func (w *world) setFinalizers(ref kube.Ref, list string) {
	w.t.Helper()
	w.patch(ref, `{"metadata":{"finalizers":`+list+`}}`)
}

// patch changes an object behind the service's back.
func (w *world) patch(ref kube.Ref, patch string) {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	_, err := w.api(ref).Patch(ctx, ref.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"})
	must(w.t, err)
}

// mongoUpdate sets one field.
func mongoUpdate(field string, value any) bson.D {
	return bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: value}}}}
}
