package lease_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-io/lockstep/internal/lease"
	"github.com/lockstep-io/lockstep/internal/testenv"
)

// harness is a real server, and how replicas of a test connect to it.
type harness struct {
	// connect makes a replica's own connection.
	connect func(t *testing.T) (lease.Store, *link)
	// remove deletes a lease, as a person would.
	remove func(t *testing.T, name string)
}

func mongoHarness(t *testing.T) *harness {
	db := testenv.Database(t)
	return &harness{
		connect: func(t *testing.T) (lease.Store, *link) {
			c := &cable{link: &link{}}
			client, err := mongo.Connect(options.Client().ApplyURI(testenv.MongoURI(t)).
				SetMonitor(c.monitor()).SetDialer(c).SetRetryWrites(false))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
			return lease.Mongo(client.Database(db.Name())), c.link
		},
		remove: func(t *testing.T, name string) {
			if _, err := db.Collection(lease.Collection).DeleteOne(t.Context(), map[string]string{"_id": name}); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// cable is a link to MongoDB.
type cable struct {
	*link
	// cut, while set, breaks connections instead of reading from them.
	cut atomic.Bool
}

// monitor holds the driver's commands on leases, and loses answers to writes.
func (c *cable) monitor() *event.CommandMonitor {
	return &event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			element, err := e.Command.IndexErr(0)
			if err != nil {
				return
			}
			if collection, ok := element.Value().StringValueOK(); !ok || collection != lease.Collection {
				return
			}
			c.before(ctx)
			if e.CommandName != "find" && c.loses() {
				c.cut.Store(true)
			}
		},
		Failed: func(context.Context, *event.CommandFailedEvent) { c.cut.Store(false) },
	}
}

// DialContext makes connections that can be cut.
func (c *cable) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return cuttable{conn, c}, err
}

type cuttable struct {
	net.Conn
	cable *cable
}

// Read waits for the answer before it breaks the connection: the server has
// done what it was asked then.
func (c cuttable) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && c.cable.cut.Load() {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// namespace is where the tests keep their Leases.
const namespace = "default"

func kubernetesHarness(t *testing.T) *harness {
	return &harness{
		connect: func(t *testing.T) (lease.Store, *link) {
			l := &link{}
			return lease.Kubernetes(kubernetesClient(t, l), namespace), l
		},
		remove: func(t *testing.T, name string) {
			if err := kubernetesClient(t, &link{}).Leases(namespace).Delete(t.Context(), name, v1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func kubernetesClient(t *testing.T, l *link) *coordination.CoordinationV1Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", testenv.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{next, l} })
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(client.Transport) })
	leases, err := coordination.NewForConfigAndClient(config, client)
	if err != nil {
		t.Fatal(err)
	}
	return leases
}

// transport holds requests about leases, and loses answers to writes.
type transport struct {
	next http.RoundTripper
	link *link
}

func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	t.link.before(request.Context())
	response, err := t.next.RoundTrip(request)
	if err != nil || request.Method == http.MethodGet || !t.link.loses() {
		return response, err
	}
	_ = response.Body.Close()
	return nil, errors.New("the answer was lost")
}

// leaseName is a new lease's name; a Lease object of it is removed at the end.
func leaseName(t *testing.T) string {
	name := "lockstep-test-" + testenv.RandomID(10)
	if strings.Contains(t.Name(), "Kubernetes") {
		t.Cleanup(func() {
			// Many tests remove it themselves, or never make it.
			_ = kubernetesClient(t, &link{}).Leases(namespace).Delete(context.Background(), name, v1.DeleteOptions{})
		})
	}
	return name
}
