package api_test

import (
	"net/http"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
)

// A key is rotated once, and a function rolled back once, by a request that is
// repeated with its Idempotency-Key because its wait was too short: with the
// ETag that it had, which is not the document's any more.
//
// Without the aim that is recorded each repetition counts anew, or is refused.
func TestRepeatedAfterAWait(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID
	s.call("POST", path+"/client-apps", map[string]any{"name": "web", "environment": "dev"}).want(http.StatusCreated)
	s.call("POST", path+"/functions", map[string]any{"name": "f", "code": "one"}).want(http.StatusCreated)
	s.call("PATCH", path+"/functions/f", map[string]any{"code": "two"}).want(http.StatusAccepted)

	rotate, rollback := path+"/client-apps/dev/web/rotate", path+"/functions/f/rollback"
	const short = "?wait=settled&timeout=100ms"
	for _, c := range []struct {
		url   string
		body  any
		etag  string
		kind  resource.Kind
		id    string
		count func() int64
		want  int64
	}{
		{rotate, nil, `"1"`, resource.KindClientApp, gw.ID + "-dev-web", func() int64 {
			return as[resource.ClientApp](s.call("GET", path+"/client-apps/dev/web", nil).want(http.StatusOK)).KeyRevision
		}, 1},
		{rollback, map[string]any{"version": 1}, `"2"`, resource.KindCloudFunction, gw.ID + "-f", func() int64 {
			return as[resource.CloudFunction](s.call("GET", path+"/functions/f", nil).want(http.StatusOK)).Version
		}, 3},
	} {
		send := func(query, key string, headers ...string) *answer {
			return s.call("POST", c.url+query, c.body, append(headers, "Idempotency-Key", key)...)
		}
		for range 3 {
			send(short, "k", "If-Match", c.etag).problem(http.StatusGatewayTimeout, api.CodeWaitTimeout)
		}
		if n := c.count(); n != c.want {
			t.Errorf("%s: counted to %d by one request that was repeated, want %d", c.url, n, c.want)
		}
		// Another key, or none, is another request.
		send(short, "l").problem(http.StatusGatewayTimeout, api.CodeWaitTimeout)
		s.call("POST", c.url, c.body).want(http.StatusAccepted)
		send(short, "l").problem(http.StatusGatewayTimeout, api.CodeWaitTimeout)
		if n := c.count(); n != c.want+2 {
			t.Errorf("%s: counted to %d by three requests, want %d", c.url, n, c.want+2)
		}
		s.settle(c.kind, c.id, resource.PhaseCreated)
		send(short, "k", "If-Match", c.etag).want(http.StatusOK)
		if n := c.count(); n != c.want+2 {
			t.Errorf("%s: counted to %d once it had settled, want %d", c.url, n, c.want+2)
		}
	}
}

// A rollback is made although somebody else's change has taken the version that
// it was about to make: what that version holds is not what was asked for.
//
// It fails if only the number of the version is looked at.
func TestRepeatedRollbackThatWasOutrun(t *testing.T) {
	db := testenv.Database(t)
	s := start(t, func(c *api.Config) { c.Documents = documents.Open(db) })
	s.docs = documents.Open(db)
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID + "/functions"
	s.call("POST", path, map[string]any{"name": "f", "code": "one"}).want(http.StatusCreated)
	s.call("PATCH", path+"/f", map[string]any{"code": "two"}).want(http.StatusAccepted)
	back := map[string]any{"version": 1}
	s.call("POST", path+"/f/rollback", back, "If-Match", `"1"`, "Idempotency-Key", "k").
		problem(http.StatusPreconditionFailed, api.CodePreconditionFailed)
	// As if it had gone down after it had said what it is about to make.
	aimed, err := db.Collection("Request").UpdateOne(t.Context(), bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: "target", Value: "3"}}}})
	if err != nil || aimed.ModifiedCount != 1 {
		t.Fatalf("%+v, %v", aimed, err)
	}
	s.call("PATCH", path+"/f", map[string]any{"code": "three"}).want(http.StatusAccepted)
	fn := as[resource.CloudFunction](s.call("POST", path+"/f/rollback", back, "Idempotency-Key", "k").want(http.StatusAccepted))
	if fn.Code != "one" || fn.Version != 4 {
		t.Errorf("rolled back to %q in version %d", fn.Code, fn.Version)
	}
}

// A request that waits long is not taken to be given up meanwhile: whoever
// repeats it is told that it is being answered.
//
// With a lease for the request alone the repetition takes it over.
func TestRepeatedDuringAWait(t *testing.T) {
	const timeout = time.Second
	s := start(t, func(c *api.Config) { c.Timeout = timeout })
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID + "/client-apps"
	s.call("POST", path, map[string]any{"name": "web", "environment": "dev"}).want(http.StatusCreated)
	rotate := path + "/dev/web/rotate?wait=settled"
	done := make(chan *answer)
	go func() { done <- s.call("POST", rotate, nil, "Idempotency-Key", "k") }()
	read := func() resource.ClientApp {
		return as[resource.ClientApp](s.call("GET", path+"/dev/web", nil).want(http.StatusOK))
	}
	s.eventually(func() bool { return read().KeyRevision == 1 })
	time.Sleep(5 * timeout / 2)
	s.call("POST", rotate, nil, "Idempotency-Key", "k").problem(http.StatusConflict, api.CodeInProgress)
	s.settle(resource.KindClientApp, gw.ID+"-dev-web", resource.PhaseCreated)
	(<-done).want(http.StatusOK)
	if n := read().KeyRevision; n != 1 {
		t.Errorf("counted to %d, want 1", n)
	}
}
