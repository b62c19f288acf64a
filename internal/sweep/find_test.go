package sweep_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/sweep"
)

// Guards spec 1, fault 8: what is left of a gateway whose document is gone is
// found, in all three places; and what has its document is not.
func TestFindsWhatIsLeftOfAGateway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, live := w.gone(), w.live()
	for _, id := range []string{gone, live} {
		w.namespace(id)
		w.stage(id)
		w.environment(id)
		_, err := w.databases.EnsureDatabase(t.Context(), drivertest.Gateway(id, 1), resource.DatabaseName(id), resource.DatabaseUser(id), "secret")
		if err != nil {
			t.Fatal(err)
		}
	}
	report := w.find(w.sweeper(sweep.Options{}))
	w.want(report,
		"Stage "+gone+"-dev: found",
		"database "+resource.DatabaseName(gone)+": found",
		"Environment "+gone+"-dev: found",
		"configmap "+gone+"/"+gone+"-config: found",
		"namespace "+gone+": found",
	)
	if report.Removable() != 5 || len(report.Gateways()) != 1 {
		t.Errorf("%d removable, of %v", report.Removable(), report.Gateways())
	}
	for _, o := range report.Orphans {
		if o.Reason != "ApiGateway "+gone+" is gone" || o.GatewayID != gone {
			t.Errorf("%+v", o)
		}
	}
}

// Guards objects of a document that went without them, below a gateway that
// lives; and those whose document is there, which are its service's to remove,
// also when that document is an orphan itself.
func TestObjectsGoByTheDocumentThatOwnsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	live, gone := w.live(), w.gone()
	for _, id := range []string{live, gone} {
		w.namespace(id)
		owner := drivertest.Owner(resource.KindStage, id, w.stage(id), 1)
		_, waiting, err := w.cluster.EnsureSecret(t.Context(), owner, id, "of-the-stage", func() map[string][]byte { return nil })
		if err != nil || waiting != "" {
			t.Fatal(waiting, err)
		}
	}
	if err := w.docs.RemoveLeaf(t.Context(), resource.KindStage, live); err != nil {
		t.Fatal(err)
	}
	report := w.find(w.sweeper(sweep.Options{}))
	found := strings.Join(names(report), "\n")
	if !strings.Contains(found, "secret "+live+"/of-the-stage: found") {
		t.Errorf("not found: the secret whose stage is gone: %s", found)
	}
	if strings.Contains(found, "secret "+gone+"/of-the-stage") {
		t.Errorf("found: a secret whose stage is there: %s", found)
	}
	if strings.Contains(found, "namespace "+live) {
		t.Errorf("found: the namespace of a gateway that lives: %s", found)
	}
}

// Guards an insert that is under way: while something of a gateway is younger
// than the grace, nothing of it is an orphan.
func TestGrace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.gone()
	w.namespace(id)
	w.environment(id)
	w.want(w.find(w.sweeper(sweep.Options{Grace: sweep.DefaultGrace})))
}

// Guards other installations on the same cluster, and gateways that are younger
// than the backup this database was restored from: ids that were never given
// out here are reported, and kept.
func TestKeepsWhatItNeverGaveOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.adopt(drivertest.GatewayID())
	w.namespace(id)
	s := w.sweeper(sweep.Options{})
	report := w.find(s)
	w.want(report, "configmap "+id+"/"+id+"-config: kept", "namespace "+id+": kept")
	if report.Removable() != 0 {
		t.Errorf("%d removable", report.Removable())
	}
	report, err := s.Remove(t.Context(), report)
	if err != nil {
		t.Fatal(err)
	}
	w.want(report, "configmap "+id+"/"+id+"-config: kept", "namespace "+id+": kept")
	if drivertest.Live(t, configMap(id)) == nil {
		t.Error("it was removed")
	}
}

// Guards spec 1, fault 1: a database that cannot be read is an error, and
// nothing is absent because of it.
func TestUnreadableDocumentsAreNotAbsent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.gone()
	w.namespace(id)
	client, err := mongo.Connect()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Disconnect(context.Background()); err != nil {
		t.Fatal(err)
	}
	db := client.Database(w.db.Name())
	report, err := w.sweeperOf(sweep.Open(db, documents.Open(db)), w.cluster, sweep.Options{}).Find(t.Context())
	if err == nil || len(report.Orphans) != 0 {
		t.Errorf("err = %v, found %v", err, names(report))
	}

	// The same if only the question for the gateways fails.
	broken := failing{Documents: sweep.Open(w.db, w.docs), err: errors.New("boom")}
	report, err = w.sweeperOf(broken, w.cluster, sweep.Options{}).Find(t.Context())
	if !errors.Is(err, broken.err) || len(report.Orphans) != 0 {
		t.Errorf("err = %v, found %v", err, names(report))
	}
}

// failing cannot say which documents exist.
type failing struct {
	sweep.Documents
	err error
}

func (f failing) Missing(context.Context, resource.Kind, []string) ([]string, error) {
	return nil, f.err
}

// Guards against answers that are wrong once, as DocumentDB's have been.
func TestOneWrongAnswerIsNotBelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.live()
	w.namespace(id)
	w.stage(id)
	docs := &forgetful{Documents: sweep.Open(w.db, w.docs)}
	w.want(w.find(w.sweeperOf(docs, w.cluster, sweep.Options{})))
	if !docs.forgot {
		t.Error("it was not asked")
	}
}

// forgetful says once that all is missing.
type forgetful struct {
	sweep.Documents
	forgot bool
}

func (f *forgetful) Missing(ctx context.Context, kind resource.Kind, ids []string) ([]string, error) {
	if !f.forgot {
		f.forgot = true
		return ids, nil
	}
	return f.Documents.Missing(ctx, kind, ids)
}

// Guards spec 1, fault 1, on the cluster: a list that fails for one type (a
// proxy answers, the CRD is gone) is an error. What else was found is reported,
// but nothing is removed where something may be unseen.
func TestUnreadableTypesHoldTheirRegionUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.gone()
	w.namespace(id)
	faults := &drivertest.Faults{}
	cluster := drivertest.Client(t, kube.Options{WrapTransport: faults.Wrap})
	faults.On(drivertest.Hook{
		Method: http.MethodGet, Path: "/apisixroutes", Always: true,
		Answer: drivertest.Reply(http.StatusNotFound, "text/html", "<h1>404</h1>"),
	})
	s := w.sweeperOn(cluster, sweep.Options{})
	report, err := s.Find(t.Context())
	if err == nil || !strings.Contains(err.Error(), "apisixroutes") {
		t.Errorf("err = %v", err)
	}
	w.want(report, "configmap "+id+"/"+id+"-config: found", "namespace "+id+": found")
	report, err = s.Remove(t.Context(), report)
	if err != nil {
		t.Fatal(err)
	}
	w.want(report, "configmap "+id+"/"+id+"-config: waiting", "namespace "+id+": waiting")
	if drivertest.Live(t, configMap(id)) == nil {
		t.Error("it was removed")
	}
}
