package platform_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Fault 2: a create that outlives a delete. A replica is stopped just before a
// step; its lock expires, a successor deletes the gateway; then the replica
// goes on where it was, for each of the steps that make something. In the end
// nothing is left.
//
// The protections: what is created for a lost claim is taken back
// (kube.Client.takeBack, mongoadmin's takeBackDatabase), and a child that was
// inserted is let go if its gateway has gone (documents.ensured). Without the
// first the namespace stays, without the second documents do: seen to fail.
func TestStepsThatOutliveADeletion(t *testing.T) {
	t.Parallel()
	points := []point{
		{resource.KindApiGateway, resource.PhaseCreating, "namespace"},
		{resource.KindApiGateway, resource.PhaseCreating, "database"},
		{resource.KindApiGateway, resource.PhaseCreating, "environments"},
		{resource.KindApiGateway, resource.PhaseCreating, "config map"},
		{resource.KindApiGateway, resource.PhaseCreating, "runtime domain"},
		{resource.KindApiGateway, resource.PhaseCreating, "stages"},
		{resource.KindApiGateway, resource.PhaseStarting, "instance"},
		{resource.KindRuntimeDomain, resource.PhaseCreating, "plugin config"},
		{resource.KindRuntimeDomain, resource.PhaseCreating, "routes"},
		{resource.KindStage, resource.PhaseCreating, "functions"},
		{resource.KindStage, resource.PhaseCreating, "routes"},
	}
	w := newWorld(t)
	stopped := newBreakpoints()
	zombie := w.replica("zombie", withLockTimeout(lockTimeout), withWorkers(32), withAround(stopped.around(
		func(ctx context.Context, run func(context.Context) (engine.Outcome, error)) (engine.Outcome, error) {
			<-stopped.goOn
			// A process that was stopped has not heard that its time is over.
			return run(context.WithoutCancel(ctx))
		})))
	ids := make([]string, len(points))
	for i, p := range points {
		gw := w.newGateway()
		ids[i] = gw.ID
		stopped.at(gw.ID, p)
		must(t, w.docs.ApiGateways.Insert(t.Context(), gw))
		zombie.Hint(resource.KindApiGateway, gw.ID)
	}
	await(t, "the replica to be stopped at every step", func() error { return stopped.missing() })
	zombie.net.Cut()

	successor := w.replica("successor", withLockTimeout(lockTimeout))
	successor.set(resource.Deleted, ids...)
	w.gone(ids...)

	zombie.net.Mend()
	close(stopped.goOn)
	stopped.wg.Wait()
	await(t, "what late steps have made to be gone", func() error {
		if left := append(w.documentsOf(ids...), w.leftOf(ids...)...); len(left) > 0 {
			return errors.New(strings.Join(left, "; "))
		}
		return nil
	})
}

// point is a step of a transition.
type point struct {
	kind  resource.Kind
	phase engine.Phase
	step  string
}

func (p point) String() string { return fmt.Sprintf("%s %s/%s", p.kind, p.phase, p.step) }

// breakpoints are where a replica is stopped, each once.
type breakpoints struct {
	goOn chan struct{}
	wg   sync.WaitGroup // of those that were met

	mu    sync.Mutex
	armed map[string][]point // by gateway
}

func newBreakpoints() *breakpoints {
	return &breakpoints{goOn: make(chan struct{}), armed: map[string][]point{}}
}

// at arms a breakpoint of a gateway.
func (b *breakpoints) at(gatewayID string, p point) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed[gatewayID] = append(b.armed[gatewayID], p)
}

// meet reports whether a step is a breakpoint, and disarms it.
func (b *breakpoints) meet(kind resource.Kind, doc engine.Document, step string) bool {
	m := doc.Lifecycle()
	gatewayID, _, _ := strings.Cut(m.ID, "-")
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.armed[gatewayID], point{kind, m.Phase, step})
	if i < 0 {
		return false
	}
	if b.armed[gatewayID] = slices.Delete(b.armed[gatewayID], i, i+1); len(b.armed[gatewayID]) == 0 {
		delete(b.armed, gatewayID)
	}
	return true
}

// missing says which breakpoints have not been met.
func (b *breakpoints) missing() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.armed) > 0 {
		return fmt.Errorf("not met: %v", b.armed)
	}
	return nil
}

// around does something else instead of the steps that are breakpoints.
func (b *breakpoints) around(instead func(context.Context, func(context.Context) (engine.Outcome, error)) (engine.Outcome, error)) platform.Around {
	return func(ctx context.Context, kind resource.Kind, doc engine.Document, step string,
		run func(context.Context) (engine.Outcome, error)) (engine.Outcome, error) {
		if !b.meet(kind, doc, step) {
			return run(ctx)
		}
		b.wg.Add(1)
		defer b.wg.Done()
		return instead(ctx, run)
	}
}

// The same at a single request: the Deployment's create is on its way when the
// lock expires. The successor starts the gateway, the user stops it, and then
// the create arrives: a stopped gateway has no pods.
//
// Without takeBack the Deployment stays: seen to fail.
func TestRequestThatOutlivesAStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	zombie := w.replica("zombie", withLockTimeout(lockTimeout))
	sent, arrive, arrived := make(chan struct{}), make(chan struct{}), make(chan int, 1)
	var once sync.Once
	off := zombie.http.on(func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/deployments")
	}, func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		once.Do(func() { close(sent) })
		<-arrive
		response, err := next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
		if err == nil {
			arrived <- response.StatusCode
		}
		return response, err
	})
	id := w.gateway()
	<-sent
	zombie.net.Cut()
	successor := w.replica("successor", withLockTimeout(lockTimeout))
	w.reaches(resource.Running, resource.PhaseStarted, id)
	successor.set(resource.Stopped, id)
	w.reaches(resource.Stopped, resource.PhaseStopped, id)

	zombie.net.Mend()
	close(arrive)
	if status := <-arrived; status != http.StatusCreated {
		t.Fatalf("the late create was answered with %d: the test proves nothing", status)
	}
	off()
	await(t, "the late Deployment to be gone", func() error {
		if w.object(deployment(id)) != nil {
			return fmt.Errorf("it is there")
		}
		return nil
	})
	w.reaches(resource.Stopped, resource.PhaseStopped, id)
}

// A child that is made while its gateway is being deleted goes with it (fault
// 8 as well): the last step looks once more. Without the step "nothing left"
// the function stays: seen to fail.
func TestChildMadeDuringTheDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica("r")
	id := w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, id)
	// Something in the namespace keeps it from going.
	hold := in(kube.ConfigMap, id, "held")
	ctx, cancel := bounded(t)
	defer cancel()
	obj := hold.Object()
	obj.SetFinalizers([]string{"test.lockstep.io/held"})
	_, err := w.api(hold).Create(ctx, obj, metav1.CreateOptions{})
	must(t, err)
	r.set(resource.Deleted, id)
	await(t, "the namespace to be terminating", func() error {
		if gw := w.get(id); gw.Step != "namespace" || gw.WaitingFor == "" {
			return fmt.Errorf("%s", witness.Stands(&gw.Meta))
		}
		return nil
	})
	must(t, w.docs.CloudFunctions.Insert(ctx, &resource.CloudFunction{
		Meta: newMeta(id + "-late"), GatewayID: id, Region: w.region.Name, Name: "late", Runtime: "javascript", Code: "export {}",
	}))
	w.release(hold)
	w.gone(id)
}
