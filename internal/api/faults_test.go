package api_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// through opens the database of a server by a client of its own.
func (s *server) through(db *mongo.Database, opts *options.ClientOptions) *documents.Documents {
	s.t.Helper()
	client, err := mongo.Connect(opts)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return documents.Open(client.Database(db.Name()))
}

// meanwhile returns a second API on the same database. Once armed, just before
// its next insert, the gateway's state is changed behind its back.
func (s *server) meanwhile(db *mongo.Database, gatewayID string, state engine.State) (late *server, arm func()) {
	s.t.Helper()
	var armed atomic.Bool
	monitored := options.Client().ApplyURI(testenv.MongoURI(s.t)).SetMonitor(&event.CommandMonitor{
		Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if e.CommandName != "insert" || !armed.CompareAndSwap(true, false) {
				return
			}
			if _, err := s.docs.ApiGateways.SetIntent(context.Background(), gatewayID, mongostore.Intent{State: state}); err != nil {
				s.t.Errorf("change the gateway: %v", err)
			}
		},
	})
	late = start(s.t, func(c *api.Config) { c.Documents = s.through(db, monitored) })
	return late, func() { armed.Store(true) }
}

// TestChildOfAGatewayDeletedMeanwhile is fault 2: the gateway is deleted
// between the look at it and the insert. It fails without the second look in
// insertChild.
func TestChildOfAGatewayDeletedMeanwhile(t *testing.T) {
	db := testenv.Database(t)
	s := start(t, func(c *api.Config) { c.Documents = documents.Open(db) })
	s.docs = documents.Open(db)
	gw := s.gateway()
	late, arm := s.meanwhile(db, gw.ID, resource.Deleted)
	arm()
	late.call("POST", "/v1/api-gateways/"+gw.ID+"/functions", map[string]any{"name": "f", "code": "x"}).
		problem(http.StatusConflict, api.CodeGatewayDeleted)
	fn, err := s.docs.CloudFunctions.Get(context.Background(), gw.ID+"-f")
	if err != nil || fn.State != resource.Deleted {
		t.Fatalf("the child is %+v (%v), want it to be deleted", fn, err)
	}
}

// TestTriggerOfAGatewayStoppedMeanwhile is its like for triggers, which follow
// their gateway. It fails without the second look in stillWanted.
func TestTriggerOfAGatewayStoppedMeanwhile(t *testing.T) {
	db := testenv.Database(t)
	s := start(t, func(c *api.Config) { c.Documents = documents.Open(db) })
	s.docs = documents.Open(db)
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID
	s.call("POST", path+"/functions", map[string]any{"name": "f", "code": "x"}).want(http.StatusCreated)
	late, arm := s.meanwhile(db, gw.ID, resource.Stopped)
	arm()
	made := as[resource.CronTrigger](late.call("POST", path+"/triggers", map[string]any{"name": "t", "schedule": "@daily", "function": "f"}).
		want(http.StatusCreated))
	if made.State != resource.Inactive || made.Suspended {
		t.Fatalf("beneath a gateway that was stopped meanwhile: %+v", made)
	}
}

// TestDatabaseAway takes the database away under the API, and gives it back.
func TestDatabaseAway(t *testing.T) {
	db := testenv.Database(t)
	uri := testenv.MongoURI(t)
	line := newLine(t, hostOf(t, uri))
	opts := options.Client().ApplyURI("mongodb://" + line.addr + "/?directConnection=true").SetServerSelectionTimeout(time.Second)
	s := start(t, func(c *api.Config) {
		c.Documents = (&server{t: t}).through(db, opts)
		c.Timeout = 2 * time.Second
	})
	s.docs = documents.Open(db)
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID

	line.cut()
	for _, call := range []struct {
		method, path string
		body         any
	}{
		{"GET", path, nil},
		{"POST", "/v1/api-gateways", map[string]any{"name": "a", "region": "eu"}},
		{"PATCH", path, map[string]any{"state": "Stopped"}},
		{"GET", "/v1/documents/Stage", nil},
	} {
		got := s.call(call.method, call.path, call.body)
		got.problem(http.StatusServiceUnavailable, api.CodeUnavailable)
		if got.header.Get("Retry-After") == "" {
			t.Errorf("%s %s: no Retry-After", call.method, call.path)
		}
	}
	s.call("GET", "/healthz", nil).want(http.StatusOK)

	line.mend()
	deadline := time.Now().Add(30 * time.Second)
	for s.call("GET", path, nil).status != http.StatusOK {
		if time.Now().After(deadline) {
			t.Fatal("the API did not find the database again")
		}
	}
	s.call("PATCH", path, map[string]any{"state": "Stopped"}).want(http.StatusAccepted)
}

func hostOf(t *testing.T, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// line is a TCP line to a server that can be cut and mended.
type line struct {
	addr, to string
	mu       sync.Mutex
	down     bool
	conns    map[net.Conn]struct{}
	wg       sync.WaitGroup
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{addr: listener.Addr().String(), to: to, conns: map[net.Conn]struct{}{}}
	l.wg.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			l.wg.Go(func() { l.carry(in) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); l.cut(); l.wg.Wait() })
	return l
}

func (l *line) carry(in net.Conn) {
	out, err := net.Dial("tcp", l.to)
	if err != nil || !l.keep(in, out) {
		_ = in.Close()
		if out != nil {
			_ = out.Close()
		}
		return
	}
	l.wg.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
	_, _ = io.Copy(in, out)
	_ = in.Close()
}

func (l *line) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return false
	}
	for _, c := range conns {
		l.conns[c] = struct{}{}
	}
	return true
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for c := range l.conns {
		_ = c.Close()
		delete(l.conns, c)
	}
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}
