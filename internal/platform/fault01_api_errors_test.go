package platform_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Fault 1: one API error read as "not found" orphans the object. While the API
// server answers anything but a typed NotFound, a deletion skips nothing: the
// documents stay, with what they were told, and so does everything after the
// step that failed; once it answers again, all goes.
//
// The protection is kube.absent, by which Get, Delete and the like tell absence
// from failure. Without it (any 404 is absence; any error is) the gateway's
// document goes while its objects stay: seen to fail.
func TestErrorsOfTheApiServerAreNotAbsence(t *testing.T) {
	t.Parallel()
	const html = "<html><body>no such page</body></html>"
	unknown := fail(http.StatusNotFound, "the server could not find the requested resource")
	tests := map[string]struct {
		answer action
		// path ends the requests that are answered so; all of the gateway's if
		// it is empty.
		path string
	}{
		"500":                  {answer: fail(http.StatusInternalServerError, "etcdserver: leader changed")},
		"503 of a proxy":       {answer: reply(http.StatusServiceUnavailable, "text/html", html)},
		"404 of a proxy":       {answer: reply(http.StatusNotFound, "text/html", html)},
		"404 of an old server": {answer: unknown},
		"403":                  {answer: fail(http.StatusForbidden, "not allowed just now")},
		"broken connection":    {answer: broken},
		// Late in a deletion, one object alone cannot be asked for.
		"service":    {unknown, "/services/" + resource.InstanceName("ID")},
		"pods":       {reply(http.StatusNotFound, "text/html", html), "/pods"},
		"config map": {unknown, "/configmaps/" + resource.ConfigMapName("ID")},
		"namespace":  {broken, "/namespaces/ID"},
	}
	w := newWorld(t)
	r := w.replica("r")
	ids := map[string]string{}
	for name := range tests {
		ids[name] = w.gateway()
	}
	all := slices.Collect(maps.Values(ids))
	w.reaches(resource.Running, resource.PhaseStarted, all...)
	w.furnish(all...)
	w.furnished(r, all...)

	offs := map[string]func() int{}
	for name, test := range tests {
		id := ids[name]
		path := strings.ReplaceAll(test.path, "ID", id)
		offs[name] = r.http.on(func(request *http.Request) bool {
			return about(id)(request) && strings.HasSuffix(request.URL.Path, path)
		}, test.answer)
	}
	r.set(resource.Deleted, all...)
	for name, test := range tests {
		id := ids[name]
		if test.path == "" {
			// The client app is the first to need the API server.
			w.reports(resource.KindClientApp, id+"-dev-web", 2)
			w.hasExactly(wholeObjects, id)
		} else {
			w.reports(resource.KindApiGateway, id, 2)
			if w.uid(kube.Ref{Type: kube.Namespace, Name: id}) == "" {
				t.Errorf("%s: the namespace is gone", name)
			}
			if early := name == "service" || name == "pods"; early && !w.databaseExists(id) {
				t.Errorf("%s: the database is gone", name)
			}
		}
		if gw := w.get(id); gw.Phase != resource.PhaseDeleting {
			t.Errorf("%s: the gateway stands so: %s", name, witness.Stands(&gw.Meta))
		}
		if hits := offs[name](); hits < 2 {
			t.Errorf("%s: only %d requests were answered so", name, hits)
		}
		w.soon(id)
	}
	w.gone(all...)
}

// reports waits until a document has counted so many errors.
func (w *world) reports(kind resource.Kind, id string, attempts int) {
	w.t.Helper()
	await(w.t, fmt.Sprintf("%s %s to report %d errors", kind, id, attempts), func() error {
		h := w.header(kind, id)
		if h == nil {
			w.t.Fatalf("%s %s is gone", kind, id)
		}
		if h.Attempts < attempts || h.LastError == nil {
			return errors.New(witness.Stands(&h.Meta))
		}
		return nil
	})
}

// soon ends the backoff of all that is beneath a gateway, which a test need
// not wait for.
func (w *world) soon(id string) {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	for _, kind := range resource.Kinds {
		_, err := w.db.Collection(string(kind)).UpdateMany(ctx,
			bson.D{{Key: "gatewayId", Value: id}, {Key: "lockedBy", Value: nil}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "lockedAt", Value: engine.Epoch}}}})
		must(w.t, err)
	}
}

// The server of the gateways' databases is asked like the API server: while it
// cannot be reached, the database counts as there, and what comes after it
// waits.
func TestDatabaseServerAwayDuringADeletion(t *testing.T) {
	t.Parallel()
	line, uri := testenv.MongoLine(t, testenv.MongoURI(t))
	w := newWorld(t, func(r *resource.Region) { r.RuntimeMongoURI = uri + "&serverSelectionTimeoutMS=1000" })
	r := w.replica("r")
	id := w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, id)
	line.Cut()
	r.set(resource.Deleted, id)
	w.reportsAny(id)
	if !w.databaseExists(id) || !w.userExists(id) || w.uid(in(kube.ConfigMap, id, resource.ConfigMapName(id))) == "" {
		t.Error("a step was skipped")
	}
	line.Mend()
	w.soon(id)
	w.gone(id)
}

// reportsAny waits until the gateway or one of its stages reports an error.
func (w *world) reportsAny(id string) {
	w.t.Helper()
	await(w.t, "an error to be reported", func() error {
		for _, kind := range []resource.Kind{resource.KindApiGateway, resource.KindStage} {
			docs, err := w.docs.Left(w.t.Context(), kind, id)
			must(w.t, err)
			for _, doc := range docs {
				if doc.LastError != nil {
					return nil
				}
			}
		}
		return errors.New("none")
	})
}
