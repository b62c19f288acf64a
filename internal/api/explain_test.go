package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// TestExplainStoppedWithChildrenLeft is the story of gateway vn8ofl (fault 11):
// state Stopped, phase Stopped, and yet its RuntimeDomain and a trigger stand.
// It fails if explanations look at the gateway's document alone.
func TestExplainStoppedWithChildrenLeft(t *testing.T) {
	s := start(t)
	ctx := context.Background()
	gw := &resource.ApiGateway{
		Meta:      engine.Meta{ID: "vn8ofl", State: resource.Stopped, Phase: resource.PhaseStopped, Generation: 3},
		GatewayID: "vn8ofl", Name: "shop", Region: "eu",
	}
	if err := s.docs.ApiGateways.Insert(ctx, gw); err != nil {
		t.Fatal(err)
	}
	s.children(gw)
	trigger := &resource.CronTrigger{
		Meta:      engine.Meta{ID: "vn8ofl-nightly", State: resource.Active, Phase: resource.PhaseCreated},
		GatewayID: gw.ID, Name: "nightly", Schedule: "@daily", Function: "f",
	}
	if err := s.docs.CronTriggers.Insert(ctx, trigger); err != nil {
		t.Fatal(err)
	}

	e := as[api.GatewayExplanation](s.call("GET", "/v1/api-gateways/vn8ofl/explain", nil).want(200))
	if e.Gateway == nil || e.Gateway.Condition != engine.IsSettled || len(e.Findings) != 5 || len(e.Children) != 5 {
		t.Fatalf("explanation %+v", e)
	}
	domain := e.Findings[0]
	if domain.Kind != resource.KindRuntimeDomain || domain.Sort != api.Contradiction {
		t.Fatalf("finding %+v", domain)
	}
	for text, says := range map[string]string{
		domain.Problem: "RuntimeDomain vn8ofl is still wanted (state Active, phase Created) although its gateway is Stopped: its routes lead to pods that are gone.",
		domain.Next:    "Nothing will move it.",
		domain.Fix:     "db.RuntimeDomain.updateOne({_id: 'vn8ofl'}, {$set: {state: 'Inactive'}})",
		e.Summary:      "But this contradicts it: RuntimeDomain vn8ofl",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("%q does not say %q", text, says)
		}
	}
	if last := e.Findings[4]; last.ID != "vn8ofl-nightly" {
		t.Fatalf("finding %+v", last)
	}

	stuck := as[api.Page[api.Document]](s.call("GET", "/v1/documents/RuntimeDomain?stuck=true", nil).want(200))
	if len(stuck.Items) != 0 {
		t.Fatalf("the domain rests by its own lights, but is listed as stuck: %+v", stuck)
	}
}

func TestExplainSettledAndMoving(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID
	e := as[api.GatewayExplanation](s.call("GET", path+"/explain", nil).want(200))
	if e.Gateway.Condition != engine.IsMoving || len(e.Findings) != 0 {
		t.Fatalf("new gateway: %+v", e)
	}
	s.children(gw)
	s.settle(resource.KindApiGateway, gw.ID, resource.PhaseStarted)
	e = as[api.GatewayExplanation](s.call("GET", path+"/explain", nil).want(200))
	if e.Gateway.Condition != engine.IsSettled || len(e.Findings) != 0 || len(e.Children) != 0 {
		t.Fatalf("started gateway: %+v", e)
	}
	// A child that is on its way is told of, and contradicts nothing.
	s.call("POST", path+"/functions", map[string]any{"name": "f", "code": "x"}).want(201)
	e = as[api.GatewayExplanation](s.call("GET", path+"/explain", nil).want(200))
	if len(e.Findings) != 0 || len(e.Children) != 1 || e.Children[0].ID != gw.ID+"-f" {
		t.Fatalf("with a new function: %+v", e)
	}
	// One that is gone is missed.
	if err := s.docs.RemoveLeaf(context.Background(), resource.KindDatabase, gw.ID); err != nil {
		t.Fatal(err)
	}
	e = as[api.GatewayExplanation](s.call("GET", path+"/explain", nil).want(200))
	if len(e.Findings) != 1 || e.Findings[0].Sort != api.Missing || e.Findings[0].Kind != resource.KindDatabase {
		t.Fatalf("without its database: %+v", e)
	}
}

func TestExplainOrphans(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	s.children(gw)
	if err := s.docs.RemoveLeaf(context.Background(), resource.KindApiGateway, gw.ID); err != nil {
		t.Fatal(err)
	}
	e := as[api.GatewayExplanation](s.call("GET", "/v1/api-gateways/"+gw.ID+"/explain", nil).want(200))
	if e.Gateway != nil || len(e.Findings) != 8 || e.Findings[0].Sort != api.Orphan {
		t.Fatalf("orphans: %+v", e)
	}
	if !strings.Contains(e.Summary, "is gone, but 8 documents of it are left") {
		t.Fatalf("summary: %s", e.Summary)
	}
	stuck := as[api.Page[api.Document]](s.call("GET", "/v1/documents/Environment?stuck=true", nil).want(200))
	if len(stuck.Items) != 0 {
		t.Fatalf("stuck environments: %+v", stuck.Items)
	}
}

func TestDocumentsAcrossGateways(t *testing.T) {
	s := start(t)
	ctx := context.Background()
	for range 3 {
		s.gateway()
	}
	odd := &resource.ApiGateway{
		Meta:      engine.Meta{ID: "odd001", State: "Sleeping", Phase: resource.PhaseStarted},
		GatewayID: "odd001", Name: "odd", Region: "eu",
	}
	if err := s.docs.ApiGateways.Insert(ctx, odd); err != nil {
		t.Fatal(err)
	}
	all := as[api.Page[api.Document]](s.call("GET", "/v1/documents/ApiGateway", nil).want(200))
	stuck := as[api.Page[api.Document]](s.call("GET", "/v1/documents/ApiGateway?stuck=true", nil).want(200))
	if len(all.Items) != 4 || len(stuck.Items) != 1 || stuck.Items[0].ID != "odd001" || stuck.Items[0].Condition != engine.IsUnhandled {
		t.Fatalf("all %d, stuck %+v", len(all.Items), stuck.Items)
	}
	for query, n := range map[string]int{
		"state=Running": 3, "phase=Started": 1, "gatewayId=odd001": 1, "lockedBy=nobody": 0, "age=1h": 0, "age=0s": 4, "limit=2": 2,
	} {
		page := as[api.Page[api.Document]](s.call("GET", "/v1/documents/ApiGateway?"+query, nil).want(200))
		if len(page.Items) != n {
			t.Errorf("%s: %d documents, want %d", query, len(page.Items), n)
		}
	}
	s.call("GET", "/v1/documents/ApiGateway/odd001", nil).want(200)
	e := as[engine.Explanation](s.call("GET", "/v1/documents/ApiGateway/odd001/explain", nil).want(200))
	if !strings.Contains(e.Summary, `"Sleeping" is not a state`) {
		t.Fatalf("explanation %+v", e)
	}
	s.call("GET", "/v1/documents/Unicorn", nil).problem(422, api.CodeValidation)
	s.call("GET", "/v1/documents/Stage/none", nil).problem(404, api.CodeNotFound)
}

func TestTree(t *testing.T) {
	s := start(t, func(c *api.Config) {
		c.Objects = func(context.Context, string, string) ([]api.Object, error) {
			return []api.Object{{Kind: "Deployment", Name: "d", OwnerKind: resource.KindApiGateway, OwnerID: "x"}}, nil
		}
	})
	gw := s.gateway()
	s.children(gw)
	s.call("POST", "/v1/api-gateways/"+gw.ID+"/client-apps", map[string]any{"environment": "staging", "name": "web"}).want(201)
	root := as[api.Node](s.call("GET", "/v1/api-gateways/"+gw.ID+"/tree", nil).want(200))
	if len(root.Children) != 8 || len(root.Objects) != 1 {
		t.Fatalf("tree %+v", root)
	}
	for _, n := range root.Children {
		if n.ID == gw.ID+"-staging" && n.Kind == resource.KindEnvironment {
			if len(n.Children) != 1 || n.Children[0].ID != gw.ID+"-staging-web" {
				t.Fatalf("environment %+v", n)
			}
			return
		}
	}
	t.Fatal("no environment staging")
}

// away is an error of something that cannot be reached.
type away struct{ error }

func (away) Away() string { return "the cluster of region eu" }

// A region that cannot be reached is said to be so, and is neither the service's
// fault nor its database's. A tree shows what is known without it; nothing is
// adopted while nobody knows what there is.
func TestRegionIsAway(t *testing.T) {
	var found []api.Object
	for _, err := range []error{
		away{errors.New("connect: connection refused")}, fmt.Errorf("list: %w", away{context.DeadlineExceeded}),
		errors.Join(away{context.DeadlineExceeded}, errors.New("no such region")),
	} {
		s := start(t, func(c *api.Config) {
			c.Objects = func(context.Context, string, string) ([]api.Object, error) { return found, err }
		})
		gw := s.gateway()
		found = nil
		root := as[api.Node](s.call("GET", "/v1/api-gateways/"+gw.ID+"/tree", nil).want(http.StatusOK))
		if !strings.HasPrefix(root.Incomplete, "the cluster of region eu cannot be reached") || root.ID != gw.ID {
			t.Errorf("%v: tree %+v", err, root)
		}
		body := map[string]any{"name": "shop", "region": "eu", "reason": "removed by mistake"}
		p := s.call("POST", "/v1/api-gateways/xuz4c6/adopt", body).problem(http.StatusServiceUnavailable, api.CodeUnavailable)
		if !strings.HasPrefix(p.Detail, "the cluster of region eu cannot be reached") {
			t.Errorf("%v: %s", err, p.Detail)
		}
		// Where something was found all the same, more would change nothing.
		found = []api.Object{{Kind: "MongoDatabase", Name: "gw_xuz4c6"}}
		root = as[api.Node](s.call("GET", "/v1/api-gateways/"+gw.ID+"/tree", nil).want(http.StatusOK))
		if len(root.Objects) != 1 || root.Incomplete == "" {
			t.Errorf("%v: tree %+v", err, root)
		}
		s.call("POST", "/v1/api-gateways/xuz4c6/adopt", body).want(http.StatusCreated)
	}
}
