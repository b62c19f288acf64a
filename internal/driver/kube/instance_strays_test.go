package kube_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
)

var (
	replicaSets = kube.Type{Group: "apps", Version: "v1", Resource: "replicasets"}
	pods        = kube.Type{Version: "v1", Resource: "pods"}
)

// abandon deletes an owner as a cluster does whose garbage collector misses its
// end: what it owned names an owner that is not there, and stays.
func abandon(t *testing.T, id string, owner, owned kube.Type, name string) {
	t.Helper()
	api := func(typ kube.Type) dynamic.ResourceInterface {
		return drivertest.Raw(t).Resource(typ.GVR()).Namespace(id)
	}
	orphan := v1.DeletePropagationOrphan
	if err := api(owner).Delete(t.Context(), name, v1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	drivertest.Eventually(t, func() (string, error) {
		_, err := api(owner).Get(t.Context(), name, v1.GetOptions{})
		if errors.IsNotFound(err) {
			return "", nil
		}
		return "the owner", err
	})
	list, err := api(owned).List(t.Context(), v1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("%d left, %v", len(list.Items), err)
	}
	for i := range list.Items {
		patch := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"gone.example.org/v1","kind":"Owner","name":"x","controller":true,"uid":%q}]}}`, testenv.RandomID(16))
		_, err := api(owned).Patch(t.Context(), list.Items[i].GetName(), types.MergePatchType, []byte(patch), v1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Guards: an instance is removed whose Deployment is gone, and whose
// ReplicaSets, or pods, the cluster's garbage collector has forgotten. Seen when
// a Deployment was deleted by hand while an API server was restarted: the
// gateway waited for its pods for ever.
func TestStraysAreRemoved(t *testing.T) {
	t.Parallel()
	for _, forgotten := range []string{"replica sets", "pods"} {
		t.Run(forgotten, func(t *testing.T) {
			t.Parallel()
			id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
			started(t, c, gateway(id))
			abandon(t, id, kube.Deployment, replicaSets, resource.InstanceName(id))
			if forgotten == "pods" {
				list, err := drivertest.Raw(t).Resource(replicaSets.GVR()).Namespace(id).List(t.Context(), v1.ListOptions{})
				if err != nil || len(list.Items) != 1 {
					t.Fatalf("%d replica sets, %v", len(list.Items), err)
				}
				abandon(t, id, replicaSets, pods, list.Items[0].GetName())
			}
			if podsOf(t, id) != 2 {
				t.Fatalf("%d pods before", podsOf(t, id))
			}
			drivertest.Eventually(t, func() (string, error) {
				return c.RemoveInstance(t.Context(), drivertest.Gateway(id, 2))
			})
			if left := podsOf(t, id); left > 0 {
				t.Errorf("reported gone with %d pods left", left)
			}
		})
	}
}

// Guards: a Deployment that is made again gets rid of the pods that the one
// before has left: they run an old configuration, and the Service sends them
// requests.
func TestStraysDoNotServe(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	started(t, c, gateway(id))
	abandon(t, id, kube.Deployment, replicaSets, resource.InstanceName(id))
	before := podsOf(t, id)
	started(t, c, gateway(id))
	drivertest.Eventually(t, func() (string, error) {
		if n := podsOf(t, id); n != before {
			return fmt.Sprintf("%d pods, where %d were", n, before), nil
		}
		return "", nil
	})
}
