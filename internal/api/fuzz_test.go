package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/documents"
)

// withoutDatabase is an API whose database never answers: what comes through
// to it is answered by 503.
func withoutDatabase(f *testing.F) http.Handler {
	f.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://127.0.0.1:1/?directConnection=true").SetServerSelectionTimeout(time.Millisecond))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	handler, err := api.New(api.Config{
		Documents: documents.Open(client.Database("none")), Auth: api.Open{}, RateLimit: -1, Timeout: 5 * time.Millisecond,
		Regions: []api.Region{{Name: "eu", DomainSuffix: "eu.example.com"}},
	})
	if err != nil {
		f.Fatal(err)
	}
	return handler
}

var bodies = []struct{ method, path, seed string }{
	{"POST", "/v1/api-gateways", `{"name":"a","region":"eu","runtime":{"image":"a:1","env":{"A":"b"},"cpu":"1","memory":"1Gi","replicas":2}}`},
	{"PATCH", "/v1/api-gateways/aaaaaa", `{"state":"Stopped","name":"b"}`},
	{"POST", "/v1/api-gateways/aaaaaa/client-apps", `{"environment":"dev","name":"a"}`},
	{"POST", "/v1/api-gateways/aaaaaa/functions", `{"name":"a","code":"x"}`},
	{"POST", "/v1/api-gateways/aaaaaa/functions/a/rollback", `{"version":1}`},
	{"PUT", "/v1/api-gateways/aaaaaa/stages/dev", `{"routes":[{"path":"/a/*","methods":["GET"],"function":"a"}]}`},
	{"POST", "/v1/api-gateways/aaaaaa/triggers", `{"name":"a","schedule":"@daily","timeZone":"UTC","function":"a"}`},
	{"PUT", "/v1/api-gateways/aaaaaa/runtime-domain/custom-domain", `{"domain":"a.example.org"}`},
	{"POST", "/v1/documents/Stage/a/pause", `{"reason":"because"}`},
}

// FuzzBodies feeds bodies of any sort to every decoder.
func FuzzBodies(f *testing.F) {
	handler := withoutDatabase(f)
	for i, b := range bodies {
		f.Add(i, b.seed)
	}
	f.Fuzz(func(t *testing.T, i int, body string) {
		to := bodies[((i%len(bodies))+len(bodies))%len(bodies)]
		r := httptest.NewRequestWithContext(t.Context(), to.method, to.path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		check(t, handler, r)
	})
}

// FuzzQueries feeds queries and headers of any sort to every decoder.
func FuzzQueries(f *testing.F) {
	handler := withoutDatabase(f)
	f.Add("limit=1&cursor=djE6YQ", `"1"`, "k")
	f.Add("wait=phase:Started&timeout=1s&age=1h&since=2026-01-01T00:00:00Z&stuck=true", "*", "")
	f.Add("cursor=djE6MSAyIGE", "", "\x00")
	paths := []string{"/v1/api-gateways", "/v1/api-gateways/aaaaaa", "/v1/api-gateways/aaaaaa/events", "/v1/documents/Stage"}
	f.Fuzz(func(t *testing.T, query, match, key string) {
		for _, path := range paths {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.URL.RawQuery = query
			r.Header["If-Match"], r.Header["Idempotency-Key"] = []string{match}, []string{key}
			check(t, handler, r)
		}
	})
}

func check(t *testing.T, handler http.Handler, r *http.Request) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Code == http.StatusInternalServerError || w.Code < http.StatusBadRequest || !json.Valid(w.Body.Bytes()) {
		t.Fatalf("%s %s: status %d: %s", r.Method, r.URL, w.Code, w.Body)
	}
}
