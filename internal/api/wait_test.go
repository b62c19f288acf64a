package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/resource"
)

func TestWait(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID

	got := s.call("GET", path+"?wait=phase:Started&timeout=100ms", nil)
	got.problem(http.StatusGatewayTimeout, api.CodeWaitTimeout)

	// The phase counts only once the present intent has been acted on.
	s.settle(resource.KindApiGateway, gw.ID, resource.PhaseStarted)
	s.call("GET", path+"?wait=phase:Started&timeout=5s", nil).want(http.StatusOK)
	s.call("PATCH", path+"?wait=phase:Started&timeout=200ms", map[string]any{"runtime": map[string]any{"cpu": "1"}}).
		problem(http.StatusGatewayTimeout, api.CodeWaitTimeout)

	done := make(chan *answer)
	go func() {
		done <- s.call("PATCH", path+"?wait=phase:Stopped&timeout=20s", map[string]any{"state": "Stopped"})
	}()
	s.eventually(func() bool { return s.read(gw.ID).State == resource.Stopped })
	s.settle(resource.KindApiGateway, gw.ID, resource.PhaseStopped)
	if stopped := as[resource.ApiGateway]((<-done).want(http.StatusOK)); stopped.Phase != resource.PhaseStopped {
		t.Fatalf("stopped %+v", stopped)
	}

	s.call("GET", path+"?wait=phase:Running", nil).problem(http.StatusUnprocessableEntity, api.CodeValidation)
	s.call("PATCH", path+"?wait=phase:Started", map[string]any{"state": "Nonsense"}).problem(http.StatusUnprocessableEntity, api.CodeValidation)
	s.call("GET", path+"?wait=forever", nil).problem(http.StatusUnprocessableEntity, api.CodeValidation)
	s.call("GET", path+"?wait=settled&timeout=1h", nil).problem(http.StatusUnprocessableEntity, api.CodeValidation)

	go func() { done <- s.call("DELETE", path+"?wait=gone&timeout=20s", nil) }()
	s.eventually(func() bool { return s.read(gw.ID).State == resource.Deleted })
	if err := s.docs.RemoveLeaf(t.Context(), resource.KindApiGateway, gw.ID); err != nil {
		t.Fatal(err)
	}
	(<-done).want(http.StatusNoContent)
}

func TestWaitEndsWithTheServer(t *testing.T) {
	closing := make(chan struct{})
	s := start(t, func(c *api.Config) { c.Done = closing })
	gw := s.gateway()
	done := make(chan *answer)
	go func() { done <- s.call("GET", "/v1/api-gateways/"+gw.ID+"?wait=gone&timeout=1m", nil) }()
	close(closing)
	(<-done).problem(http.StatusServiceUnavailable, api.CodeUnavailable)
}

func (s *server) read(id string) *resource.ApiGateway {
	s.t.Helper()
	gw, err := s.docs.ApiGateways.Get(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return gw
}

// eventually looks until something is so.
func (s *server) eventually(is func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatal("it has not come to pass")
		}
	}
}

func TestAudit(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID
	s.call("PATCH", path, map[string]any{"state": "Stopped", "name": "store"}, "X-Request-Id", "r-1").want(http.StatusAccepted)
	for range resource.AuditLimit {
		s.call("PATCH", path, map[string]any{"name": "again"}).want(http.StatusAccepted)
	}
	s.call("DELETE", path, nil).want(http.StatusAccepted)
	audit := as[resource.ApiGateway](s.call("GET", path, nil).want(http.StatusOK)).Audit
	if len(audit) != resource.AuditLimit {
		t.Fatalf("%d entries, want the latest %d", len(audit), resource.AuditLimit)
	}
	last := audit[len(audit)-1]
	if last.Action != "deleteGateway" || last.State != resource.Deleted || last.By != "anybody" || time.Since(last.At).Abs() > time.Hour {
		t.Fatalf("last entry %+v", last)
	}

	other := s.gateway()
	path = "/v1/api-gateways/" + other.ID
	s.call("PATCH", path, map[string]any{"state": "Stopped", "name": "store"}, "X-Request-Id", "r-1").want(http.StatusAccepted)
	audit = s.read(other.ID).Audit
	if len(audit) != 2 || audit[0].Action != "createGateway" || audit[1].RequestID != "r-1" || audit[1].Fields[0] != "name" || audit[1].State != resource.Stopped {
		t.Fatalf("audit %+v", audit)
	}
}
