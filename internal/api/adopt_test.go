package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/api/auth"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// A gateway's document is made anew where something is left of it: documents
// beneath it, or objects in its cluster. Its tokens begin above all that were
// ever given out.
func TestAdopt(t *testing.T) {
	objects := map[string][]api.Object{"xuz4c6": {{Kind: "Namespace", Name: "xuz4c6"}}}
	s := start(t, func(c *api.Config) {
		c.Objects = func(_ context.Context, _, id string) ([]api.Object, error) { return objects[id], nil }
	})
	lost := s.gateway()
	s.children(lost)
	if err := s.docs.ApiGateways.DeleteMany(t.Context(), map[string]any{"_id": lost.ID}); err != nil {
		t.Fatal(err)
	}
	adopt := func(id string, change ...any) *answer {
		t.Helper()
		body := map[string]any{"name": "shop", "region": "eu", "reason": "removed by mistake"}
		for i := 0; i+1 < len(change); i += 2 {
			body[change[i].(string)] = change[i+1] //nolint:forcetypeassert // a test
		}
		return s.call("POST", "/v1/api-gateways/"+id+"/adopt", body)
	}
	if p := adopt("zzzzzz").problem(http.StatusNotFound, api.CodeNotFound); !strings.Contains(p.Detail, "nothing is left of a gateway zzzzzz in region eu") {
		t.Errorf("mistyped: %s", p.Detail)
	}
	adopt(lost.ID, "region", "mars").problem(http.StatusUnprocessableEntity, api.CodeValidation)
	if p := adopt(lost.ID, "region", "us").problem(http.StatusUnprocessableEntity, api.CodeValidation); len(p.Errors) != 1 ||
		p.Errors[0].Location != "body.region" || !strings.Contains(p.Detail, "is in region eu") {
		t.Errorf("another region than that of what is left: %s", p.Detail)
	}
	adopt(lost.ID, "reason", "").problem(http.StatusUnprocessableEntity, api.CodeValidation)
	adopt(lost.ID, "name", "Shop!").problem(http.StatusUnprocessableEntity, api.CodeValidation)
	for _, id := range []string{lost.ID, "xuz4c6"} {
		made := as[resource.ApiGateway](adopt(id, "state", "Stopped").want(http.StatusCreated))
		if made.ID != id || made.State != resource.Stopped || made.Phase != resource.PhaseCreating || made.Tenant != api.DefaultTenant {
			t.Errorf("made: %+v", made)
		}
		if made.LockToken < time.Now().Add(-time.Hour).UnixMilli() {
			t.Errorf("its tokens begin at %d: objects may carry higher ones", made.LockToken)
		}
		if len(made.Audit) != 1 || made.Audit[0].Action != "adoptGateway" || made.Audit[0].Reason != "removed by mistake" {
			t.Errorf("noted: %+v", made.Audit)
		}
		adopt(id).problem(http.StatusConflict, api.CodeExists)
	}
	if !s.hints.has("ApiGateway/xuz4c6") {
		t.Error("the task service was not woken")
	}
}

// Only operators adopt: nobody knows any more whose the gateway was.
func TestAdoptIsForOperators(t *testing.T) {
	tokens, known := users(map[string]auth.Grant{"ann": {Role: "admin", Tenant: "acme"}})
	s := start(t, known)
	ann := s.as(tokens["ann"])
	gw := ann.gateway()
	s.children(gw)
	if err := s.docs.ApiGateways.DeleteMany(t.Context(), map[string]any{"_id": gw.ID}); err != nil {
		t.Fatal(err)
	}
	ann.call("POST", "/v1/api-gateways/"+gw.ID+"/adopt", map[string]any{"name": "shop", "region": "eu", "reason": "it is mine"}).
		problem(http.StatusNotFound, api.CodeNotFound)
}
