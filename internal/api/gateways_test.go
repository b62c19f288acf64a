package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/resource"
)

func TestGatewayLifecycle(t *testing.T) {
	s := start(t)
	made := s.gateway("runtime", map[string]any{"image": "shop/runtime:2", "replicas": 2, "env": map[string]string{"A": "b"}, "cpu": "250m"})
	if made.State != resource.Running || made.Phase != resource.PhaseCreating || made.Generation != 1 || made.Region != "eu" ||
		made.Runtime.Replicas != 2 || made.Runtime.Env["A"] != "b" || made.Tenant != api.DefaultTenant {
		t.Fatalf("made %+v", made)
	}
	path := "/v1/api-gateways/" + made.ID
	if !s.hints.has("ApiGateway/" + made.ID) {
		t.Fatal("no hint after the insert")
	}

	got := s.call("GET", path, nil).want(http.StatusOK)
	gw := as[resource.ApiGateway](got)
	if gw.ID != made.ID || got.header.Get("ETag") != `"1"` {
		t.Fatalf("got %+v, ETag %s", gw, got.header.Get("ETag"))
	}

	gw = as[resource.ApiGateway](s.call("PATCH", path, map[string]any{
		"state": "Stopped", "name": "store", "runtime": map[string]any{"cpu": "", "replicas": 3},
	}).want(http.StatusAccepted))
	if gw.State != resource.Stopped || gw.Name != "store" || gw.Generation != 2 || gw.Phase != resource.PhaseCreating {
		t.Fatalf("changed %+v", gw)
	}
	if gw.Runtime.CPU != "" || gw.Runtime.Replicas != 3 || gw.Runtime.Image != "shop/runtime:2" || gw.Runtime.Env["A"] != "b" {
		t.Fatalf("runtime %+v", gw.Runtime)
	}

	gw = as[resource.ApiGateway](s.call("PATCH", path, map[string]any{
		"runtime": map[string]any{"env": map[string]string{"B": "$state", "C": ""}},
	}).want(http.StatusAccepted))
	if len(gw.Runtime.Env) != 2 || gw.Runtime.Env["B"] != "$state" || gw.Runtime.Replicas != 3 {
		t.Fatalf("runtime with other variables %+v", gw.Runtime)
	}

	gw = as[resource.ApiGateway](s.call("DELETE", path, nil).want(http.StatusAccepted))
	if gw.State != resource.Deleted || gw.Generation != 4 {
		t.Fatalf("deleted %+v", gw)
	}
	gw = as[resource.ApiGateway](s.call("DELETE", path, nil).want(http.StatusAccepted))
	if gw.Generation != 4 {
		t.Fatalf("deleting again raised the generation to %d", gw.Generation)
	}
	s.call("PATCH", path, map[string]any{"state": "Running"}).problem(http.StatusConflict, api.CodeGatewayDeleted)
	s.call("POST", path+"/functions", map[string]any{"name": "f", "code": "x"}).problem(http.StatusConflict, api.CodeGatewayDeleted)
}

func TestIfMatch(t *testing.T) {
	s := start(t)
	path := "/v1/api-gateways/" + s.gateway().ID
	s.call("PATCH", path, map[string]any{"name": "a"}, "If-Match", `"7"`).problem(http.StatusPreconditionFailed, api.CodePreconditionFailed)
	s.call("PATCH", path, map[string]any{"name": "a"}, "If-Match", `"1"`).want(http.StatusAccepted)
	s.call("DELETE", path, nil, "If-Match", `"1"`).problem(http.StatusPreconditionFailed, api.CodePreconditionFailed)
	s.call("DELETE", path, nil, "If-Match", `*`).want(http.StatusAccepted)
	s.call("PATCH", path, map[string]any{"name": "a"}, "If-Match", `seven`).problem(http.StatusUnprocessableEntity, api.CodeValidation)
}

func TestListGateways(t *testing.T) {
	s := start(t)
	want := map[string]bool{}
	for range 5 {
		want[s.gateway().ID] = true
	}
	s.gateway("region", "us", "state", "Stopped")
	cursor, pages := "", 0
	for {
		page := as[api.Page[resource.ApiGateway]](s.call("GET", "/v1/api-gateways?limit=2&region=eu"+cursor, nil).want(http.StatusOK))
		for _, gw := range page.Items {
			if !want[gw.ID] {
				t.Fatalf("gateway %s twice, or not asked for", gw.ID)
			}
			delete(want, gw.ID)
		}
		pages++
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	if len(want) > 0 || pages != 3 {
		t.Fatalf("%d gateways not listed in %d pages", len(want), pages)
	}
	page := as[api.Page[resource.ApiGateway]](s.call("GET", "/v1/api-gateways?state=Stopped", nil).want(http.StatusOK))
	if len(page.Items) != 1 {
		t.Fatalf("%d stopped gateways, want 1", len(page.Items))
	}
	s.call("GET", "/v1/api-gateways?cursor=nonsense", nil).problem(http.StatusUnprocessableEntity, api.CodeValidation)
}

func TestBadInput(t *testing.T) {
	s := start(t)
	path := "/v1/api-gateways/" + s.gateway().ID
	ok := func(field string, value any) map[string]any {
		return map[string]any{"name": "shop", "region": "eu", field: value}
	}
	runtime := func(field string, value any) map[string]any {
		return ok("runtime", map[string]any{field: value})
	}
	for _, tc := range []struct {
		name, method, path string
		body               any
		status             int
		location, says     string
	}{
		{"unknown state", "PATCH", path, map[string]any{"state": "Sleeping"}, 422, "body.state", "Running, Stopped"},
		{"state of another kind", "PATCH", path, map[string]any{"state": "Inactive"}, 422, "body.state", "Running, Stopped"},
		{"bad id", "GET", "/v1/api-gateways/NOPE", nil, 422, "path.gatewayId", "six of a-z0-9"},
		{"unknown id", "GET", "/v1/api-gateways/zzzzz9", nil, 404, "", "no gateway zzzzz9"},
		{"unknown region", "POST", "/v1/api-gateways", ok("region", "mars"), 422, "body.region", "eu, us"},
		{"unknown field", "POST", "/v1/api-gateways", ok("colour", "red"), 422, "body.colour", "unexpected"},
		{"unknown parameter", "GET", "/v1/api-gateways?colour=red", nil, 422, "query.colour", "unknown"},
		{"missing field", "POST", "/v1/api-gateways", map[string]any{"name": "shop"}, 422, "body", "region"},
		{"missing body", "POST", "/v1/api-gateways", nil, 400, "", "body"},
		{"not JSON", "POST", "/v1/api-gateways", "{", 400, "body", ""},
		{"null", "PATCH", path, map[string]any{"name": nil}, 422, "body", "nothing to change"},
		{"nothing", "PATCH", path, map[string]any{}, 422, "body", "nothing to change"},
		{"nothing within", "PATCH", path, map[string]any{"runtime": map[string]any{}}, 422, "body", "nothing to change"},
		{"name", "POST", "/v1/api-gateways", ok("name", "Shop!"), 422, "body.name", "lower-case"},
		{"replicas", "POST", "/v1/api-gateways", runtime("replicas", 51), 422, "body.runtime.replicas", "50"},
		{"no replicas", "POST", "/v1/api-gateways", runtime("replicas", 0), 422, "body.runtime.replicas", "1"},
		{"image", "POST", "/v1/api-gateways", runtime("image", "Not An Image"), 422, "body.runtime.image", "image reference"},
		{"cpu", "POST", "/v1/api-gateways", runtime("cpu", "much"), 422, "body.runtime.cpu", "quantity"},
		{"memory", "POST", "/v1/api-gateways", runtime("memory", "-1"), 422, "body.runtime.memory", "above zero"},
		{"env", "POST", "/v1/api-gateways", runtime("env", map[string]string{"a b": "c"}), 422, "body.runtime.env.a b", "letters"},
		{"no such path", "GET", "/v2/api-gateways", nil, 404, "", "/docs"},
		{"no such method", "PUT", "/v1/api-gateways", nil, 405, "", "PUT"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := *s
			s.t = t
			got := s.call(tc.method, tc.path, tc.body)
			var p api.Problem
			got.want(tc.status).into(&p)
			if !strings.Contains(string(got.body), tc.says) {
				t.Fatalf("says %s, want %q", got.body, tc.says)
			}
			if tc.location != "" && (len(p.Errors) == 0 || p.Errors[0].Location != tc.location) {
				t.Fatalf("location of %s, want %s", got.body, tc.location)
			}
		})
	}
}
