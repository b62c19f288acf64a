package sweep_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.uber.org/zap/zaptest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/driver/mongoadmin"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/sweep"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// world is a database of the test's own, with gateways on the real cluster and
// server that all tests share. Its sweepers look at its gateways only.
type world struct {
	*testing.T
	db        *mongo.Database
	docs      *documents.Documents
	cluster   *kube.Client
	databases *mongoadmin.Client
	ids       []string
}

const regionName = "test"

func newWorld(t *testing.T) *world {
	t.Helper()
	db := testenv.Database(t)
	region := drivertest.Region(t)
	region.RuntimeMongoURI = testenv.MongoURI(t)
	databases, err := mongoadmin.New(region, mongoadmin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = databases.Close(context.Background()) })
	return &world{
		T: t, db: db, docs: documents.Open(db), databases: databases,
		cluster: drivertest.Client(t, kube.Options{}),
	}
}

// sweeper has no grace, unless the options say so.
func (w *world) sweeper(opts sweep.Options) *sweep.Sweeper {
	return w.sweeperOn(w.cluster, opts)
}

func (w *world) sweeperOn(cluster sweep.Cluster, opts sweep.Options) *sweep.Sweeper {
	return w.sweeperOf(sweep.Open(w.db, w.docs), cluster, opts)
}

func (w *world) sweeperOf(docs sweep.Documents, cluster sweep.Cluster, opts sweep.Options) *sweep.Sweeper {
	if opts.Grace == 0 {
		opts.Grace = -1
	}
	opts.Only = func(id string) bool { return slices.Contains(w.ids, id) }
	opts.Log = zaptest.NewLogger(w)
	return sweep.New(docs, []sweep.Region{{Name: regionName, Cluster: cluster, Databases: w.databases}}, opts)
}

// gone is the id of a gateway that was, and has no document.
func (w *world) gone() string {
	w.Helper()
	id, err := w.docs.NewGatewayID(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return w.adopt(id)
}

// adopt makes an id one of this world's, to be cleaned up after.
func (w *world) adopt(id string) string {
	w.ids = append(w.ids, id)
	w.Cleanup(func() {
		ctx := context.Background()
		err := drivertest.Raw(w).Resource(kube.Namespace.GVR()).Delete(ctx, id, v1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			err = nil
		}
		err = errors.Join(err, w.databases.DropUser(ctx, resource.DatabaseUser(id)), w.databases.DropDatabase(ctx, resource.DatabaseName(id)))
		if err != nil {
			w.Errorf("clean up after %s: %v", id, err)
		}
	})
	return id
}

// live is the id of a gateway that has its document.
func (w *world) live() string {
	w.Helper()
	id := w.gone()
	w.revive(id)
	return id
}

// revive inserts a gateway's document.
func (w *world) revive(id string) {
	w.Helper()
	err := w.docs.ApiGateways.Insert(context.Background(), &resource.ApiGateway{
		Meta: engine.Meta{ID: id, State: resource.Running, Phase: resource.PhaseCreating}, GatewayID: id, Region: regionName,
	})
	if err != nil {
		w.Error(err)
	}
}

// namespace makes a gateway's namespace and config map, under token 1.
func (w *world) namespace(id string) {
	w.Helper()
	owner := drivertest.Gateway(id, 1)
	waiting, err := w.cluster.EnsureNamespace(w.Context(), owner)
	if err == nil && waiting == "" {
		waiting, err = w.cluster.EnsureConfigMap(w.Context(), owner, map[string]string{"by": "the gateway"})
	}
	if err != nil || waiting != "" {
		w.Fatalf("make the namespace: %q, %v", waiting, err)
	}
}

func configMap(id string) kube.Ref {
	return kube.Ref{Type: kube.ConfigMap, Namespace: id, Name: resource.ConfigMapName(id)}
}

func namespaceRef(id string) kube.Ref { return kube.Ref{Type: kube.Namespace, Name: id} }

// child inserts a document below a gateway.
func (w *world) stage(id string) string {
	w.Helper()
	name := resource.EnvironmentName(id, "dev")
	err := w.docs.Stages.Insert(w.Context(), &resource.Stage{
		Meta:      engine.Meta{ID: name, State: resource.Active, Phase: resource.PhaseCreated, Generation: 1},
		GatewayID: id, Region: regionName, Environment: "dev",
	})
	if err != nil {
		w.Fatal(err)
	}
	return name
}

// environment inserts a leaf below a gateway.
func (w *world) environment(id string) string {
	w.Helper()
	name := resource.EnvironmentName(id, "dev")
	err := w.docs.Environments.Insert(w.Context(), &resource.Environment{
		Meta: engine.Meta{ID: name, State: resource.Active, Phase: resource.PhaseCreated}, GatewayID: id, Name: "dev",
	})
	if err != nil {
		w.Fatal(err)
	}
	return name
}

// count counts a kind's documents.
func (w *world) count(kind resource.Kind) int {
	w.Helper()
	n, err := w.db.Collection(string(kind)).CountDocuments(w.Context(), bson.D{})
	if err != nil {
		w.Fatal(err)
	}
	return int(n)
}

// find expects a complete report.
func (w *world) find(s *sweep.Sweeper) *sweep.Report {
	w.Helper()
	report, err := s.Find(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return report
}

// names are the names of a report's orphans, with their outcomes.
func names(report *sweep.Report) []string {
	var names []string
	for _, o := range report.Orphans {
		names = append(names, o.Name+": "+string(o.Outcome))
	}
	return names
}

func (w *world) want(report *sweep.Report, want ...string) {
	w.Helper()
	if got := names(report); !slices.Equal(got, want) {
		w.Errorf("report = %q, want %q", got, want)
		for _, o := range report.Orphans {
			w.Logf("%s: %s %s", o.Name, o.Outcome, o.Note)
		}
	}
}
