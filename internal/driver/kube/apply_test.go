package kube_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// Guards: every object can be traced to its document, which the sweeper and
// the fence rely on.
func TestApplyMarksTheObject(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	if applied := apply(t, c, id, "a", 7); applied.Change != kube.Created {
		t.Errorf("change = %s, want created", applied.Change)
	}
	live := drivertest.Live(t, configMapRef(id))
	labels, annotations := live.GetLabels(), live.GetAnnotations()
	for key, want := range map[string]string{
		resource.LabelManagedBy: "lockstep", resource.LabelGateway: id, resource.LabelKind: "ApiGateway",
	} {
		if labels[key] != want {
			t.Errorf("label %s = %q, want %q", key, labels[key], want)
		}
	}
	if annotations[resource.AnnotationOwner] != id || annotations[resource.AnnotationToken] != "7" {
		t.Errorf("annotations = %v", annotations)
	}
}

// Guards: what is as wanted costs a look and no write, not even of a newer
// token, so that idling gateways cost the API server nothing.
func TestApplyWritesNothingWhenNothingChanged(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	apply(t, c, id, "a", 1)
	apply(t, c, id, "a", 2) // seals what was created
	before := drivertest.Live(t, configMapRef(id)).GetResourceVersion()
	for token := int64(3); token < 6; token++ {
		if applied := apply(t, c, id, "a", token); applied.Change != kube.Unchanged {
			t.Errorf("change = %s, want unchanged", applied.Change)
		}
	}
	if after := drivertest.Live(t, configMapRef(id)).GetResourceVersion(); after != before {
		t.Errorf("resourceVersion went from %s to %s", before, after)
	}
}

// Guards: a field that is no longer wanted is removed, although the object was
// made by a create, whose fields a server-side apply does not own by itself;
// and others' fields are left alone.
func TestApplyRemovesWhatIsNoLongerWanted(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	first := configMap(id, "a")
	first.Object["data"] = map[string]any{"value": "a", "old": "x"}
	if _, err := c.Apply(t.Context(), drivertest.Gateway(id, 1), first); err != nil {
		t.Fatal(err)
	}
	edit(t, configMapRef(id), map[string]any{"data": map[string]any{"theirs": "y"}})

	if applied := apply(t, c, id, "a", 2); applied.Change != kube.Updated {
		t.Errorf("change = %s, want updated", applied.Change)
	}
	data := drivertest.Live(t, configMapRef(id)).Object["data"].(map[string]any)
	if _, there := data["old"]; there || data["theirs"] != "y" || data["value"] != "a" {
		t.Errorf("data = %v: want value and theirs, not old", data)
	}
}

// Guards: drift (spec 1, fault 12): what was changed or removed by hand is put
// back, though nothing in the document has changed.
func TestApplyRepairsDrift(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	apply(t, c, id, "a", 1)
	edit(t, configMapRef(id), map[string]any{"data": map[string]any{"value": "by hand"}})
	if applied := apply(t, c, id, "a", 1); applied.Change != kube.Updated || value(t, applied.Object) != "a" {
		t.Errorf("change = %s, value %q", applied.Change, value(t, applied.Object))
	}
	remove(t, configMapRef(id))
	if applied := apply(t, c, id, "a", 1); applied.Change != kube.Created {
		t.Errorf("change = %s, want created", applied.Change)
	}
}

// Guards: a conflict with a controller that writes status or annotations at
// the same time is no failure; the write looks again.
func TestApplyLooksAgainAfterAConflict(t *testing.T) {
	t.Parallel()
	id, faults := drivertest.Namespace(t), &drivertest.Faults{}
	c := drivertest.Client(t, kube.Options{WrapTransport: faults.Wrap})
	apply(t, c, id, "a", 1)
	for _, isApply := range []bool{false, true} {
		faults.On(drivertest.Hook{Method: "PATCH", Path: resource.ConfigMapName(id), Apply: isApply, Before: func() {
			edit(t, configMapRef(id), map[string]any{"metadata": map[string]any{"annotations": map[string]any{"busy": rnd()}}})
		}})
	}
	if applied := apply(t, c, id, "b", 1); applied.Change != kube.Updated || value(t, applied.Object) != "b" {
		t.Errorf("change = %s", applied.Change)
	}
	faults.Used(t)
}

// Guards: an object that is being deleted is waited for, not written to, and
// "delete was accepted" is not "gone".
func TestTerminatingIsWaitedFor(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	owner, ref := drivertest.Gateway(id, 1), configMapRef(id)
	apply(t, c, id, "a", 1)
	edit(t, ref, map[string]any{"metadata": map[string]any{"finalizers": []string{"example.com/wait"}}})

	for range 2 {
		if gone, err := c.Delete(t.Context(), owner, ref); gone || err != nil {
			t.Fatalf("delete: gone %v, %v", gone, err)
		}
	}
	applied, err := c.Apply(t.Context(), owner, configMap(id, "a"))
	if err != nil || applied.Waiting == "" {
		t.Errorf("apply: waiting %q, %v", applied.Waiting, err)
	}
	edit(t, ref, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	if gone, err := c.Delete(t.Context(), owner, ref); !gone || err != nil {
		t.Errorf("delete: gone %v, %v", gone, err)
	}
}

// Guards: an object that stays invalid however often it is applied is told
// from one that may work later.
func TestInvalidIsTerminal(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	obj := configMap(id, "a")
	obj.Object["data"] = map[string]any{"not a valid key": "a"}
	if _, err := c.Apply(t.Context(), drivertest.Gateway(id, 1), obj); !isTerminal(err) {
		t.Errorf("err = %v, want a terminal one", err)
	}
}

// edit merges a patch into an object, as a person or another controller would.
func edit(t testing.TB, ref kube.Ref, patch map[string]any) {
	t.Helper()
	data, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	_, err = drivertest.Raw(t).Resource(ref.Type.GVR()).Namespace(ref.Namespace).
		Patch(t.Context(), ref.Name, types.MergePatchType, data, v1.PatchOptions{FieldManager: "someone"})
	if err != nil {
		t.Fatal(err)
	}
}

// remove deletes an object, as a person would.
func remove(t testing.TB, ref kube.Ref) {
	t.Helper()
	err := drivertest.Raw(t).Resource(ref.Type.GVR()).Namespace(ref.Namespace).
		Delete(t.Context(), ref.Name, v1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func rnd() string { return drivertest.GatewayID() }

// create makes an object, as a person would.
func create(t testing.TB, obj *unstructured.Unstructured) {
	t.Helper()
	resource := obj.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(obj.GetKind()) + "s")
	if _, err := drivertest.Raw(t).Resource(resource).Namespace(obj.GetNamespace()).Create(t.Context(), obj, v1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
