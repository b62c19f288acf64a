package kube_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// Guards: generated credentials are generated once. A claim that comes again,
// or another replica's, must not put new ones under running pods.
func TestSecretsAreKept(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	name := resource.DatabaseSecretName(id)
	ensure := func(token int64, password string) map[string][]byte {
		t.Helper()
		data, waiting, err := c.EnsureSecret(t.Context(), drivertest.Gateway(id, token), id, name,
			func() map[string][]byte { return map[string][]byte{"password": []byte(password)} })
		if err != nil || waiting != "" {
			t.Fatalf("waiting %q, %v", waiting, err)
		}
		return data
	}
	for token := int64(1); token < 4; token++ {
		if got := ensure(token, rnd()+"first"); token > 1 && string(got["password"]) != stored(t, c, id, name) {
			t.Errorf("got another password than is stored")
		}
	}
	live := drivertest.Live(t, kube.Ref{Type: kube.Secret, Namespace: id, Name: name})
	if _, hashed := live.GetAnnotations()[kube.AnnotationHash]; hashed {
		t.Error("a hash of the secret is on it")
	}
	if _, _, err := c.EnsureSecret(t.Context(), drivertest.Gateway(id, 1), id, name, nil); !errors.Is(err, kube.ErrStale) {
		t.Errorf("older token: %v, want ErrStale", err)
	}
	drivertest.Eventually(t, func() (string, error) {
		return c.RemoveSecret(t.Context(), drivertest.Gateway(id, 4), id, name)
	})
	if _, found, err := c.ReadSecret(t.Context(), id, name); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

func stored(t testing.TB, c *kube.Client, namespace, name string) string {
	t.Helper()
	data, found, err := c.ReadSecret(t.Context(), namespace, name)
	if err != nil || !found {
		t.Fatalf("found %v, %v", found, err)
	}
	return string(data["password"])
}

// Guards: a namespace is gone when it is observed gone, and says until then
// what holds it up.
func TestNamespaceSaysWhatHoldsItUp(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	owner := drivertest.Gateway(id, 1)
	apply(t, c, id, "a", 1)
	edit(t, configMapRef(id), map[string]any{"metadata": map[string]any{"finalizers": []string{"example.com/wait"}}})

	drivertest.Eventually(t, func() (string, error) {
		waiting, err := c.RemoveNamespace(t.Context(), owner)
		if waiting == "" {
			t.Fatal("reported gone with a finalizer left")
		}
		if strings.HasPrefix(waiting, "namespace "+id+" terminating: Some ") && strings.Contains(waiting, "example.com/wait") {
			return "", err
		}
		return waiting, err
	})
	if waiting, err := c.EnsureNamespace(t.Context(), owner); waiting == "" || err != nil {
		t.Errorf("ensure: waiting %q, %v", waiting, err)
	}
	if applied, err := c.Apply(t.Context(), owner, kube.Ref{Type: kube.ConfigMap, Namespace: id, Name: "late"}.Object()); applied.Waiting == "" || err != nil {
		t.Errorf("create in it: waiting %q, %v", applied.Waiting, err)
	}
	edit(t, configMapRef(id), map[string]any{"metadata": map[string]any{"finalizers": nil}})
	drivertest.Eventually(t, func() (string, error) { return c.RemoveNamespace(t.Context(), owner) })
	if drivertest.Live(t, kube.Ref{Type: kube.Namespace, Name: id}) != nil {
		t.Error("it is still there")
	}
}

// Guards: a namespace that someone else made is not adopted, and so never
// deleted with the gateway.
func TestForeignNamespace(t *testing.T) {
	t.Parallel()
	c := drivertest.Client(t, kube.Options{})
	owner := drivertest.Gateway("default", 1)
	if _, err := c.EnsureNamespace(t.Context(), owner); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("ensure: %v", err)
	}
	if _, err := c.RemoveNamespace(t.Context(), owner); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("remove: %v", err)
	}
}

// Guards: settings that were taken back are gone from the ConfigMap.
func TestConfigMapHoldsExactlyTheSettings(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	for _, data := range []map[string]string{{"A": "1", "B": "2"}, {"A": "1"}, {"C": ""}, {}} {
		if _, err := c.EnsureConfigMap(t.Context(), drivertest.Gateway(id, 1), data); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		content, _ := drivertest.Live(t, configMapRef(id)).Object["data"].(map[string]any)
		for key, value := range content {
			got[key] = value.(string)
		}
		if !maps.Equal(got, data) {
			t.Errorf("data = %v, want %v", got, data)
		}
	}
	drivertest.Eventually(t, func() (string, error) { return c.RemoveConfigMap(t.Context(), drivertest.Gateway(id, 1)) })
}

// Guards (spec 1, fault 8): the sweeper can find everything, with its owner, and
// delete an orphan under the token it was found with, but not one that a claim
// has written to since.
func TestListManaged(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	started(t, c, gateway(id))
	apply(t, c, id, "a", 5)
	_, _, err := c.EnsureSecret(t.Context(), drivertest.Gateway(id, 1), id, "s", func() map[string][]byte { return nil })
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.ListManaged(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, ref := range list {
		if ref.GatewayID != id || ref.OwnerID != id || ref.OwnerKind != resource.KindApiGateway {
			t.Errorf("%s: owner %s %s of %s", ref.Ref, ref.OwnerKind, ref.OwnerID, ref.GatewayID)
		}
		found[ref.Type.Kind] = ref.Status
		if ref.Type != kube.ConfigMap {
			continue
		}
		apply(t, c, id, "b", 6)
		if gone, err := c.Delete(t.Context(), ref.Owner(nil), ref.Ref); gone || !errors.Is(err, kube.ErrStale) {
			t.Errorf("sweeping a living object: gone %v, %v", gone, err)
		}
	}
	want := map[string]string{"Namespace": "Active", "ConfigMap": "", "Secret": "", "Service": "", "Deployment": "2/2 available"}
	if !maps.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	all, err := c.ListManaged(t.Context(), "")
	if err != nil || len(all) < len(list) {
		t.Errorf("%d of all gateways, %v", len(all), err)
	}
}
