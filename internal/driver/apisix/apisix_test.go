package apisix_test

import (
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/apisix"
	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

type step func() (waiting string, err error)

// objects are all that the driver can make for a gateway, each by its name.
func objects(t *testing.T, c *apisix.Client, id string, token int64) (ensure, remove map[string]step) {
	ctx := t.Context()
	domain := drivertest.Owner(resource.KindRuntimeDomain, id, id, token)
	stage := drivertest.Owner(resource.KindStage, id, id+"-dev", token)
	app := drivertest.Owner(resource.KindClientApp, id, id+"-dev-shop", token)
	routes := []resource.Route{
		{Path: "/hello", Methods: []string{"get", "POST"}, Function: "hello"},
		{Path: "/files/*", Function: "files"},
	}
	ensure = map[string]step{
		"apisixroutes/" + id + "-dev": func() (string, error) { return c.EnsureEnvironmentRoute(ctx, domain, "dev") },
		"apisixroutes/" + id + "-runtime-custom-domain": func() (string, error) {
			return c.EnsureCustomRoute(ctx, domain, "shop.example.org")
		},
		"apisixroutes/" + id + "-dev-stage": func() (string, error) {
			return c.EnsureStageRoutes(ctx, stage, "dev", []string{"shop.example.org"}, routes)
		},
		"apisixpluginconfigs/" + id + "-plugins": func() (string, error) { return c.EnsurePluginConfig(ctx, domain) },
		"apisixtlses/" + id + "-dev-tls":         func() (string, error) { return c.EnsureTLS(ctx, domain, "dev") },
		"apisixtlses/" + id + "-custom-tls":      func() (string, error) { return c.EnsureCustomTLS(ctx, domain, "shop.example.org") },
		"apisixconsumers/" + id + "-dev-shop":    func() (string, error) { return c.EnsureConsumer(ctx, app, "dev", "shop") },
	}
	remove = map[string]step{
		"apisixroutes/" + id + "-dev":                   func() (string, error) { return c.RemoveEnvironmentRoute(ctx, domain, "dev") },
		"apisixroutes/" + id + "-runtime-custom-domain": func() (string, error) { return c.RemoveCustomRoute(ctx, domain) },
		"apisixroutes/" + id + "-dev-stage":             func() (string, error) { return c.RemoveStageRoutes(ctx, stage, "dev") },
		"apisixpluginconfigs/" + id + "-plugins":        func() (string, error) { return c.RemovePluginConfig(ctx, domain) },
		"apisixtlses/" + id + "-dev-tls":                func() (string, error) { return c.RemoveTLS(ctx, domain, "dev") },
		"apisixtlses/" + id + "-custom-tls":             func() (string, error) { return c.RemoveCustomTLS(ctx, domain) },
		"apisixconsumers/" + id + "-dev-shop":           func() (string, error) { return c.RemoveConsumer(ctx, app, "dev", "shop") },
	}
	return ensure, remove
}

// live is an object by "resource/name".
func live(t *testing.T, id, path string) *unstructured.Unstructured {
	t.Helper()
	for _, typ := range kube.Types {
		if len(path) > len(typ.Resource) && path[:len(typ.Resource)+1] == typ.Resource+"/" {
			return drivertest.Live(t, kube.Ref{Type: typ, Namespace: id, Name: path[len(typ.Resource)+1:]})
		}
	}
	t.Fatalf("no type for %s", path)
	return nil
}

func client(t *testing.T, change func(*resource.Region)) *apisix.Client {
	t.Helper()
	region := drivertest.Region(t)
	if change != nil {
		change(&region)
	}
	return apisix.New(drivertest.Client(t, kube.Options{}), region)
}

// Guards: what we write is what the real CRDs take, whole: nothing is pruned
// or refused; an object that is there as wanted is not written to again; a
// removed one is gone.
func TestObjectsOnTheRealCRDs(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), client(t, nil)
	for token := int64(1); token < 3; token++ {
		ensure, _ := objects(t, c, id, token)
		for path, step := range ensure {
			if waiting, err := step(); waiting != "" || err != nil {
				t.Fatalf("%s: waiting %q, %v", path, waiting, err)
			}
		}
	}
	ensure, _ := objects(t, c, id, 3)
	for path, step := range ensure {
		before := live(t, id, path)
		if _, err := step(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if after := live(t, id, path); after.GetResourceVersion() != before.GetResourceVersion() {
			t.Errorf("%s was written to again", path)
		}
		class, _, _ := unstructured.NestedString(before.Object, "spec", "ingressClassName")
		if path[:11] != "apisixtlses" && class != "apisix" {
			t.Errorf("%s: ingress class %q", path, class)
		}
	}
	_, remove := objects(t, c, id, 4)
	for path, step := range remove {
		drivertest.Eventually(t, step)
		if live(t, id, path) != nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// Guards: a holder that has outlived its claim is refused on these objects as
// on all others.
func TestZombie(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), client(t, nil)
	successor, _ := objects(t, c, id, 2)
	ensure, remove := objects(t, c, id, 1)
	for path, step := range successor {
		if _, err := step(); err != nil {
			t.Fatal(err)
		}
		if _, err := ensure[path](); !errors.Is(err, kube.ErrStale) {
			t.Errorf("%s: ensure: %v", path, err)
		}
		if _, err := remove[path](); !errors.Is(err, kube.ErrStale) {
			t.Errorf("%s: remove: %v", path, err)
		}
	}
}

// Guards: what requests are led where: hosts, paths, methods, the instance's
// Service, and the published before the default.
func TestRoutes(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), client(t, nil)
	ensure, _ := objects(t, c, id, 1)
	for _, step := range ensure {
		if _, err := step(); err != nil {
			t.Fatal(err)
		}
	}
	rules := func(path string) []any {
		rules, _, _ := unstructured.NestedSlice(live(t, id, path).Object, "spec", "http")
		return rules
	}
	at := func(rule any, fields ...string) any {
		value, _, _ := unstructured.NestedFieldNoCopy(rule.(map[string]any), fields...)
		return value
	}
	standard, stage := rules("apisixroutes/" + id + "-dev")[0], rules("apisixroutes/"+id+"-dev-stage")
	host := at(standard, "match", "hosts").([]any)[0]
	if host != id+"-dev.test.example.com" {
		t.Errorf("host = %v", host)
	}
	if hosts := at(stage[0], "match", "hosts").([]any); len(hosts) != 2 || hosts[1] != "shop.example.org" {
		t.Errorf("hosts of the stage = %v", hosts)
	}
	if methods := at(stage[0], "match", "methods").([]any); methods[0] != "GET" {
		t.Errorf("methods = %v", methods)
	}
	backend := at(stage[0], "backends").([]any)[0].(map[string]any)
	if backend["serviceName"] != resource.InstanceName(id) || backend["servicePort"] != int64(kube.ServicePort) {
		t.Errorf("backend = %v", backend)
	}
	if at(stage[0], "priority").(int64) <= at(standard, "priority").(int64) {
		t.Error("the default route goes before the published ones")
	}
}

// Guards: a stage from which the last route was taken publishes none, rather
// than its last one for ever.
func TestStageWithoutRoutes(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), client(t, nil)
	ensure, _ := objects(t, c, id, 1)
	path := "apisixroutes/" + id + "-dev-stage"
	if _, err := ensure[path](); err != nil {
		t.Fatal(err)
	}
	drivertest.Eventually(t, func() (string, error) {
		return c.EnsureStageRoutes(t.Context(), drivertest.Owner(resource.KindStage, id, id+"-dev", 1), "dev", nil, nil)
	})
	if live(t, id, path) != nil {
		t.Error("the routes are still there")
	}
}

// Guards: in a region without TLS none is made, and what was made before goes.
func TestRegionWithoutTLS(t *testing.T) {
	t.Parallel()
	id := drivertest.Namespace(t)
	path, owner := "apisixtlses/"+id+"-dev-tls", drivertest.Owner(resource.KindRuntimeDomain, id, id, 1)
	if _, err := client(t, nil).EnsureTLS(t.Context(), owner, "dev"); err != nil {
		t.Fatal(err)
	}
	c := client(t, func(r *resource.Region) { r.TLS = false })
	drivertest.Eventually(t, func() (string, error) { return c.EnsureTLS(t.Context(), owner, "dev") })
	if live(t, id, path) != nil {
		t.Error("it is still there")
	}
}

// Guards: an app's key stays the same over all claims, and is nowhere but in
// its Secret.
func TestConsumerKeyIsKept(t *testing.T) {
	t.Parallel()
	id, c, k := drivertest.Namespace(t), client(t, nil), drivertest.Client(t, kube.Options{})
	keys := map[string]bool{}
	for token := int64(1); token < 4; token++ {
		owner := drivertest.Owner(resource.KindClientApp, id, id+"-dev-shop", token)
		if _, err := c.EnsureConsumer(t.Context(), owner, "dev", "shop"); err != nil {
			t.Fatal(err)
		}
		data, _, err := k.ReadSecret(t.Context(), id, id+"-dev-shop")
		if err != nil || len(data[apisix.KeySecretField]) < 20 {
			t.Fatalf("key of %d characters, %v", len(data[apisix.KeySecretField]), err)
		}
		keys[string(data[apisix.KeySecretField])] = true
	}
	if len(keys) != 1 {
		t.Errorf("%d keys", len(keys))
	}
	drivertest.Eventually(t, func() (string, error) {
		return c.RemoveConsumer(t.Context(), drivertest.Owner(resource.KindClientApp, id, id+"-dev-shop", 4), "dev", "shop")
	})
	if _, found, err := k.ReadSecret(t.Context(), id, id+"-dev-shop"); found || err != nil {
		t.Errorf("the key is still there: %v, %v", found, err)
	}
}

// Guards: a key is renewed once for each revision, by however many claims, it
// stays the same from then on, and the consumer tells the ingress controller.
func TestConsumerKeyIsRenewed(t *testing.T) {
	t.Parallel()
	id, c, k := drivertest.Namespace(t), client(t, nil), drivertest.Client(t, kube.Options{})
	var keys []string
	note := func(waiting string, err error) {
		t.Helper()
		if err != nil || waiting != "" {
			t.Fatalf("waiting %q, error %v", waiting, err)
		}
		data, _, err := k.ReadSecret(t.Context(), id, id+"-dev-shop")
		if err != nil || len(data[apisix.KeySecretField]) < 20 {
			t.Fatalf("key of %d characters, %v", len(data[apisix.KeySecretField]), err)
		}
		if key := string(data[apisix.KeySecretField]); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	claim := func(token int64) resource.Owner {
		return drivertest.Owner(resource.KindClientApp, id, id+"-dev-shop", token)
	}
	note(c.EnsureConsumer(t.Context(), claim(1), "dev", "shop"))
	for token := int64(2); token < 6; token++ {
		note(c.RenewKey(t.Context(), claim(token), "dev", "shop", 1))
		note(c.EnsureConsumer(t.Context(), claim(token), "dev", "shop"))
	}
	note(c.RenewKey(t.Context(), claim(6), "dev", "shop", 2))
	note(c.RenewKey(t.Context(), claim(7), "dev", "shop", 1))
	note(c.EnsureConsumer(t.Context(), claim(8), "dev", "shop"))
	if len(keys) != 3 {
		t.Errorf("%d keys, want those of revisions 0, 1 and 2", len(keys))
	}
	if got := live(t, id, "apisixconsumers/"+id+"-dev-shop").GetAnnotations()["lockstep.io/key-revision"]; got != "2" {
		t.Errorf("the consumer is of revision %q, want 2", got)
	}
	_, err := c.RenewKey(t.Context(), claim(2), "dev", "shop", 3)
	if !errors.Is(err, kube.ErrStale) {
		t.Errorf("a claim of long ago has renewed the key: %v", err)
	}
}

// Guards: where an ingress controller runs, a route counts when the controller
// has reported it good for its present generation, in the words of version 1
// or 2; the test reports in its stead, through the real status subresource.
func TestAcceptanceByTheController(t *testing.T) {
	t.Parallel()
	for name, condition := range map[string]string{"version 1": "ResourcesAvailable", "version 2": "Accepted"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := drivertest.Namespace(t)
			c := client(t, func(r *resource.Region) { r.ApisixAcceptance = resource.AcceptedByController })
			owner, prefix := drivertest.Owner(resource.KindRuntimeDomain, id, id, 1), "apisixroute "+id+"/"+id+"-dev: "
			expect := func(want string) {
				t.Helper()
				if waiting, err := c.EnsureEnvironmentRoute(t.Context(), owner, "dev"); waiting != want || err != nil {
					t.Errorf("waiting %q, want %q, %v", waiting, want, err)
				}
			}
			expect(prefix + "the ingress controller has not reported on it yet")
			generation := live(t, id, "apisixroutes/"+id+"-dev").GetGeneration()
			report(t, id, condition, "True", generation-1)
			expect(prefix + "the ingress controller has not yet seen this change")
			report(t, id, condition, "False", generation)
			expect(prefix + "not accepted: no such service")
			report(t, id, condition, "True", generation)
			expect("")
		})
	}
}

func report(t *testing.T, id, condition, status string, generation int64) {
	t.Helper()
	obj := live(t, id, "apisixroutes/"+id+"-dev")
	obj.Object["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": condition, "status": status, "reason": "Reported", "message": "no such service", "observedGeneration": generation,
	}}}
	_, err := drivertest.Raw(t).Resource(kube.ApisixRoute.GVR()).Namespace(id).UpdateStatus(t.Context(), obj, v1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
