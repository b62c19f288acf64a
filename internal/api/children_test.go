package api_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/resource"
)

func TestChildren(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	s.children(gw)
	path := "/v1/api-gateways/" + gw.ID

	fn := as[resource.CloudFunction](s.call("POST", path+"/functions", map[string]any{"name": "hello", "code": "return 1"}).want(201))
	if fn.ID != gw.ID+"-hello" || fn.Runtime != "javascript" || fn.Version != 1 || fn.Phase != resource.PhaseCreating || fn.Region != "eu" {
		t.Fatalf("function %+v", fn)
	}
	s.call("POST", path+"/functions", map[string]any{"name": "hello", "code": "x"}).problem(409, api.CodeExists)
	fn = as[resource.CloudFunction](s.call("PATCH", path+"/functions/hello", map[string]any{"code": "return 2"}).want(202))
	if fn.Version != 2 || fn.Generation != 2 || fn.Code != "return 2" {
		t.Fatalf("changed function %+v", fn)
	}

	app := as[resource.ClientApp](s.call("POST", path+"/client-apps", map[string]any{"environment": "dev", "name": "mobile"}).want(201))
	if app.ID != gw.ID+"-dev-mobile" || app.State != resource.Active {
		t.Fatalf("client app %+v", app)
	}
	app = as[resource.ClientApp](s.call("PATCH", path+"/client-apps/dev/mobile", map[string]any{"state": "Inactive"}).want(202))
	if app.State != resource.Inactive {
		t.Fatalf("changed client app %+v", app)
	}

	stage := as[resource.Stage](s.call("PUT", path+"/stages/dev", map[string]any{
		"routes": []any{map[string]any{"path": "/hello", "methods": []string{"GET"}, "function": "hello"}},
	}).want(202))
	if len(stage.Routes) != 1 || stage.Routes[0].Function != "hello" || stage.Generation != 2 {
		t.Fatalf("stage %+v", stage)
	}

	trigger := as[resource.CronTrigger](s.call("POST", path+"/triggers", map[string]any{
		"name": "nightly", "schedule": "0 3 * * *", "timeZone": "Europe/Berlin", "function": "hello",
	}).want(201))
	if trigger.State != resource.Active || trigger.Suspended {
		t.Fatalf("trigger %+v", trigger)
	}

	in := s.call("DELETE", path+"/functions/hello", nil).problem(409, api.CodeInUse)
	if want := "function hello is used by stage dev (route /hello), trigger nightly: change or delete those first"; in.Detail != want {
		t.Fatalf("in use: %s", in.Detail)
	}
	s.call("PUT", path+"/stages/dev", map[string]any{"routes": []any{}}).want(202)
	s.call("DELETE", path+"/triggers/nightly", nil).want(202)
	s.call("DELETE", path+"/functions/hello", nil).want(202)
	s.call("DELETE", path+"/client-apps/dev/mobile", nil).want(202)
	again := s.call("POST", path+"/functions", map[string]any{"name": "hello", "code": "x"}).problem(409, api.CodeExists)
	if want := fmt.Sprintf("CloudFunction %s-hello is still being deleted: try again once it is gone", gw.ID); again.Detail != want {
		t.Fatalf("made again: %s", again.Detail)
	}
	for _, list := range []struct {
		path string
		n    int
	}{{"/environments", 3}, {"/stages", 3}, {"/functions", 1}, {"/client-apps", 1}, {"/client-apps?environment=prod", 0}, {"/triggers", 1}} {
		page := as[api.Page[map[string]any]](s.call("GET", path+list.path, nil).want(200))
		if len(page.Items) != list.n {
			t.Errorf("%d items at %s, want %d", len(page.Items), list.path, list.n)
		}
	}
	s.call("GET", path+"/database", nil).want(200)
	s.call("GET", path+"/environments/staging", nil).want(200)
	s.call("GET", path+"/functions/none", nil).problem(404, api.CodeNotFound)
}

func TestTriggersFollowTheirGateway(t *testing.T) {
	s := start(t)
	gw := s.gateway("state", "Stopped")
	path := "/v1/api-gateways/" + gw.ID
	s.call("POST", path+"/functions", map[string]any{"name": "f", "code": "x"}).want(201)
	trigger := as[resource.CronTrigger](s.call("POST", path+"/triggers", map[string]any{
		"name": "t", "schedule": "@hourly", "function": "f",
	}).want(201))
	if trigger.State != resource.Inactive || trigger.Suspended {
		t.Fatalf("beneath a stopped gateway: %+v", trigger)
	}
	s.call("PATCH", path, map[string]any{"state": "Running"}).want(202)
	trigger = as[resource.CronTrigger](s.call("PATCH", path+"/triggers/t", map[string]any{"state": "Active"}).want(202))
	if trigger.State != resource.Active || trigger.Suspended {
		t.Fatalf("beneath a running gateway: %+v", trigger)
	}
	trigger = as[resource.CronTrigger](s.call("PATCH", path+"/triggers/t", map[string]any{"state": "Inactive"}).want(202))
	if trigger.State != resource.Inactive || !trigger.Suspended {
		t.Fatalf("suspended: %+v", trigger)
	}
}

func TestBadChildren(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	s.children(gw)
	path := "/v1/api-gateways/" + gw.ID
	s.call("POST", path+"/functions", map[string]any{"name": "f", "code": "x"}).want(201)
	trigger := func(field string, value any) map[string]any {
		body := map[string]any{"name": "t", "schedule": "@hourly", "function": "f"}
		body[field] = value
		return body
	}
	routes := func(routes ...any) map[string]any { return map[string]any{"routes": routes} }
	route := func(path, function string, methods ...string) map[string]any {
		return map[string]any{"path": path, "function": function, "methods": methods}
	}
	for _, tc := range []struct {
		method, path string
		body         any
		location     string
	}{
		{"POST", "/functions", map[string]any{"name": "a_b", "code": "x"}, "body.name"},
		{"POST", "/functions", map[string]any{"name": "g", "code": ""}, "body.code"},
		{"POST", "/client-apps", map[string]any{"name": "a", "environment": "test"}, "body.environment"},
		{"GET", "/environments/test", nil, "path.environment"},
		{"POST", "/triggers", trigger("schedule", "whenever"), "body.schedule"},
		{"POST", "/triggers", trigger("timeZone", "Mars/Olympus"), "body.timeZone"},
		{"POST", "/triggers", trigger("timeZone", "Local"), "body.timeZone"},
		{"POST", "/triggers", trigger("function", "none"), "body.function"},
		{"PUT", "/stages/dev", routes(route("hello", "f")), "body.routes[0].path"},
		{"PUT", "/stages/dev", routes(route("/a", "f"), route("/b", "none")), "body.routes[1].function"},
		{"PUT", "/stages/dev", routes(route("/a", "f", "GET"), route("/a", "f", "POST", "GET")), "body.routes[1].path"},
		{"PUT", "/stages/dev", routes(route("/a", "f", "GET"), route("/a", "f")), "body.routes[1].path"},
		{"PUT", "/stages/dev", routes(route("/a", "f", "FETCH")), "body.routes[0].methods[0]"},
		{"PUT", "/runtime-domain/custom-domain", map[string]any{"domain": "localhost"}, "body.domain"},
		{"PUT", "/runtime-domain/custom-domain", map[string]any{"domain": "*.example.org"}, "body.domain"},
		{"PUT", "/runtime-domain/custom-domain", map[string]any{"domain": "10.0.0.1"}, "body.domain"},
		{"PUT", "/runtime-domain/custom-domain", map[string]any{"domain": "other.eu.example.com"}, "body.domain"},
	} {
		p := s.call(tc.method, path+tc.path, tc.body).problem(http.StatusUnprocessableEntity, api.CodeValidation)
		if len(p.Errors) == 0 || p.Errors[0].Location != tc.location {
			t.Errorf("%s %s %v: %+v, want location %s", tc.method, tc.path, tc.body, p, tc.location)
		}
	}
}

// zone resolves what is in it.
type zone map[string][]string

func (z zone) LookupHost(_ context.Context, host string) ([]string, error) {
	if addresses, ok := z[host]; ok {
		return addresses, nil
	}
	return nil, &net.DNSError{Name: host, IsNotFound: true}
}

func (z zone) LookupCNAME(_ context.Context, host string) (string, error) { return host + ".", nil }

func TestCustomDomain(t *testing.T) {
	names := zone{}
	s := start(t, func(c *api.Config) { c.Resolver = names })
	one, two := s.gateway(), s.gateway()
	at := func(gw *resource.ApiGateway) string {
		return "/v1/api-gateways/" + gw.ID + "/runtime-domain/custom-domain"
	}
	body := map[string]any{"domain": "API.Example.org."}
	s.call("PUT", at(one), body).problem(409, api.CodeNotReady)
	s.children(one)
	s.children(two)
	bound := as[resource.RuntimeDomain](s.call("PUT", at(one), body).want(202))
	if bound.CustomDomain != "api.example.org" || bound.Generation != 2 || !s.hints.has("RuntimeDomain/"+one.ID) {
		t.Fatalf("bound %+v", bound)
	}
	// Fault 10: fails without the unique index on customDomain.
	taken := s.call("PUT", at(two), body).problem(409, api.CodeDomainTaken)
	if want := "domain api.example.org is bound by another gateway: unbind it there first, or bind another"; taken.Detail != want {
		t.Fatalf("taken: %s", taken.Detail)
	}
	check := as[api.DomainCheck](s.call("GET", at(one)+"/check", nil).want(200))
	if check.Leads || check.Domain != "api.example.org" || check.Expected != one.ID+".eu.example.com" || !strings.Contains(check.Advice, "CNAME") {
		t.Fatalf("check %+v", check)
	}
	names["api.example.org"], names[check.Expected] = []string{"192.0.2.1"}, []string{"192.0.2.1", "192.0.2.2"}
	if check = as[api.DomainCheck](s.call("GET", at(one)+"/check", nil).want(200)); !check.Leads {
		t.Fatalf("check %+v", check)
	}
	s.call("GET", at(two)+"/check", nil).problem(404, api.CodeNotFound)
	if free := as[resource.RuntimeDomain](s.call("DELETE", at(one), nil).want(202)); free.CustomDomain != "" || free.Generation != 3 {
		t.Fatalf("unbound %+v", free)
	}
	if free := as[resource.RuntimeDomain](s.call("DELETE", at(one), nil).want(202)); free.Generation != 3 {
		t.Fatalf("unbound again %+v", free)
	}
	s.call("PUT", at(two), body).want(202)
}
