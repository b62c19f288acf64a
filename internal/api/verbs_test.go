package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

var gatewayRules = engine.Rules{
	Kind: "ApiGateway", LockTimeout: engine.DefaultLockTimeout,
	Unsettled: []engine.Match{{Phase: resource.PhaseCreating}},
}

// claim claims a gateway as a task service does; it returns nil if it cannot.
func (s *server) claim(id string) *resource.ApiGateway {
	s.t.Helper()
	docs, err := s.docs.ApiGateways.Claim(s.t.Context(), engine.ClaimRequest{
		Rules: gatewayRules, IDs: []string{id}, Holder: "r1", Batch: testenv.RandomID(8), Hinted: true,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(docs) == 0 {
		return nil
	}
	return docs[0]
}

func (s *server) end(gw *resource.ApiGateway, ch engine.Change) (lost bool) {
	s.t.Helper()
	ch.Holder, ch.LockTimeout, ch.From = "r1", engine.DefaultLockTimeout, gw.Phase
	lostIDs, err := s.docs.ApiGateways.Apply(s.t.Context(), ch, []engine.Ref{engine.RefOf(gw)})
	if err != nil {
		s.t.Fatal(err)
	}
	return len(lostIDs) > 0
}

func TestUnlock(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	path := "/v1/documents/ApiGateway/" + gw.ID
	held := s.claim(gw.ID)
	if held == nil || s.claim(gw.ID) != nil {
		t.Fatal("the claim does not hold")
	}
	doc := as[api.Document](s.call("POST", path+"/unlock", map[string]any{"reason": "r1 is gone"}).want(http.StatusAccepted))
	if doc.LockedBy != "" || doc.Audit[len(doc.Audit)-1].Reason != "r1 is gone" || doc.Audit[len(doc.Audit)-1].Action != "unlockDocument" {
		t.Fatalf("unlocked %+v", doc)
	}
	if !s.end(held, engine.Change{Kind: engine.Move, To: resource.PhaseDeleted}) {
		t.Fatal("the holder before could still write")
	}
	if s.claim(gw.ID) == nil {
		t.Fatal("the unlocked document cannot be claimed")
	}
}

func TestRetry(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	path := "/v1/documents/ApiGateway/" + gw.ID
	s.end(s.claim(gw.ID), engine.Change{Kind: engine.Fail, Step: "namespace", Message: "no", Terminal: true})
	if s.claim(gw.ID) != nil {
		t.Fatal("a document that failed for good can be claimed")
	}
	if page := as[api.Page[api.Document]](s.call("GET", "/v1/documents/ApiGateway?stuck=true", nil).want(200)); len(page.Items) != 1 {
		t.Fatalf("stuck: %+v", page.Items)
	}
	s.call("GET", "/v1/api-gateways/"+gw.ID+"?wait=settled&timeout=20s", nil).problem(http.StatusConflict, api.CodeWaitHopeless)
	s.call("POST", path+"/retry", map[string]any{"reason": "cured"}).want(http.StatusAccepted)
	if again := s.claim(gw.ID); again == nil || again.Attempts != 0 || again.LastError != nil {
		t.Fatalf("claimed after the retry: %+v", again)
	}
}

func TestPauseAndResume(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	path := "/v1/documents/ApiGateway/" + gw.ID
	held := s.claim(gw.ID)
	doc := as[api.Document](s.call("POST", path+"/pause", map[string]any{"reason": "looking into it"}).want(http.StatusAccepted))
	if doc.Condition != api.IsPaused || doc.LockedBy != "paused by anybody" {
		t.Fatalf("paused %+v", doc)
	}
	if !s.end(held, engine.Change{Kind: engine.Move, To: resource.PhaseDeleted}) {
		t.Fatal("the holder before could still write")
	}
	// Not even a new intent is acted on.
	s.call("PATCH", "/v1/api-gateways/"+gw.ID, map[string]any{"state": "Stopped"}).want(http.StatusAccepted)
	if s.claim(gw.ID) != nil {
		t.Fatal("a paused document can be claimed")
	}
	s.call("POST", path+"/unlock", map[string]any{"reason": "impatient"}).problem(http.StatusConflict, api.CodeConflict)
	s.call("POST", path+"/retry", map[string]any{"reason": "impatient"}).problem(http.StatusConflict, api.CodeConflict)
	e := as[api.GatewayExplanation](s.call("GET", "/v1/api-gateways/"+gw.ID+"/explain", nil).want(200))
	if !strings.Contains(e.Summary, "paused by anybody: nothing will move it until it is resumed") {
		t.Fatalf("summary %s", e.Summary)
	}
	if page := as[api.Page[api.Document]](s.call("GET", "/v1/documents/ApiGateway?stuck=true", nil).want(200)); len(page.Items) != 1 {
		t.Errorf("stuck: %+v", page.Items)
	}
	s.call("POST", path+"/resume", map[string]any{"reason": "seen it"}).want(http.StatusAccepted)
	s.call("POST", path+"/resume", map[string]any{"reason": "seen it"}).problem(http.StatusConflict, api.CodeConflict)
	if s.claim(gw.ID) == nil {
		t.Fatal("the resumed document cannot be claimed")
	}
	s.call("POST", "/v1/documents/Database/x/pause", map[string]any{"reason": "why"}).problem(http.StatusNotFound, api.CodeNotFound)
	s.call("POST", path+"/pause", map[string]any{}).problem(http.StatusUnprocessableEntity, api.CodeValidation)
}

func TestRemoveOrphans(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	s.children(gw)
	domain, database := "/v1/documents/RuntimeDomain/"+gw.ID, "/v1/documents/Database/"+gw.ID
	s.call("DELETE", domain+"?reason=tidy", nil).problem(http.StatusConflict, api.CodeConflict)
	s.call("DELETE", domain, nil).problem(http.StatusUnprocessableEntity, api.CodeValidation)
	if err := s.docs.RemoveLeaf(t.Context(), resource.KindApiGateway, gw.ID); err != nil {
		t.Fatal(err)
	}
	if doc := as[api.Document](s.call("DELETE", domain+"?reason=tidy", nil).want(http.StatusAccepted)); doc.State != resource.Deleted {
		t.Fatalf("removed %+v", doc)
	}
	s.call("DELETE", database+"?reason=tidy", nil).want(http.StatusAccepted)
	s.call("GET", database, nil).problem(http.StatusNotFound, api.CodeNotFound)
	s.call("DELETE", "/v1/documents/Environment/"+gw.ID+"-dev?reason=tidy", nil).want(http.StatusAccepted)
	s.call("GET", "/v1/documents/Environment/"+gw.ID+"-prod", nil).want(http.StatusOK)
}

func TestVersions(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID + "/functions"
	s.call("POST", path, map[string]any{"name": "f", "code": "one"}).want(http.StatusCreated)
	path += "/f"
	s.call("PATCH", path, map[string]any{"code": "two"}).want(http.StatusAccepted)
	fn := as[resource.CloudFunction](s.call("POST", path+"/rollback", map[string]any{"version": 1}).want(http.StatusAccepted))
	if fn.Version != 3 || fn.Code != "one" {
		t.Fatalf("rolled back to %+v", fn)
	}
	list := as[struct{ Items []api.FunctionVersion }](s.call("GET", path+"/versions", nil).want(http.StatusOK)).Items
	if len(list) != 3 || !list[0].Current || list[0].Version != 3 || list[2].Version != 1 || list[1].Code != "" || list[1].Until.IsZero() {
		t.Fatalf("versions %+v", list)
	}
	two := as[api.FunctionVersion](s.call("GET", path+"/versions/2", nil).want(http.StatusOK))
	if two.Code != "two" || two.Current {
		t.Fatalf("version 2: %+v", two)
	}
	s.call("GET", path+"/versions/9", nil).problem(http.StatusNotFound, api.CodeNotFound)
	s.call("POST", path+"/rollback", map[string]any{"version": 9}).problem(http.StatusUnprocessableEntity, api.CodeValidation)
	s.call("POST", path+"/rollback", map[string]any{"version": 1}, "If-Match", `"1"`).problem(http.StatusPreconditionFailed, api.CodePreconditionFailed)
}

func TestRotateKey(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID + "/client-apps"
	s.call("POST", path, map[string]any{"name": "web", "environment": "dev"}).want(http.StatusCreated)
	done := make(chan *answer)
	for range 4 {
		go func() { done <- s.call("POST", path+"/dev/web/rotate", nil) }()
	}
	counted := 0
	for range 4 {
		if got := <-done; got.status == http.StatusAccepted {
			counted++
		}
	}
	app := as[resource.ClientApp](s.call("GET", path+"/dev/web", nil).want(http.StatusOK))
	if app.KeyRevision != int64(counted) || counted == 0 || app.KeyRevisionReady != 0 {
		t.Fatalf("after %d requests: %+v", counted, app)
	}
}
