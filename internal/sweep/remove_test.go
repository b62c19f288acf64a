package sweep_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/lease"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/sweep"
)

// Guards spec 1, fault 8: orphans go, in order, and are observed to be gone;
// the sweeper ends with nothing to report, and nothing else was touched.
func TestRemovesWhatIsLeftOfAGateway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, live := w.gone(), w.live()
	for _, id := range []string{gone, live} {
		w.namespace(id)
		w.environment(id)
		_, err := w.databases.EnsureDatabase(t.Context(), drivertest.Gateway(id, 3), resource.DatabaseName(id), resource.DatabaseUser(id), "secret")
		if err != nil {
			t.Fatal(err)
		}
	}
	s := w.sweeper(sweep.Options{Remove: true})
	report, err := s.Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.want(report,
		"database "+resource.DatabaseName(gone)+": removed",
		"Environment "+gone+"-dev: removed",
		"configmap "+gone+"/"+gone+"-config: removed",
		"namespace "+gone+": waiting",
	)
	drivertest.Eventually(t, func() (string, error) {
		report, err := s.Sweep(t.Context())
		if len(report.Orphans) > 0 {
			return report.Orphans[0].Name, err
		}
		return "", err
	})
	if drivertest.Live(t, namespaceRef(gone)) != nil {
		t.Error("the namespace is there")
	}
	if drivertest.Live(t, configMap(live)) == nil || w.count(resource.KindEnvironment) != 1 {
		t.Error("something of the other gateway is gone")
	}
	if there, err := w.databases.UserExists(t.Context(), resource.DatabaseUser(live)); err != nil || !there {
		t.Errorf("the other gateway's user: %v, %v", there, err)
	}
}

// Guards the rule that a child's dismantling is its own service's: the sweeper
// asks, once, and holds back what the service still needs.
func TestChildrenAreAskedAndWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.gone()
	w.namespace(id)
	stage := w.stage(id)
	s := w.sweeper(sweep.Options{Remove: true})
	for range 2 {
		report, err := s.Sweep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.want(report, "Stage "+stage+": asked", "configmap "+id+"/"+id+"-config: waiting", "namespace "+id+": waiting")
	}
	doc, err := w.docs.Stages.Get(t.Context(), stage)
	if err != nil {
		t.Fatal(err)
	}
	if doc.State != resource.Deleted || doc.Phase != resource.PhaseCreated || doc.Generation != 2 {
		t.Errorf("state %s, phase %s, generation %d: want Deleted once, by its state alone", doc.State, doc.Phase, doc.Generation)
	}
}

// Guards "report only": it is the default, and changes nothing.
func TestReportOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.gone()
	w.namespace(id)
	report, err := w.sweeper(sweep.Options{}).Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.want(report, "configmap "+id+"/"+id+"-config: found", "namespace "+id+": found")
	if drivertest.Live(t, configMap(id)) == nil {
		t.Error("it was removed")
	}
}

// Guards spec 4, "a holder that is paused and wakes up must do no harm": a
// sweeper that was stopped at the worst moment, while the gateway's document
// came back and its service went to work.
func TestPausedSweeperSparesWhatCameBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method string
		takes  bool
	}{
		"stopped before it stakes":  {"PATCH", false},
		"stopped before it deletes": {"DELETE", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			id := w.gone()
			w.namespace(id)
			faults := &drivertest.Faults{}
			s := w.sweeperOn(drivertest.Client(t, kube.Options{WrapTransport: faults.Wrap}), sweep.Options{})
			report := w.find(s)
			faults.On(drivertest.Hook{Method: test.method, Path: resource.ConfigMapName(id), Before: func() {
				w.revive(id)
				if test.takes {
					waiting, err := w.cluster.EnsureConfigMap(context.Background(), drivertest.Gateway(id, 2), map[string]string{"by": "the gateway"})
					if err != nil || waiting != "" {
						t.Errorf("the gateway's service: %q, %v", waiting, err)
					}
				}
			}})
			report, err := s.Remove(t.Context(), report)
			if err != nil {
				t.Error(err)
			}
			faults.Used(t)
			w.want(report, "configmap "+id+"/"+id+"-config: kept", "namespace "+id+": waiting")
			if drivertest.Live(t, configMap(id)) == nil {
				t.Error("the sweeper's late delete landed")
			}
		})
	}
}

// Guards what a person or a restored document has rebuilt between the report
// and the removal: everything is asked for again.
func TestEverythingIsAskedForAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.gone()
	w.namespace(id)
	w.environment(id)
	stage := w.stage(id)
	_, err := w.databases.EnsureDatabase(t.Context(), drivertest.Gateway(id, 1), resource.DatabaseName(id), resource.DatabaseUser(id), "secret")
	if err != nil {
		t.Fatal(err)
	}
	s := w.sweeper(sweep.Options{})
	report := w.find(s)
	w.revive(id)
	for i := range report.Orphans {
		// Each by itself: the order would hold the others back.
		one, err := s.Remove(t.Context(), &sweep.Report{Orphans: report.Orphans[i : i+1]})
		if err != nil {
			t.Error(err)
		}
		w.want(one, report.Orphans[i].Name+": kept")
	}
	if doc, err := w.docs.Stages.Get(t.Context(), stage); err != nil || doc.State != resource.Active {
		t.Errorf("stage: %v, %v", doc, err)
	}
	if w.count(resource.KindEnvironment) != 1 || drivertest.Live(t, configMap(id)) == nil {
		t.Error("something is gone")
	}
	if there, err := w.databases.DatabaseExists(t.Context(), resource.DatabaseName(id)); err != nil || !there {
		t.Errorf("database: %v, %v", there, err)
	}
}

// Guards spec 4 where the pause ends before the sweeper's timers fire: its
// lease's time is over, and it removes nothing under it.
func TestSweeperWithoutItsLeaseRemovesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.gone()
	w.namespace(id)
	s := w.sweeper(sweep.Options{})
	report := w.find(s)
	clock := clocktesting.NewFakeClock(time.Now())
	elector, err := lease.New(lease.Mongo(w.db), lease.Options{Holder: "paused", Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = elector.Run(ctx, sweep.LeaseName, func(ctx context.Context, _ int64) error {
		defer cancel()
		// Long enough to be overtaken; no renewal has been sent, no timer fired.
		clock.SetTime(clock.Now().Add(lease.DefaultRenewDeadline))
		report, err := s.Remove(ctx, report)
		if !errors.Is(err, lease.ErrLost) {
			t.Errorf("err = %v", err)
		}
		w.want(report, "configmap "+id+"/"+id+"-config: found", "namespace "+id+": found")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if drivertest.Live(t, configMap(id)) == nil {
		t.Error("it was removed")
	}
}

// Guards against a lost collection: orphans of many gateways at once are not
// removed.
func TestTooManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		w.environment(w.gone())
	}
	report, err := w.sweeper(sweep.Options{Remove: true, Limit: 2}).Sweep(t.Context())
	if !errors.Is(err, sweep.ErrTooMany) || len(report.Orphans) != 3 {
		t.Errorf("err = %v, %v", err, names(report))
	}
	if n := w.count(resource.KindEnvironment); n != 3 {
		t.Errorf("%d left", n)
	}
	if _, err = w.sweeper(sweep.Options{Remove: true, Limit: 3}).Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if n := w.count(resource.KindEnvironment); n != 0 {
		t.Errorf("%d left", n)
	}
}

// Guards objects that bear a label of ours and no gateway: they are reported,
// as kept, to a sweeper that looks at everything.
func TestObjectsWithoutAGatewayAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.live()
	w.namespace(id)
	ref := kube.Ref{Type: kube.ConfigMap, Namespace: id, Name: "stray"}
	obj := ref.Object()
	obj.SetLabels(map[string]string{resource.LabelManagedBy: resource.ManagedBy})
	create(t, ref, obj)
	w.ids = append(w.ids, "") // the world's sweeper looks at what has no gateway
	report := w.find(w.sweeper(sweep.Options{}))
	for _, o := range report.Orphans {
		if o.Name == ref.String() && o.Outcome == sweep.Kept {
			return
		}
	}
	t.Errorf("not among %v", names(report))
}

func create(t *testing.T, ref kube.Ref, obj *unstructured.Unstructured) {
	t.Helper()
	if _, err := drivertest.Raw(t).Resource(ref.Type.GVR()).Namespace(ref.Namespace).Create(t.Context(), obj, v1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
