package platform_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/telemetry"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// replica is one replica of the service, with connections of its own that the
// test can cut.
type replica struct {
	*platform.Platform
	t      *testing.T
	name   string
	docs   *documents.Documents // what is changed by it wakes this replica
	client *mongo.Client
	net    *testenv.Line // to MongoDB
	http   *wire         // to the API servers

	cancel context.CancelFunc
	ended  chan struct{}
}

// settings are what a test can choose of a replica.
type settings struct {
	platform.Options

	regions []resource.Region
	monitor *event.CommandMonitor
	deaf    bool // no hint reaches it
}

// lockTimeout is short, for the tests in which a lock has to expire.
const lockTimeout = 3 * time.Second

func withLockTimeout(d time.Duration) func(*settings) {
	return func(s *settings) { s.LockTimeout = d }
}

func withAround(f platform.Around) func(*settings) {
	return func(s *settings) { s.Around = f }
}

// replica starts one. It is stopped when the test ends, if not before.
func (w *world) replica(name string, choose ...func(*settings)) *replica {
	w.t.Helper()
	line, uri := testenv.MongoLine(w.t, testenv.MongoURI(w.t))
	r := &replica{t: w.t, name: name, net: line, http: &wire{}, ended: make(chan struct{})}
	s := settings{regions: []resource.Region{w.region}}
	s.Engine = engine.Options{Holder: name, Grace: time.Second}
	s.Log = zaptest.NewLogger(w.t, zaptest.Level(zap.WarnLevel)).Named(name)
	s.Engine.Logger = telemetry.Slog(s.Log)
	s.Transport = r.http.wrap
	for _, f := range choose {
		f(&s)
	}
	opts := options.Client().ApplyURI(uri).SetServerSelectionTimeout(2 * time.Second).SetMonitor(s.monitor)
	client, err := mongo.Connect(opts)
	must(w.t, err)
	r.client = client
	r.docs = documents.Open(client.Database(w.db.Name()))
	r.Platform, err = platform.New(r.docs, s.regions, s.Options)
	must(w.t, err)
	if s.deaf {
		r.docs.OnIntent(func(resource.Kind, string) {})
		r.http.on(isWatch, fail(http.StatusForbidden, "no watching here"))
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(r.ended)
		if err := r.Run(ctx); err != nil {
			w.t.Errorf("replica %s: %v", name, err)
		}
	}()
	w.t.Cleanup(r.stop)
	return r
}

// stop ends the replica in order.
func (r *replica) stop() {
	r.cancel()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.t.Errorf("replica %s did not stop", r.name)
	}
	_ = r.client.Disconnect(context.Background())
}

// crash ends the replica as SIGKILL does: nothing it has not done yet will be
// done, and nothing is given back.
func (r *replica) crash() {
	r.http.on(func(*http.Request) bool { return true }, broken)
	r.net.Cut()
	r.cancel()
	_ = r.client.Disconnect(context.Background())
}

// set changes gateways' states through this replica, as its API does.
func (r *replica) set(state engine.State, ids ...string) {
	r.t.Helper()
	for _, id := range ids {
		_, err := r.docs.ApiGateways.SetIntent(context.Background(), id, mongostore.Intent{State: state})
		must(r.t, err)
		r.Hint(resource.KindApiGateway, id)
	}
}

// wire is what a replica's requests to API servers go through. Rules decide
// what becomes of them; the first that matches does.
type wire struct {
	mu    sync.Mutex
	rules []*rule
}

type rule struct {
	match func(*http.Request) bool
	act   action
	hits  atomic.Int64
}

// action answers a request, or passes it on.
type action func(next http.RoundTripper, r *http.Request) (*http.Response, error)

// on adds a rule. The returned function removes it and says how often it was met.
func (w *wire) on(match func(*http.Request) bool, act action) (off func() int) {
	added := &rule{match: match, act: act}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules = append(w.rules, added)
	return func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		for i, r := range w.rules {
			if r == added {
				w.rules = append(w.rules[:i:i], w.rules[i+1:]...)
			}
		}
		return int(added.hits.Load())
	}
}

func (w *wire) wrap(next http.RoundTripper) http.RoundTripper { return &wired{w, next} }

type wired struct {
	*wire
	next http.RoundTripper
}

// WrappedRoundTripper lets idle connections be closed through it.
func (w *wired) WrappedRoundTripper() http.RoundTripper { return w.next }

func (w *wired) RoundTrip(request *http.Request) (*http.Response, error) {
	if met := w.find(request); met != nil {
		met.hits.Add(1)
		return met.act(w.next, request)
	}
	return w.next.RoundTrip(request)
}

func (w *wire) find(request *http.Request) *rule {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.rules {
		if r.match(request) {
			return r
		}
	}
	return nil
}

// Of requests.

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }

// about matches requests for a gateway's namespace and what is in it.
func about(id string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.Contains(r.URL.Path+"/", "/namespaces/"+id+"/") }
}

// Of actions.

var errBroken = errors.New("connection reset by the test")

func broken(http.RoundTripper, *http.Request) (*http.Response, error) { return nil, errBroken }

// fail answers with a status, as the API server's own refusals do.
func fail(code int, message string) action {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`,
		message, strings.ReplaceAll(http.StatusText(code), " ", ""), code)
	return reply(code, "application/json", body)
}

// reply answers as a server or a proxy in front of it would.
func reply(code int, contentType, body string) action {
	return func(_ http.RoundTripper, request *http.Request) (*http.Response, error) {
		response, err := drivertest.Reply(code, contentType, body)()
		response.Request = request
		return response, err
	}
}

func withWorkers(n int) func(*settings) {
	return func(s *settings) { s.Engine.Workers = n }
}
