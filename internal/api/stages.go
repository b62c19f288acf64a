package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

const (
	tagStages  = "Stages"
	stagesPath = gatewaysPath + "/{gatewayId}/stages"
	stagePath  = stagesPath + "/{environment}"
)

// routeInput is one route of a stage, in requests.
type routeInput struct {
	Path     string   `json:"path" maxLength:"512" doc:"Begins with /; a * at its end matches every path below."`
	Methods  []string `json:"methods,omitempty" nullable:"false" maxItems:"9" uniqueItems:"true" enum:"GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS,CONNECT,TRACE" doc:"All methods if left out."`
	Function string   `json:"function" maxLength:"40" doc:"The name of one of the gateway's functions."`
}

type getStageInput struct {
	EnvironmentParams
	WaitParams
}

type publishInput struct {
	EnvironmentParams
	MatchParams
	WaitParams
	Body publication
}

// publication is what is published to an environment.
type publication struct {
	Routes []routeInput `json:"routes" nullable:"false" maxItems:"200" doc:"All routes of the stage; those left out are removed."`
}

// Resolve checks what a schema cannot say.
func (in *publication) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	return checkRoutes(in.Routes, at)
}

type changeStageInput struct {
	EnvironmentParams
	MatchParams
	WaitParams
	Body stageChange
}

type stageChange struct {
	State  *engine.State `json:"state,omitempty" enum:"Active,Inactive" doc:"Inactive takes the stage's routes away and keeps what is to be published. Active makes it follow its gateway: it is Inactive while that is stopped."`
	Routes *[]routeInput `json:"routes,omitempty" maxItems:"200" doc:"All routes of the stage; those left out are removed."`
}

// Resolve checks what a schema cannot say.
func (in *stageChange) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	if in.State == nil && in.Routes == nil {
		c := complaints{at: at}
		c.nothing("state or routes")
		return c.errs
	}
	if in.Routes == nil {
		return nil
	}
	return checkRoutes(*in.Routes, at)
}

// checkRoutes checks each route, and that no two serve the same requests.
func checkRoutes(routes []routeInput, at *huma.PathBuffer) []error {
	c := complaints{at: at}
	seen := map[string]bool{}
	at.Push("routes")
	defer at.Pop()
	for i, r := range routes {
		at.PushIndex(i)
		c.check("path", r.Path, resource.ValidPath(r.Path))
		c.check("function", r.Function, resource.ValidName(r.Function, resource.MaxChildName))
		for _, method := range r.serves() {
			if key := method + " " + r.Path; seen[key] || seen["* "+r.Path] || method == "*" && seen["any "+r.Path] {
				c.check("path", r.Path, errTwice)
			} else {
				seen[key], seen["any "+r.Path] = true, true
			}
		}
		at.Pop()
	}
	return c.errs
}

// serves are the methods of a route, "*" for all.
func (in *routeInput) serves() []string {
	if len(in.Methods) == 0 {
		return []string{"*"}
	}
	return in.Methods
}

type stageOutput = documentOutput[*resource.Stage]

func (a *api) stageRoutes() {
	register(a, operation{
		method: http.MethodGet, path: stagesPath, id: "listStages", tag: tagStages, role: Viewer,
		summary: "List a gateway's stages", description: "Every environment has one: the gateway's own steps make them.",
	}, a.listStages)
	register(a, operation{
		method: http.MethodGet, path: stagePath, id: "getStage", tag: tagStages, role: Viewer,
		summary: "Read a stage", description: "It is published when publishedGeneration has reached generation.",
	}, a.getStage)
	register(a, operation{
		method: http.MethodPut, path: stagePath, id: "publishStage", tag: tagStages, role: Editor,
		status: http.StatusAccepted, summary: "Publish routes and their functions to an environment",
		description: "While the gateway is stopped, they are kept and published when it starts.",
	}, func(ctx context.Context, in *publishInput) (*stageOutput, error) {
		return a.publish(ctx, in.EnvironmentParams, in.MatchParams, in.WaitParams, stageChange{Routes: &in.Body.Routes})
	})
	register(a, operation{
		method: http.MethodPatch, path: stagePath, id: "changeStage", tag: tagStages, role: Editor,
		status: http.StatusAccepted, summary: "Change what is wanted of a stage",
	}, func(ctx context.Context, in *changeStageInput) (*stageOutput, error) {
		return a.publish(ctx, in.EnvironmentParams, in.MatchParams, in.WaitParams, in.Body)
	})
}

func (a *api) listStages(ctx context.Context, in *ChildrenParams) (*pageOutput[*resource.Stage], error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	return a.stages.list(ctx, in.PageParams, in.where())
}

func (a *api) getStage(ctx context.Context, in *getStageInput) (*stageOutput, error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	stage, err := a.stages.Get(ctx, resource.EnvironmentName(in.GatewayID, in.Environment))
	if err != nil {
		return nil, missing(err, "gateway %s has no stage %s (yet)", in.GatewayID, in.Environment)
	}
	return a.stages.await(ctx, found(stage), in.WaitParams)
}

func (a *api) publish(ctx context.Context, in EnvironmentParams, match MatchParams, wait WaitParams, to stageChange) (*stageOutput, error) {
	gw, err := a.livingGateway(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	intent := mongostore.Intent{IfGeneration: match.generation(), Fields: map[string]any{}}
	if to.State != nil {
		follow(&intent, gw, *to.State)
	}
	if to.Routes != nil {
		if intent.Fields["routes"], err = a.routesOf(ctx, gw.ID, *to.Routes); err != nil {
			return nil, err
		}
	}
	stage, err := a.stages.change(ctx, resource.EnvironmentName(gw.ID, in.Environment), intent)
	if err != nil {
		return nil, notReady(err, gw, "stage "+in.Environment)
	}
	if stage, err = a.stages.stillWanted(ctx, gw.ID, stage); err != nil {
		return nil, err
	}
	return a.stages.await(ctx, accepted(stage, gatewayPath(gw.ID)+"/stages/"+in.Environment), wait)
}

// routesOf makes the stored routes, each of which must lead to a function that
// exists.
func (a *api) routesOf(ctx context.Context, gatewayID string, in []routeInput) ([]resource.Route, error) {
	functions, err := a.functions.list(ctx, PageParams{Limit: maxChildren}, map[string]string{"gatewayId": gatewayID}, "code", "versions")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, fn := range functions.Body.Items {
		known[fn.Name] = fn.State != resource.Deleted
	}
	routes := make([]resource.Route, len(in))
	for i, r := range in {
		if !known[r.Function] {
			return nil, noFunction("body.routes["+itoa(i)+"].function", gatewayID, r.Function)
		}
		routes[i] = resource.Route{Path: r.Path, Methods: upper(r.Methods), Function: r.Function}
	}
	return routes, nil
}

func noFunction(location, gatewayID, name string) error {
	return invalid(location, name, "gateway %s has no function %q: make it first", gatewayID, name)
}

func upper(methods []string) []string {
	for i, m := range methods {
		methods[i] = strings.ToUpper(m)
	}
	return methods
}
