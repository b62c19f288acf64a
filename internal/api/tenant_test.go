package api_test

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/api/auth"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// users makes a token for each user, and has the API know them.
func users(grants map[string]auth.Grant) (tokens map[string]string, change func(*api.Config)) {
	tokens = map[string]string{}
	var all []string
	for name, g := range grants {
		token, hash := auth.NewToken()
		tokens[name] = token
		all = append(all, "- {name: "+name+", sha256: "+hash+", role: "+g.Role+", tenant: '"+g.Tenant+"'}")
	}
	return tokens, func(c *api.Config) {
		parsed, err := auth.ParseGrants([]byte(strings.Join(all, "\n")))
		if err != nil {
			panic(err)
		}
		c.Auth = auth.New(auth.Options{Grants: parsed})
	}
}

func (s *server) as(token string) *server {
	other := *s
	other.token = token
	return &other
}

// TestTenantsDoNotSeeEachOther makes a request of every operation that names a
// document, with the token of another tenant. The operations are those of the
// route table, so new ones are covered. Each must be answered as if the
// document were not there.
func TestTenantsDoNotSeeEachOther(t *testing.T) {
	tokens, known := users(map[string]auth.Grant{
		"ann": {Role: "admin", Tenant: "acme"}, "bob": {Role: "admin", Tenant: "bolt"},
	})
	s := start(t, known)
	ann, bob := s.as(tokens["ann"]), s.as(tokens["bob"])
	gw := ann.gateway()
	if gw.Tenant != "acme" {
		t.Fatalf("the gateway belongs to %q", gw.Tenant)
	}
	s.children(gw)
	path := "/v1/api-gateways/" + gw.ID
	ann.call("POST", path+"/functions", map[string]any{"name": "f", "code": "x"}).want(201)
	ann.call("POST", path+"/client-apps", map[string]any{"name": "f", "environment": "dev"}).want(201)
	ann.call("POST", path+"/triggers", map[string]any{"name": "f", "schedule": "@daily", "function": "f"}).want(201)
	before := ann.call("GET", path, nil).want(200).body

	d := s.describe()
	exists := &generator{Rand: rand.New(rand.NewPCG(1, 1)), d: d, known: map[string][]string{ //nolint:gosec // a test
		"gatewayId": {gw.ID}, "name": {"f"}, "function": {"f"}, "kind": {"ApiGateway"}, "id": {gw.ID},
	}}
	missing := &generator{Rand: rand.New(rand.NewPCG(1, 1)), d: d, known: map[string][]string{ //nolint:gosec // a test
		"gatewayId": {"aaaaaa"}, "name": {"f"}, "function": {"f"}, "kind": {"ApiGateway"}, "id": {"aaaaaa"},
	}}
	tried := 0
	for _, op := range d.operations() {
		if !strings.Contains(op.path, "{gatewayId}") && !strings.Contains(op.path, "{id}") {
			continue
		}
		tried++
		theirs := bob.call(op.method, exists.exact(op), exists.body(op)).problem(http.StatusNotFound, api.CodeNotFound)
		none := bob.call(op.method, missing.exact(op), missing.body(op)).problem(http.StatusNotFound, api.CodeNotFound)
		if strings.ReplaceAll(theirs.Detail, gw.ID, "aaaaaa") != none.Detail {
			t.Errorf("%s tells them apart: %q, and %q", op.OperationID, theirs.Detail, none.Detail)
		}
	}
	if tried < 20 {
		t.Errorf("only %d operations tried", tried)
	}
	if after := ann.call("GET", path, nil).want(200).body; string(after) != string(before) {
		t.Errorf("the gateway was changed: %s", after)
	}
	for _, list := range []string{"/v1/api-gateways"} {
		if page := as[api.Page[resource.ApiGateway]](bob.call("GET", list, nil).want(200)); len(page.Items) != 0 {
			t.Errorf("%s shows %d documents of another tenant", list, len(page.Items))
		}
	}
	bob.call("GET", "/v1/documents/ApiGateway", nil).problem(http.StatusForbidden, api.CodeForbidden)
	bob.call("POST", "/v1/api-gateways", map[string]any{"name": "a", "region": "eu", "tenant": "acme"}).
		problem(http.StatusForbidden, api.CodeForbidden)
}

// exact is the path of an operation, with parameters that exist.
func (g *generator) exact(op *operation) string {
	path, query := op.path, url.Values{}
	for _, p := range op.Parameters {
		if p.In == "path" {
			value := g.pick(append(g.known[p.Name], g.firstOf(p.Schema)...)[0])
			path = strings.ReplaceAll(path, "{"+p.Name+"}", value)
		}
		if p.In == "query" && p.Required {
			query.Set(p.Name, "mobile")
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

func (g *generator) firstOf(s *schema) []string {
	if s != nil && len(s.Enum) > 0 {
		if v, ok := s.Enum[0].(string); ok {
			return []string{v}
		}
	}
	return []string{"1"}
}

// body is one that the operation accepts.
func (g *generator) body(op *operation) any {
	s := g.d.resolve(op.body())
	if s == nil {
		return nil
	}
	body := map[string]any{}
	for field, of := range s.Properties {
		body[field] = g.value(field, of, 0)
	}
	if routes, ok := body["routes"]; ok && routes != nil {
		body["routes"] = []any{}
	}
	return body
}

// TestRoles tries every operation with each role: what the description says of
// a role is what the API does.
func TestRoles(t *testing.T) {
	tokens, known := users(map[string]auth.Grant{
		"viewer": {Role: "viewer", Tenant: "*"}, "editor": {Role: "editor", Tenant: "*"}, "admin": {Role: "admin", Tenant: "*"},
	})
	s := start(t, known)
	d := s.describe()
	g := &generator{Rand: rand.New(rand.NewPCG(1, 1)), d: d, known: map[string][]string{ //nolint:gosec // a test
		"gatewayId": {"aaaaaa"}, "kind": {"Stage"}, "id": {"none"}, "name": {"f"},
	}}
	rank := map[string]int{"viewer": 1, "editor": 2, "admin": 3}
	for _, op := range d.operations() {
		if op.Role == "" {
			continue
		}
		s.as("").call(op.method, g.exact(op), g.body(op)).problem(http.StatusUnauthorized, api.CodeUnauthenticated)
		bad := s.as("ls_nonsense").call(op.method, g.exact(op), g.body(op))
		bad.problem(http.StatusUnauthorized, api.CodeUnauthenticated)
		if bad.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", op.OperationID)
		}
		for role, token := range tokens {
			if got := s.as(token).call(op.method, g.exact(op), g.body(op)); (got.status == http.StatusForbidden) != (rank[role] < rank[op.Role]) {
				t.Errorf("%s with role %s: status %d, needs %s", op.OperationID, role, got.status, op.Role)
			}
		}
	}
}
