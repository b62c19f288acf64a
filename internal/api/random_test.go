package api_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"mime"
	"os"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// requestsVar is the number of requests of [TestRandomRequests], seedVar the
// seed of a run to repeat.
const (
	requestsVar = "LOCKSTEP_TEST_REQUESTS"
	seedVar     = "LOCKSTEP_TEST_SEED"
)

// TestRandomRequests makes thousands of valid and invalid requests from the
// API's own description. None may be answered by 500 or by a status that is
// not described, no answer may break its own form, and no document that was
// made may be lost.
func TestRandomRequests(t *testing.T) {
	n, seed := 4000, rand.Uint64()
	if v, err := strconv.Atoi(os.Getenv(requestsVar)); err == nil {
		n = v
	}
	if v, err := strconv.ParseUint(os.Getenv(seedVar), 10, 64); err == nil {
		seed = v
	}
	t.Logf("%d requests, seed %d", n, seed)
	s := start(t, withMetrics, func(c *api.Config) { c.RateLimit, c.Resolver = -1, zone{} })
	d := s.describe()
	run := &randomRun{
		server: s, made: map[string]int{},
		g: &generator{Rand: rand.New(rand.NewPCG(seed, 1)), d: d, known: map[string][]string{}}, //nolint:gosec // a test
	}
	for range 3 {
		gw := s.gateway()
		s.children(gw)
		run.g.known["gatewayId"] = append(run.g.known["gatewayId"], gw.ID)
		run.made["createGateway"]++
	}
	ops := d.operations()
	statuses := map[int]int{}
	for i := range n {
		op := ops[run.g.IntN(len(ops))]
		if op.path == "/docs" || op.path == "/metrics" || op.path == "/openapi.json" || strings.HasSuffix(op.path, "/watch") {
			continue
		}
		wild := [...]float64{0, 0.05, 0.3}[i%3]
		if op.OperationID == "deleteGateway" && run.g.IntN(10) > 0 {
			continue // or nothing would live for long
		}
		statuses[run.one(run.g.request(op, wild))]++
	}
	t.Logf("statuses: %v, made: %v", statuses, run.made)
	if statuses[200] == 0 || statuses[201] == 0 || statuses[202] == 0 || statuses[422] == 0 {
		t.Error("the run did not reach all parts of the API")
	}
	run.nothingLost()
}

type randomRun struct {
	*server

	g    *generator
	made map[string]int // by operation
}

// one makes one request, and checks the answer.
func (r *randomRun) one(req request) int {
	r.t.Helper()
	got := r.call(req.op.method, req.path, req.body, req.headers...)
	if _, described := req.op.Responses[strconv.Itoa(got.status)]; !described || got.status == 500 {
		r.t.Fatalf("%s: status %d: %s", req, got.status, got.body)
	}
	mediaType, _, err := mime.ParseMediaType(got.header.Get("Content-Type"))
	if err != nil || !json.Valid(got.body) {
		r.t.Fatalf("%s: %q is not of a media type (%v), or not JSON: %s", req, mediaType, err, got.body)
	}
	if got.status >= 400 {
		var p api.Problem
		got.into(&p)
		if mediaType != "application/problem+json" || p.Status != got.status || p.Code == "" || p.Detail == "" {
			r.t.Fatalf("%s: not a problem: %s", req, got.body)
		}
		return got.status
	}
	if got.status == 201 {
		r.remember(req.op, got)
	}
	return got.status
}

func (r *randomRun) remember(op *operation, got *answer) {
	var doc struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal(got.body, &doc); err != nil {
		r.t.Fatal(err)
	}
	r.made[op.OperationID]++
	switch op.OperationID {
	case "createGateway":
		r.g.known["gatewayId"] = append(r.g.known["gatewayId"], doc.ID)
	case "createFunction":
		r.g.known["function"] = append(r.g.known["function"], doc.Name)
		r.g.known["name"] = append(r.g.known["name"], doc.Name)
	}
	r.g.known["id"] = append(r.g.known["id"], doc.ID)
}

// nothingLost counts what is in the database: with no task services running,
// whatever was made is still there.
func (r *randomRun) nothingLost() {
	r.t.Helper()
	for op, kind := range map[string]resource.Kind{
		"createGateway": resource.KindApiGateway, "createFunction": resource.KindCloudFunction,
		"createClientApp": resource.KindClientApp, "createTrigger": resource.KindCronTrigger,
	} {
		store, err := r.docs.Headers(kind)
		if err != nil {
			r.t.Fatal(err)
		}
		n, err := store.Count(context.Background(), bson.D{})
		if err != nil {
			r.t.Fatal(err)
		}
		if int(n) < r.made[op] { // more, where a wait for one took too long
			r.t.Errorf("%d documents of %s, but %d were made", n, kind, r.made[op])
		}
	}
}
