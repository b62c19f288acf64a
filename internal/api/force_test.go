package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/resource"
)

func TestForceDelete(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	s.children(gw)
	path := "/v1/documents/ApiGateway/" + gw.ID
	force := func(step string) *answer {
		t.Helper()
		return s.call("POST", path+"/force-delete", map[string]any{"step": step, "reason": "it is lost"})
	}
	p := force("to Deleted").problem(http.StatusConflict, api.CodeConflict)
	if !strings.Contains(p.Detail, "is not being deleted (state Running, phase Creating): delete it") {
		t.Errorf("not deleted: %s", p.Detail)
	}
	s.call("DELETE", "/v1/api-gateways/"+gw.ID, nil).want(http.StatusAccepted)
	s.settle(resource.KindApiGateway, gw.ID, resource.PhaseDeleting)
	if p := force("databas").problem(http.StatusUnprocessableEntity, api.CodeValidation); !strings.Contains(p.Detail, "has no such step: use one of ") {
		t.Errorf("no such step: %s", p.Detail)
	}
	first := as[api.Document](force("to Deleted").want(http.StatusAccepted))
	if !slices.Equal(first.SkippedSteps, []string{"to Deleted"}) {
		t.Errorf("skipped: %v", first.SkippedSteps)
	}
	last := first.Audit[len(first.Audit)-1]
	if last.Action != "forceDeleteDocument" || last.Reason != "skip step to Deleted: it is lost" {
		t.Errorf("noted: %+v", last)
	}
	if again := as[api.Document](force("to Deleted").want(http.StatusAccepted)); again.Generation != first.Generation {
		t.Errorf("asking again has changed %+v to %+v", first, again)
	}
	s.call("POST", path+"/pause", map[string]any{"reason": "wait"}).want(http.StatusAccepted)
	force("to Deleted").problem(http.StatusConflict, api.CodeConflict)
	s.call("POST", "/v1/documents/Database/"+gw.ID+"/force-delete", map[string]any{"step": "x", "reason": "lost"}).
		problem(http.StatusConflict, api.CodeConflict)
}
