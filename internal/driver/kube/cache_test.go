package kube_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// watching returns a client that watches, and a channel of the ids of gateways
// that it was told of.
func watching(t *testing.T) (*kube.Client, chan string) {
	t.Helper()
	c, heard := drivertest.Client(t, kube.Options{}), make(chan string, 10_000)
	c.OnChange(func(kind resource.Kind, id string) {
		if kind == resource.KindApiGateway {
			heard <- id
		}
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, heard
}

func hear(t testing.TB, heard chan string, id, what string) {
	t.Helper()
	deadline := time.After(drivertest.Patience)
	for {
		select {
		case got := <-heard:
			if got == id {
				return
			}
		case <-deadline:
			t.Fatalf("no hint of %s", what)
		}
	}
}

// Guards: what happens in the cluster wakes the document's task service at
// once: what it made, what others changed or deleted, what controllers report.
func TestOnChange(t *testing.T) {
	t.Parallel()
	id, other := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	_, heard := watching(t)
	apply(t, other, id, "a", 1)
	hear(t, heard, id, "a create")
	edit(t, configMapRef(id), map[string]any{"data": map[string]any{"value": "by hand"}})
	hear(t, heard, id, "a change by hand")
	remove(t, configMapRef(id))
	hear(t, heard, id, "a delete")
}

// Guards: the marks that claims leave on objects wake no one. A claim that
// woke its own document would be followed by another, for ever.
func TestOwnMarksAreNoHint(t *testing.T) {
	t.Parallel()
	id, other := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	apply(t, other, id, "a", 1)
	_, heard := watching(t)
	apply(t, other, id, "a", 2) // seals: a write of marks alone
	edit(t, kube.Ref{Type: kube.Namespace, Name: id}, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{resource.AnnotationToken: "3", kube.AnnotationApplied: "3"}}})

	// A change that is a hint ends the wait: the marks came before it.
	marker := drivertest.Namespace(t)
	apply(t, other, marker, "a", 1)
	for got := ""; got != marker; {
		select {
		case got = <-heard:
		case <-time.After(drivertest.Patience):
			t.Fatal("no hint of anything")
		}
		if got == id {
			t.Error("a mark was a hint")
		}
	}
}

// Guards: the cache is never proof of absence. An object that the watch has
// not seen, because it is behind or the object lost its label, is looked for.
func TestObserveConfirmsAbsence(t *testing.T) {
	t.Parallel()
	id, other := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	c, heard := watching(t)
	if _, err := other.EnsureInstance(t.Context(), drivertest.Gateway(id, 1), gateway(id), settings); err != nil {
		t.Fatal(err)
	}
	hear(t, heard, id, "the deployment")
	edit(t, deploymentRef(id), map[string]any{"metadata": map[string]any{"labels": map[string]any{resource.LabelManagedBy: nil}}})
	drivertest.Eventually(t, func() (string, error) {
		obj, err := c.Observe(t.Context(), deploymentRef(id))
		if obj == nil {
			t.Fatal("observed as absent")
		}
		if obj.GetLabels()[resource.LabelManagedBy] != "" {
			return "the watch to drop it", err
		}
		return "", err
	})
	missing := kube.Ref{Type: kube.Deployment, Namespace: id, Name: "missing"}
	if obj, err := c.Observe(t.Context(), missing); obj != nil || err != nil {
		t.Errorf("missing: %v, %v", obj, err)
	}
}

// Guards: readiness works off the watch too, and the instance that was ready
// before an update is not reported from a copy that is behind.
func TestReadyWithAWatch(t *testing.T) {
	t.Parallel()
	id := drivertest.Namespace(t)
	c, _ := watching(t)
	gw := gateway(id)
	started(t, c, gw)
	for range 3 {
		gw.Revision++
		if _, err := c.EnsureInstance(t.Context(), drivertest.Gateway(id, 1), gw, settings); err != nil {
			t.Fatal(err)
		}
		drivertest.Eventually(t, func() (string, error) { return c.InstanceReady(t.Context(), gw, settings) })
		// Nothing else changes it: as it is now it was when it was ready.
		live := drivertest.Live(t, deploymentRef(id))
		observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
		updated, _, _ := unstructured.NestedInt64(live.Object, "status", "updatedReplicas")
		revision, _, _ := unstructured.NestedString(live.Object, "spec", "template", "metadata", "annotations", kube.AnnotationRevision)
		if observed != live.GetGeneration() || updated != 2 || revision != strconv.FormatInt(gw.Revision, 10) {
			t.Errorf("ready with generation %d of %d observed, %d pods updated, revision %s, want 2 pods of revision %d",
				observed, live.GetGeneration(), updated, revision, gw.Revision)
		}
	}
}

// Guards: a cluster that cannot be reached does not hold up the start for
// ever, says what could not be listed, and can be stopped.
func TestStartAgainstADeadCluster(t *testing.T) {
	t.Parallel()
	faults := &drivertest.Faults{}
	for _, typ := range kube.Types {
		faults.On(drivertest.Hook{Method: "GET", Path: "/" + typ.Resource, Always: true, Answer: drivertest.Reply(503, "text/plain", "down")})
	}
	c := drivertest.Client(t, kube.Options{WrapTransport: faults.Wrap})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := c.Start(ctx); err == nil || !strings.Contains(err.Error(), "apisixroutes") {
		t.Errorf("err = %v", err)
	}
	c.Stop()
}
