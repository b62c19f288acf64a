package api_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
)

func (s *server) count(kind resource.Kind) int {
	s.t.Helper()
	store, err := s.docs.Headers(kind)
	if err != nil {
		s.t.Fatal(err)
	}
	n, err := store.Count(context.Background(), bson.D{})
	if err != nil {
		s.t.Fatal(err)
	}
	return int(n)
}

func TestRepeatedRequests(t *testing.T) {
	s := start(t)
	body := map[string]any{"name": "shop", "region": "eu"}
	first := s.call("POST", "/v1/api-gateways", body, "Idempotency-Key", "k1").want(http.StatusCreated)
	again := s.call("POST", "/v1/api-gateways", body, "Idempotency-Key", "k1").want(http.StatusCreated)
	if string(first.body) != string(again.body) || again.header.Get("Idempotency-Replayed") != "true" ||
		again.header.Get("Location") != first.header.Get("Location") || again.header.Get("ETag") != `"1"` {
		t.Fatalf("repeated: %s %v", again.body, again.header)
	}
	body["name"] = "other"
	s.call("POST", "/v1/api-gateways", body, "Idempotency-Key", "k1").problem(http.StatusUnprocessableEntity, api.CodeKeyReused)
	s.call("POST", "/v1/api-gateways", body, "Idempotency-Key", "k2").want(http.StatusCreated)
	s.call("POST", "/v1/api-gateways", body, "Idempotency-Key", "no spaces").problem(http.StatusUnprocessableEntity, api.CodeValidation)
	if n := s.count(resource.KindApiGateway); n != 2 {
		t.Fatalf("%d gateways, want 2", n)
	}

	// What was refused may be asked again.
	body["region"] = "mars"
	s.call("POST", "/v1/api-gateways", body, "Idempotency-Key", "k3").problem(http.StatusUnprocessableEntity, api.CodeValidation)
	s.call("POST", "/v1/api-gateways", body, "Idempotency-Key", "k3").problem(http.StatusUnprocessableEntity, api.CodeValidation)
}

// TestRequestRepeatedAtOnce sends one request many times at once: it fails if
// anything but the insert of the record decides who answers.
func TestRequestRepeatedAtOnce(t *testing.T) {
	s := start(t)
	body := map[string]any{"name": "shop", "region": "eu"}
	var wg sync.WaitGroup
	var made, waited atomic.Int32
	for range 16 {
		wg.Go(func() {
			switch got := s.call("POST", "/v1/api-gateways", body, "Idempotency-Key", "k"); got.status {
			case http.StatusCreated:
				made.Add(1)
			case http.StatusConflict:
				waited.Add(1)
			default:
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
	wg.Wait()
	if n := s.count(resource.KindApiGateway); n != 1 || made.Load() == 0 || made.Load()+waited.Load() != 16 {
		t.Fatalf("%d gateways; %d made, %d waited", n, made.Load(), waited.Load())
	}
}

// TestRequestRepeatedAfterACrash loses the database just after the document
// was made, so that the answer is not kept. The repetition finds what was made.
// It fails if the gateway's id is not recorded before the insert.
func TestRequestRepeatedAfterACrash(t *testing.T) {
	db := testenv.Database(t)
	line := newLine(t, hostOf(t, testenv.MongoURI(t)))
	var into atomic.Value // the collection after an insert into which the line is cut
	var cut atomic.Int64  // the insert itself
	into.Store("")
	opts := options.Client().ApplyURI("mongodb://" + line.addr + "/?directConnection=true").SetServerSelectionTimeout(200 * time.Millisecond)
	opts.SetMonitor(&event.CommandMonitor{
		Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if name, ok := e.Command.Lookup("insert").StringValueOK(); ok && into.CompareAndSwap(name, "") {
				cut.Store(e.RequestID)
			}
		},
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
			if cut.CompareAndSwap(e.RequestID, 0) {
				line.cut()
			}
		},
	})
	s := start(t, func(c *api.Config) {
		c.Documents = (&server{t: t}).through(db, opts)
		c.Timeout = 1500 * time.Millisecond
	})
	s.docs = documents.Open(db)
	gw := s.gateway()
	for _, request := range []struct {
		path string
		kind resource.Kind
		body map[string]any
	}{
		{"/v1/api-gateways", resource.KindApiGateway, map[string]any{"name": "shop", "region": "eu"}},
		{"/v1/api-gateways/" + gw.ID + "/client-apps", resource.KindClientApp, map[string]any{"name": "web", "environment": "dev"}},
	} {
		before := s.count(request.kind)
		into.Store(string(request.kind))
		s.call("POST", request.path, request.body, "Idempotency-Key", "k")
		line.mend()
		var got *answer
		s.eventually(func() bool {
			got = s.call("POST", request.path, request.body, "Idempotency-Key", "k")
			return got.status != http.StatusServiceUnavailable && got.status != http.StatusConflict
		})
		got.want(http.StatusCreated)
		if n := s.count(request.kind); n != before+1 {
			t.Errorf("%d documents of %s, want %d", n, request.kind, before+1)
		}
	}
}
