package kube_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

var settings = map[string]string{"LOG_LEVEL": "info"}

func gateway(id string) *resource.ApiGateway {
	return &resource.ApiGateway{GatewayID: id, Region: "test", Revision: 1, Runtime: resource.Runtime{
		Env: map[string]string{"B": "2", "A": "1"}, CPU: "0.1", Memory: "64Mi",
	}}
}

func deploymentRef(id string) kube.Ref {
	return kube.Ref{Type: kube.Deployment, Namespace: id, Name: resource.InstanceName(id)}
}

// started makes an instance and waits until it is ready.
func started(t *testing.T, c *kube.Client, gw *resource.ApiGateway) {
	t.Helper()
	owner := drivertest.Gateway(gw.GatewayID, 1)
	if waiting, err := c.EnsureInstance(t.Context(), owner, gw, settings); err != nil || waiting != "" {
		t.Fatalf("waiting %q, %v", waiting, err)
	}
	drivertest.Eventually(t, func() (string, error) { return c.InstanceReady(t.Context(), gw, settings) })
}

// Guards: the pods are as locked down, and as they were asked for, as the
// platform promises.
func TestInstancePods(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	started(t, c, gateway(id))
	live := drivertest.Live(t, deploymentRef(id))
	replicas, _, _ := unstructured.NestedInt64(live.Object, "spec", "replicas")
	pod, _, _ := unstructured.NestedMap(live.Object, "spec", "template", "spec")
	container := pod["containers"].([]any)[0].(map[string]any)
	security := container["securityContext"].(map[string]any)
	podSecurity := pod["securityContext"].(map[string]any)
	env := container["env"].([]any)

	for name, ok := range map[string]bool{
		"replicas of the region":   replicas == 2,
		"image of the region":      container["image"] == "registry.example.com/runtime:1",
		"no service account token": pod["automountServiceAccountToken"] == false,
		"not root":                 podSecurity["runAsNonRoot"] == true,
		"seccomp":                  podSecurity["seccompProfile"].(map[string]any)["type"] == "RuntimeDefault",
		"read-only":                security["readOnlyRootFilesystem"] == true,
		"no escalation":            security["allowPrivilegeEscalation"] == false,
		"readiness probe":          container["readinessProbe"] != nil,
		"env sorted":               env[0].(map[string]any)["name"] == "A" && len(env) == 2,
		"env from both":            len(container["envFrom"].([]any)) == 2,
		"port":                     container["ports"].([]any)[0].(map[string]any)["containerPort"] == int64(8080),
	} {
		if !ok {
			t.Errorf("not as promised: %s", name)
		}
	}
}

// Guards: an instance that is as wanted is not written to, however the API
// server fills in defaults and normalises quantities.
func TestInstanceSettles(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	started(t, c, gateway(id))
	started(t, c, gateway(id)) // seals what was created
	service := kube.Ref{Type: kube.Service, Namespace: id, Name: resource.InstanceName(id)}
	before := drivertest.Live(t, deploymentRef(id)).GetGeneration()
	version := drivertest.Live(t, service).GetResourceVersion()
	annotations := drivertest.Live(t, deploymentRef(id)).GetAnnotations()
	if _, err := c.EnsureInstance(t.Context(), drivertest.Gateway(id, 9), gateway(id), settings); err != nil {
		t.Fatal(err)
	}
	live := drivertest.Live(t, deploymentRef(id))
	if live.GetGeneration() != before || live.GetAnnotations()[resource.AnnotationToken] != annotations[resource.AnnotationToken] {
		t.Error("the deployment was written to")
	}
	if drivertest.Live(t, service).GetResourceVersion() != version {
		t.Error("the service was written to")
	}
}

// Guards (spec 1, fault 6): "ready" is not reported from the status of the
// ReplicaSet before. The rollout is paused, so that all pods of the old
// revision stay available and none of the new one comes, while the controller
// has observed the new generation.
func TestReadyIsAboutTheAppliedGeneration(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	gw := gateway(id)
	started(t, c, gw)
	gw.Revision++
	waiting, err := c.InstanceReady(t.Context(), gw, settings)
	if waiting != "deployment: what is wanted has not been applied" || err != nil {
		t.Errorf("before it was applied: waiting %q, %v", waiting, err)
	}
	edit(t, deploymentRef(id), map[string]any{"spec": map[string]any{"paused": true}})
	if _, err := c.EnsureInstance(t.Context(), drivertest.Gateway(id, 1), gw, settings); err != nil {
		t.Fatal(err)
	}
	drivertest.Eventually(t, func() (string, error) {
		if waiting, err := c.InstanceReady(t.Context(), gw, settings); waiting == "" || err != nil {
			t.Fatalf("ready while only old pods are there: %v", err)
		}
		live := drivertest.Live(t, deploymentRef(id))
		observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
		if observed < live.GetGeneration() {
			return "the controller", nil
		}
		return "", nil
	})
	available, _, _ := unstructured.NestedInt64(drivertest.Live(t, deploymentRef(id)).Object, "status", "availableReplicas")
	if available != 2 {
		t.Errorf("%d old pods available: the test has not shown what it is for", available)
	}
	waiting, err = c.InstanceReady(t.Context(), gw, settings)
	if waiting != "deployment: 0 of 2 new pods created" || err != nil {
		t.Errorf("waiting %q, %v", waiting, err)
	}
	edit(t, deploymentRef(id), map[string]any{"spec": map[string]any{"paused": nil}})
	drivertest.Eventually(t, func() (string, error) { return c.InstanceReady(t.Context(), gw, settings) })
}

// Guards: a change of settings makes new pods, which read them.
func TestSettingsRoll(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	gw := gateway(id)
	started(t, c, gw)
	before := drivertest.Live(t, deploymentRef(id)).GetGeneration()
	changed := map[string]string{"LOG_LEVEL": "debug"}
	if _, err := c.EnsureInstance(t.Context(), drivertest.Gateway(id, 1), gw, changed); err != nil {
		t.Fatal(err)
	}
	if drivertest.Live(t, deploymentRef(id)).GetGeneration() == before {
		t.Error("the same pods go on")
	}
	drivertest.Eventually(t, func() (string, error) { return c.InstanceReady(t.Context(), gw, changed) })
}

// Guards: a gateway that cannot start says why, in the words of whoever knows.
func TestInstanceSaysWhatIsWrongWithItsPods(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	gw := gateway(id)
	gw.Runtime.CPU = "100000"
	if _, err := c.EnsureInstance(t.Context(), drivertest.Gateway(id, 1), gw, settings); err != nil {
		t.Fatal(err)
	}
	drivertest.Eventually(t, func() (string, error) {
		waiting, err := c.InstanceReady(t.Context(), gw, settings)
		if strings.HasPrefix(waiting, "deployment: 0 of 2 pods ready (pod ") && strings.Contains(waiting, "Insufficient cpu") {
			return "", err
		}
		return "the scheduler's word, got " + waiting, err
	})
}

// Guards: a quantity that is none is the user's to correct: no retry cures it.
func TestBadQuantityIsTerminal(t *testing.T) {
	t.Parallel()
	c := drivertest.Client(t, kube.Options{})
	gw := gateway("unused")
	gw.Runtime.Memory = "lots"
	if _, err := c.EnsureInstance(t.Context(), drivertest.Gateway("unused", 1), gw, settings); !isTerminal(err) ||
		!strings.Contains(err.Error(), "runtime.memory") {
		t.Errorf("err = %v", err)
	}
}

// Guards (spec 1, deletion step 6): when the instance is reported gone, no pod
// is left that could lose its database; also when someone deleted the
// Deployment by hand, leaving its pods behind.
func TestRemoveInstanceWaitsForItsPods(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]v1.DeletionPropagation{"": "", "orphaned by hand": v1.DeletePropagationOrphan} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
			started(t, c, gateway(id))
			if policy != "" {
				err := drivertest.Raw(t).Resource(kube.Deployment.GVR()).Namespace(id).
					Delete(t.Context(), resource.InstanceName(id), v1.DeleteOptions{PropagationPolicy: &policy})
				if err != nil {
					t.Fatal(err)
				}
			}
			if pods := podsOf(t, id); pods != 2 {
				t.Fatalf("%d pods before", pods)
			}
			drivertest.Eventually(t, func() (string, error) {
				waiting, err := c.RemoveInstance(t.Context(), drivertest.Gateway(id, 1))
				if pods := podsOf(t, id); waiting == "" && pods > 0 {
					t.Errorf("reported gone with %d pods left", pods)
				}
				return waiting, err
			})
		})
	}
}

// Guards: a Deployment is deleted in the foreground: when it is observed gone,
// so are its pods, without a moment in between.
func TestDeploymentIsGoneWithItsPods(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	started(t, c, gateway(id))
	drivertest.Eventually(t, func() (string, error) {
		gone, err := c.Delete(t.Context(), drivertest.Gateway(id, 1), deploymentRef(id))
		if !gone {
			return "the deployment", err
		}
		if pods := podsOf(t, id); pods > 0 {
			t.Errorf("gone with %d pods left", pods)
		}
		return "", err
	})
}

func podsOf(t testing.TB, id string) int {
	t.Helper()
	pods := kube.Type{Version: "v1", Resource: "pods"}
	list, err := drivertest.Raw(t).Resource(pods.GVR()).Namespace(id).List(t.Context(), v1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}
