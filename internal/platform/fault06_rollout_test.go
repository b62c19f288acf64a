package platform_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Fault 6: `Started` reported from the previous ReplicaSet's status after an
// update. While the new pods are not ready, however well the old ones serve, a
// restart is not over, and a settings change is not said to be in place.
//
// The protection is kube.rolloutWaits. Looking only at how many pods are
// available, or at the Deployment's condition Available, lets both through:
// seen to fail.
func TestStartedMeansTheNewPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica("r")
	restarted, changed := w.gateway(), w.gateway()
	both := []string{restarted, changed}
	w.reaches(resource.Running, resource.PhaseStarted, both...)
	before := map[string][]string{restarted: w.pods(restarted), changed: w.pods(changed)}

	for _, id := range both {
		w.change(id, map[string]any{"runtime.cpu": tooMuch})
	}
	r.set(resource.Restarting, restarted)
	r.Hint(resource.KindApiGateway, changed)
	for _, id := range both {
		await(t, "the new pods of "+id+" to be waited for", func() error {
			if gw := w.get(id); gw.Step != "pods ready" || gw.WaitingFor == "" {
				return fmt.Errorf("%s", witness.Stands(&gw.Meta))
			}
			return nil
		})
	}
	holds(t, 4*time.Second, "while the new pods are not ready", func() error {
		if gw := w.get(restarted); gw.Phase != resource.PhaseStarting || gw.State != resource.Restarting {
			return fmt.Errorf("the restart is over: %s", witness.Stands(&gw.Meta))
		}
		gw := w.get(changed)
		if gw.WaitingFor == "" && gw.LockedBy == "" {
			return fmt.Errorf("the change counts as made: %s", witness.Stands(&gw.Meta))
		}
		return nil
	})
	now, err := w.docs.ApiGateways.Now(t.Context())
	must(t, err)
	if e, _ := r.Explain(resource.KindApiGateway, &w.get(changed).Meta, now); e.Condition == engine.IsSettled {
		t.Errorf("the change is explained as settled: %s", e.Summary)
	}
	for _, id := range both {
		if n := w.available(id); n < int64(w.region.RuntimeReplicas) {
			t.Errorf("only %d of the old pods of %s serve", n, id)
		}
		w.change(id, map[string]any{"runtime.cpu": "1m"})
		r.Hint(resource.KindApiGateway, id)
	}
	w.reaches(resource.Running, resource.PhaseStarted, both...)
	for _, id := range both {
		for _, pod := range w.pods(id) {
			for _, old := range before[id] {
				if pod == old {
					t.Errorf("pod %s of before is still there", pod)
				}
			}
		}
		if n := w.replicaSets(id); n != 1 {
			t.Errorf("%d ReplicaSets of %s have pods", n, id)
		}
		w.allReady(id)
	}
}

var podType = kube.Type{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true}

// pods names a gateway's pods that are not on their way out.
func (w *world) pods(id string) (names []string) {
	w.t.Helper()
	for _, pod := range w.listPods(id) {
		names = append(names, pod.GetName())
	}
	return names
}

func (w *world) listPods(id string) (live []unstructured.Unstructured) {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	list, err := w.kube.Resource(podType.GVR()).Namespace(id).List(ctx, metav1.ListOptions{})
	must(w.t, err)
	for _, pod := range list.Items {
		if pod.GetDeletionTimestamp() == nil {
			live = append(live, pod)
		}
	}
	return live
}

// allReady fails unless there are as many pods as wanted, and all are ready.
func (w *world) allReady(id string) {
	w.t.Helper()
	pods := w.listPods(id)
	if len(pods) != int(w.region.RuntimeReplicas) {
		w.t.Errorf("gateway %s has %d pods", id, len(pods))
	}
	for i := range pods {
		ready := false
		for _, c := range kube.Conditions(&pods[i]) {
			ready = ready || c.Type == "Ready" && c.Status == "True"
		}
		if !ready {
			w.t.Errorf("gateway %s is Started with the pod %s not ready", id, pods[i].GetName())
		}
	}
}
