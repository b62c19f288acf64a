package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/lockstep-io/lockstep/internal/api"
)

var update = flag.Bool("update", false, "write golden files anew")

const golden = "testdata/openapi.json"

// TestOpenAPI keeps the API's description under review: a change of it is a
// change of golden file. Write it anew with `go test ./internal/api -update`.
func TestOpenAPI(t *testing.T) {
	s := start(t, withMetrics)
	got := s.call("GET", "/openapi.json", nil).want(http.StatusOK).body
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("the API's description differs from %s at byte %d of %d: look at the change, and write it anew with -update",
			golden, firstDifference(got, want), len(want))
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func withMetrics(c *api.Config) {
	c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("metric 1\n")) })
}

// TestEveryRouteIsDescribed compares the router with the description, both
// ways.
func TestEveryRouteIsDescribed(t *testing.T) {
	s := start(t, withMetrics)
	routes, ok := s.http.Config.Handler.(chi.Routes)
	if !ok {
		t.Fatal("the handler is not a chi router")
	}
	var served []string
	err := chi.Walk(routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		served = append(served, method+" "+route)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	ids := map[string]bool{}
	for _, op := range s.describe().operations() {
		described = append(described, op.method+" "+op.path)
		if ids[op.OperationID] || op.OperationID == "" || op.Summary == "" {
			t.Errorf("%s %s: its id %q is not unique, or it has no summary", op.method, op.path, op.OperationID)
		}
		ids[op.OperationID] = true
	}
	slices.Sort(served)
	slices.Sort(described)
	if !slices.Equal(served, described) {
		t.Fatalf("served:\n%s\ndescribed:\n%s", strings.Join(served, "\n"), strings.Join(described, "\n"))
	}
}

func TestDocsPage(t *testing.T) {
	s := start(t, withMetrics)
	page := string(s.call("GET", "/docs", nil).want(http.StatusOK).body)
	for _, op := range s.describe().operations() {
		if !strings.Contains(page, `id="`+op.OperationID+`"`) {
			t.Errorf("the page does not show %s", op.OperationID)
		}
	}
	for _, info := range api.Codes {
		if !strings.Contains(page, `id="`+string(info.Code)+`"`) {
			t.Errorf("the page does not show code %s", info.Code)
		}
	}
	for _, foreign := range []string{"<script", "http://", "https://"} {
		if strings.Contains(page, foreign) {
			t.Errorf("the page has %q in it", foreign)
		}
	}
}

// description is the API's own, as far as tests need it.
type description struct {
	Paths      map[string]map[string]*operation `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	method, path string
	OperationID  string      `json:"operationId"`
	Summary      string      `json:"summary"`
	Role         string      `json:"x-role"`
	Parameters   []parameter `json:"parameters"`
	RequestBody  *struct {
		Content map[string]struct {
			Schema *schema `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
	Responses map[string]json.RawMessage `json:"responses"`
}

type parameter struct {
	Name     string  `json:"name"`
	In       string  `json:"in"`
	Required bool    `json:"required"`
	Schema   *schema `json:"schema"`
}

type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 any                `json:"type"`
	Enum                 []any              `json:"enum"`
	Pattern              string             `json:"pattern"`
	Minimum              *float64           `json:"minimum"`
	Maximum              *float64           `json:"maximum"`
	MinLength            *int               `json:"minLength"`
	MaxLength            *int               `json:"maxLength"`
	Items                *schema            `json:"items"`
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	AdditionalProperties json.RawMessage    `json:"additionalProperties"`
}

// body is the schema of the operation's body, if it has one.
func (o *operation) body() *schema {
	if o.RequestBody == nil {
		return nil
	}
	return o.RequestBody.Content["application/json"].Schema
}

func (s *server) describe() *description {
	s.t.Helper()
	var d description
	if err := json.Unmarshal(s.call("GET", "/openapi.json", nil).want(http.StatusOK).body, &d); err != nil {
		s.t.Fatal(err)
	}
	return &d
}

// operations are all, in a fixed order.
func (d *description) operations() []*operation {
	var ops []*operation
	for path, item := range d.Paths {
		for method, op := range item {
			op.method, op.path = strings.ToUpper(method), path
			ops = append(ops, op)
		}
	}
	slices.SortFunc(ops, func(a, b *operation) int {
		return strings.Compare(a.path+" "+a.method, b.path+" "+b.method)
	})
	return ops
}

// resolve follows a reference.
func (d *description) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	return s
}
