// Package drivertest helps the drivers' tests to reach the real servers that
// they run against, each test with a gatewayId of its own.
package drivertest

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// Patience bounds how long a test waits for a server to do its part.
const Patience = 60 * time.Second

// Main runs the tests of a package and fails if they leave goroutines behind.
func Main(m *testing.M) { goleak.VerifyTestMain(m) }

// Kubeconfig is the file of the cluster to test against.
func Kubeconfig(t testing.TB) string { return env(t, "KUBECONFIG") }

// MongoURI is the MongoDB to test against.
func MongoURI(t testing.TB) string { return env(t, "MONGODB_URI") }

func env(t testing.TB, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run make test, or set KUBECONFIG/MONGODB_URI", name)
	}
	return value
}

// Region is a region on the test's cluster. Its MongoDB is not set.
func Region(t testing.TB) resource.Region {
	t.Helper()
	return resource.Region{
		Name:             "test",
		Kubeconfig:       Kubeconfig(t),
		IngressClass:     "apisix",
		DomainSuffix:     "test.example.com",
		TLS:              true,
		WildcardSecret:   "ingress/wildcard",
		ClusterIssuer:    "none",
		RuntimeImage:     "registry.example.com/runtime:1",
		RuntimeReplicas:  2,
		ApisixAcceptance: resource.AcceptedByAPIServer,
	}
}

// GatewayID is a new gateway's id.
func GatewayID() string { return "t" + strings.ToLower(rand.Text()[:7]) }

// Owner is a claim of a document.
func Owner(kind resource.Kind, gatewayID, id string, token int64) resource.Owner {
	return resource.Owner{Kind: kind, ID: id, GatewayID: gatewayID, Token: token}
}

// Gateway is a claim of a gateway.
func Gateway(gatewayID string, token int64) resource.Owner {
	return Owner(resource.KindApiGateway, gatewayID, gatewayID, token)
}

// Client is a client of the test's cluster, stopped when the test ends.
func Client(t testing.TB, opts kube.Options) *kube.Client {
	t.Helper()
	client, err := kube.New(Region(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Stop)
	return client
}

// Namespace is a new gateway's namespace, made by the driver under token 1 and
// removed, whoever owns it by then, when the test ends.
func Namespace(t testing.TB) (gatewayID string) {
	t.Helper()
	gatewayID = GatewayID()
	client := Client(t, kube.Options{})
	if waiting, err := client.EnsureNamespace(t.Context(), Gateway(gatewayID, 1)); err != nil || waiting != "" {
		t.Fatalf("making namespace %s: %q, %v", gatewayID, waiting, err)
	}
	t.Cleanup(func() {
		namespaces := Raw(t).Resource(kube.Namespace.GVR())
		if err := namespaces.Delete(context.Background(), gatewayID, v1.DeleteOptions{}); err != nil && !errors.IsNotFound(err) {
			t.Errorf("cleaning up namespace %s: %v", gatewayID, err)
		}
	})
	return gatewayID
}

// Raw is a plain client of the test's cluster: other people, and other
// controllers, as the tests need them.
func Raw(t testing.TB) dynamic.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(httpClient.Transport) })
	client, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Live is the object as it is on the API server, nil if it is not there.
func Live(t testing.TB, ref kube.Ref) *unstructured.Unstructured {
	t.Helper()
	obj, err := Raw(t).Resource(ref.Type.GVR()).Namespace(ref.Namespace).Get(t.Context(), ref.Name, v1.GetOptions{})
	if errors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// Eventually runs a step until it waits for nothing more.
func Eventually(t testing.TB, step func() (waiting string, err error)) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, Patience, true,
		func(context.Context) (bool, error) {
			waiting, err := step()
			last = waiting
			return waiting == "", err
		})
	if err != nil {
		t.Fatalf("%v; last waiting for: %q", err, last)
	}
}
