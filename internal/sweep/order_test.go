package sweep_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/zap/zaptest"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/lease"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/sweep"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Guards the whole of spec 1, fault 8: the document of a gateway that is serving
// is removed by hand. Its children's services and the sweeper dismantle all of
// it between them, traffic first and data last, until nothing is left anywhere.
func TestRunningGatewayWhoseDocumentWasRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runPlatform()
	id := w.gone()
	if err := w.docs.ApiGateways.Insert(t.Context(), &resource.ApiGateway{
		Meta:      engine.Meta{ID: id, State: resource.Running, Phase: resource.PhaseCreating, Generation: 1},
		GatewayID: id, Name: "shop", Region: regionName,
	}); err != nil {
		t.Fatal(err)
	}
	drivertest.Eventually(t, func() (string, error) {
		gw, err := w.docs.ApiGateways.Get(t.Context(), id)
		if err != nil || gw.Phase == resource.PhaseStarted {
			return "", err
		}
		return gw.WaitingFor + " in " + string(gw.Phase), nil
	})
	if _, err := w.db.Collection(string(resource.KindApiGateway)).DeleteOne(t.Context(), bson.D{{Key: "_id", Value: id}}); err != nil {
		t.Fatal(err)
	}

	s := w.sweeper(sweep.Options{Remove: true})
	drivertest.Eventually(t, func() (string, error) {
		report, err := s.Sweep(t.Context())
		w.inOrder(id)
		if len(report.Orphans) > 0 {
			return report.Orphans[0].Name + ": " + report.Orphans[0].Note, err
		}
		return "", err
	})
	for _, kind := range resource.Kinds {
		if n := w.count(kind); n != 0 {
			t.Errorf("%d documents of %s left", n, kind)
		}
	}
	if left, err := w.cluster.ListManaged(t.Context(), id); err != nil || len(left) != 0 {
		t.Errorf("left in the cluster: %v, %v", left, err)
	}
	if there, err := w.databases.DatabaseExists(t.Context(), resource.DatabaseName(id)); err != nil || there {
		t.Errorf("database: %v, %v", there, err)
	}
}

// inOrder fails if traffic leads to pods that are gone, or pods run without
// their database.
func (w *world) inOrder(id string) {
	w.Helper()
	database, err := w.databases.DatabaseExists(w.Context(), resource.DatabaseName(id))
	if err != nil {
		w.Fatal(err)
	}
	pods := drivertest.Live(w.T, kube.Ref{Type: kube.Deployment, Namespace: id, Name: resource.InstanceName(id)}) != nil
	route := drivertest.Live(w.T, kube.Ref{Type: kube.ApisixRoute, Namespace: id, Name: resource.EnvironmentName(id, "dev")}) != nil
	if (pods && !database) || (route && !pods) {
		w.Errorf("route %v, pods %v, database %v: out of order", route, pods, database)
	}
}

// runPlatform runs the task services on the world's database until the test
// ends.
func (w *world) runPlatform() {
	w.Helper()
	p, err := platform.New(w.docs, []resource.Region{{
		Name: regionName, Kubeconfig: testenv.Kubeconfig(w), IngressClass: "apisix", DomainSuffix: "example.test",
		ClusterIssuer: "lockstep-selfsigned", RuntimeMongoURI: testenv.MongoURI(w), RuntimeImage: "runtime:1",
		RuntimeReplicas: 1, ApisixAcceptance: resource.AcceptedByAPIServer,
	}}, platform.Options{Engine: engine.Options{Holder: "r1"}, Log: zaptest.NewLogger(w)})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.Error(err)
		}
	})
}

// Guards spec 4's table: of many replicas one sweeps, and another goes on when
// that one shuts down.
func TestOneReplicaSweeps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	type replica struct {
		passes chan struct{}
		stop   func()
	}
	run := func(holder string) replica {
		elector, err := lease.New(lease.Mongo(w.db), lease.Options{Holder: holder, RetryPeriod: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		r := replica{passes: make(chan struct{}, 1000)}
		s := w.sweeperOf(sweep.Open(w.db, documents.Open(w.db)), nil, sweep.Options{
			Interval: 20 * time.Millisecond,
			OnReport: func(*sweep.Report, error) { r.passes <- struct{}{} },
		})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			done <- elector.Run(ctx, sweep.LeaseName, func(ctx context.Context, _ int64) error { return s.Run(ctx) })
		}()
		r.stop = func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		return r
	}
	first := run("first")
	<-first.passes
	second := run("second")
	for range 10 {
		<-first.passes
	}
	if len(second.passes) > 0 {
		t.Error("two sweep at once")
	}
	first.stop()
	<-second.passes
	second.stop()
}
