package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/client"
)

// TestEveryOperation calls each method against the real API, and checks that
// the typed answer says all that the server said.
func TestEveryOperation(t *testing.T) {
	s, c := start(t)
	ctx := t.Context()
	ok := func(typed any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		s.line.same(typed)
	}
	gw, err := c.CreateGateway(ctx, client.NewGateway{Name: "shop", Region: "eu", Runtime: client.RuntimeChange{
		Replicas: client.Ptr(int32(2)), Env: map[string]string{"A": "b"},
	}})
	ok(gw, err)
	s.children(t, gw)
	id := gw.ID
	ok(c.GetGateway(ctx, id))
	ok(c.ListGateways(ctx, client.GatewayQuery{Region: "eu", State: client.Running}, client.Paging{Limit: 5}))
	ok(c.ChangeGateway(ctx, id, client.GatewayChange{Name: client.Ptr("store"), Runtime: &client.RuntimeChange{Env: map[string]string{}}}, client.IfMatch(gw)))
	ok(c.ExplainGateway(ctx, id))
	ok(c.GetGatewayTree(ctx, id))
	ok(c.ListEvents(ctx, id, time.Now().Add(-time.Hour), client.Paging{}))

	ok(c.ListEnvironments(ctx, id, client.Paging{}))
	ok(c.GetEnvironment(ctx, id, "dev"))
	ok(c.GetDatabase(ctx, id))

	ok(c.CreateClientApp(ctx, id, client.NewClientApp{Environment: "dev", Name: "web"}))
	ok(c.GetClientApp(ctx, id, "dev", "web"))
	ok(c.ListClientApps(ctx, id, "dev", client.Paging{}))
	ok(c.ChangeClientApp(ctx, id, "dev", "web", client.Inactive))
	ok(c.RotateClientAppKey(ctx, id, "dev", "web"))
	ok(c.DeleteClientApp(ctx, id, "dev", "web"))

	ok(c.CreateFunction(ctx, id, client.NewFunction{Name: "f", Code: "one"}))
	ok(c.GetFunction(ctx, id, "f"))
	ok(c.ListFunctions(ctx, id, client.Paging{}))
	ok(c.ChangeFunction(ctx, id, "f", client.FunctionChange{Code: client.Ptr("two")}))
	ok(c.ListFunctionVersions(ctx, id, "f"))
	ok(c.GetFunctionVersion(ctx, id, "f", 1))
	ok(c.RollbackFunction(ctx, id, "f", 1))

	ok(c.ListStages(ctx, id, client.Paging{}))
	ok(c.GetStage(ctx, id, "dev"))
	ok(c.PublishStage(ctx, id, "dev", []client.Route{{Path: "/f", Methods: []string{"GET"}, Function: "f"}}))
	ok(c.PublishStage(ctx, id, "dev", nil))
	ok(c.ChangeStage(ctx, id, "dev", client.StageChange{State: client.Ptr(client.Inactive)}))

	ok(c.CreateTrigger(ctx, id, client.NewTrigger{Name: "t", Schedule: "@daily", Function: "f"}))
	ok(c.GetTrigger(ctx, id, "t"))
	ok(c.ListTriggers(ctx, id, client.Paging{}))
	ok(c.ChangeTrigger(ctx, id, "t", client.TriggerChange{TimeZone: client.Ptr("Europe/Berlin")}))
	ok(c.DeleteTrigger(ctx, id, "t"))
	ok(c.DeleteFunction(ctx, id, "f"))

	ok(c.GetRuntimeDomain(ctx, id))
	ok(c.BindCustomDomain(ctx, id, "api.example.org"))
	ok(c.UnbindCustomDomain(ctx, id))
	if _, err := c.CheckCustomDomain(ctx, id); !client.IsNotFound(err) {
		t.Errorf("check of no domain: %v", err)
	}

	ok(c.ListDocuments(ctx, "ApiGateway", client.DocumentQuery{GatewayID: id, Age: time.Nanosecond}, client.Paging{}))
	ok(c.GetDocument(ctx, "ApiGateway", id))
	ok(c.ExplainDocument(ctx, "ApiGateway", id))
	ok(c.RetryDocument(ctx, "ApiGateway", id, "testing"))
	ok(c.UnlockDocument(ctx, "ApiGateway", id, "testing"))
	ok(c.PauseDocument(ctx, "ApiGateway", id, "testing"))
	ok(c.ResumeDocument(ctx, "ApiGateway", id, "testing"))
	ok(c.PauseKind(ctx, "ApiGateway", "testing"))
	ok(c.ListKinds(ctx))
	ok(c.ResumeKind(ctx, "ApiGateway", "testing"))
	ok(c.ListRegions(ctx))
	ok(c.ListShards(ctx))
	if err := errors.Join(c.GetHealth(ctx), c.GetReadiness(ctx)); err != nil {
		t.Error(err)
	}
	ok(c.DeleteGateway(ctx, id))
	if _, err := c.ForceDeleteDocument(ctx, "ApiGateway", id, "namespace", "testing"); client.CodeOf(err) != client.CodeConflict {
		t.Errorf("skip a step of a deletion that has not begun: %v", err)
	}

	if err := s.docs.RemoveLeaf(ctx, resource.KindApiGateway, id); err != nil {
		t.Fatal(err)
	}
	ok(c.ExplainGateway(ctx, id))
	ok(c.AdoptGateway(ctx, id, client.Adoption{NewGateway: client.NewGateway{Name: "shop", Region: "eu"}, Reason: "testing"}))
	if err := s.docs.RemoveLeaf(ctx, resource.KindApiGateway, id); err != nil {
		t.Fatal(err)
	}
	ok(c.RemoveOrphan(ctx, "Database", id, "testing"))
}

func TestProblems(t *testing.T) {
	_, c := start(t)
	ctx := t.Context()
	_, err := c.CreateGateway(ctx, client.NewGateway{Name: "Shop!", Region: "eu"})
	var p *client.Problem
	if !errors.As(err, &p) || p.Code != client.CodeValidation || p.Errors[0].Location != "body.name" || !strings.Contains(err.Error(), "lower-case") {
		t.Errorf("a bad name: %v", err)
	}
	for _, id := range []string{"zzzzzz", "..", "a/b", "%"} {
		if _, err := c.GetGateway(ctx, id); client.CodeOf(err) != client.CodeNotFound && client.CodeOf(err) != client.CodeValidation {
			t.Errorf("gateway %q: %v", id, err)
		}
	}
	gw, err := c.CreateGateway(ctx, client.NewGateway{Name: "shop", Region: "eu"}, client.Wait("phase:Started", 50*time.Millisecond))
	if gw != nil || !errors.As(err, &p) || p.Code != client.CodeWaitTimeout || !strings.HasPrefix(p.Location, "/v1/api-gateways/") {
		t.Errorf("a wait that took too long: %v %+v", err, p)
	}
	for _, address := range []string{"", "lockstep.example.com", "ftp://x", "://"} {
		if _, err := client.New(address); err == nil {
			t.Errorf("address %q is accepted", address)
		}
	}
}

func TestLists(t *testing.T) {
	_, c := start(t)
	ctx := t.Context()
	gw, err := c.CreateGateway(ctx, client.NewGateway{Name: "shop", Region: "eu"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if _, err := c.CreateFunction(ctx, gw.ID, client.NewFunction{Name: name, Code: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	var names string
	for fn, err := range c.Functions(ctx, gw.ID) {
		if err != nil {
			t.Fatal(err)
		}
		if names += fn.Name; fn.Name == "b" {
			break
		}
	}
	if names != "ab" {
		t.Errorf("functions %s", names)
	}
	for _, err := range c.Functions(ctx, "zzzzzz") {
		if !client.IsNotFound(err) {
			t.Errorf("functions of no gateway: %v", err)
		}
	}
}

// TestLostAnswers loses the answers to requests that make something. The client
// tries again, and nothing is made twice. It fails without the Idempotency-Key.
func TestLostAnswers(t *testing.T) {
	s, c := start(t)
	lost := 0
	s.line.breaks(func(_ *http.Request, answered bool) error {
		if answered && lost < 2 {
			lost++
			return errors.New("line lost")
		}
		return nil
	})
	gw, err := c.CreateGateway(t.Context(), client.NewGateway{Name: "shop", Region: "eu"})
	if err != nil || lost != 2 {
		t.Fatalf("%v after %d answers were lost", err, lost)
	}
	if n, err := s.docs.ApiGateways.Count(t.Context(), bson.D{}); err != nil || n != 1 {
		t.Fatalf("%d gateways (%v)", n, err)
	}
	// A conditional change may have been made: it is not sent again.
	lost = 1
	if _, err := c.ChangeGateway(t.Context(), gw.ID, client.GatewayChange{Name: client.Ptr("a")}, client.IfMatch(gw)); err == nil || lost != 2 {
		t.Fatalf("%v after %d answers were lost", err, lost)
	}
}

func TestPatienceEnds(t *testing.T) {
	c, err := client.New("http://127.0.0.1:1", client.WithPatience(300*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.GetHealth(t.Context()); err == nil {
		t.Fatal("nobody answers, but there is no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.GetHealth(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("after the context has ended: %v", err)
	}
}

func TestWatch(t *testing.T) {
	s, c := start(t)
	ctx := t.Context()
	gw, err := c.CreateGateway(ctx, client.NewGateway{Name: "shop", Region: "eu"})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for e, err := range c.WatchGateway(ctx, gw.ID) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Document == nil:
			told = append(told, "gone")
		case len(told) == 0:
			told = append(told, string(e.Document.State))
			s.CloseClientConnections() // the line is lost, and taken up again
			if _, err := c.ChangeGateway(ctx, gw.ID, client.GatewayChange{State: client.Ptr(client.Stopped)}); err != nil {
				t.Fatal(err)
			}
		case told[len(told)-1] != string(e.Document.State):
			told = append(told, string(e.Document.State))
			if err := s.docs.RemoveLeaf(ctx, resource.KindApiGateway, gw.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := strings.Join(told, " "); got != "Running Stopped gone" {
		t.Fatalf("watched %s", got)
	}
	for _, err := range c.WatchGateway(ctx, "zzzzzz") {
		if !client.IsNotFound(err) {
			t.Fatalf("watch of no gateway: %v", err)
		}
	}
}
