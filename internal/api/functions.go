package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

const (
	tagFunctions  = "Functions"
	functionsPath = gatewaysPath + "/{gatewayId}/functions"
	functionPath  = functionsPath + "/{name}"
)

type createFunctionInput struct {
	GatewayParams
	RepeatParams
	WaitParams
	Body newFunction
}

type newFunction struct {
	Name    string `json:"name" maxLength:"40" doc:"Lower-case letters, digits and hyphens. It never changes."`
	Runtime string `json:"runtime,omitempty" default:"javascript" maxLength:"30" pattern:"^[a-z][a-z0-9]*$" patternDescription:"a language such as javascript" doc:"The language the code is in."`
	Code    string `json:"code" minLength:"1" maxLength:"524288" doc:"Stages publish it."`
}

// Resolve checks what a schema cannot say.
func (in *newFunction) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	c := complaints{at: at}
	c.check("name", in.Name, resource.ValidName(in.Name, resource.MaxChildName))
	c.check("code", len(in.Code), resource.ValidCode(in.Code))
	return c.errs
}

// FunctionParams names a function.
type FunctionParams struct {
	GatewayParams
	NameParam
}

func functionID(gatewayID, name string) string { return gatewayID + "-" + name }

func (in *FunctionParams) id() string { return functionID(in.GatewayID, in.Name) }

func (in *FunctionParams) location() string {
	return gatewayPath(in.GatewayID) + "/functions/" + in.Name
}

func (in *FunctionParams) missing(err error) error {
	return missing(err, "gateway %s has no function %s", in.GatewayID, in.Name)
}

type getFunctionInput struct {
	FunctionParams
	WaitParams
}

type changeFunctionInput struct {
	FunctionParams
	MatchParams
	WaitParams
	Body functionChange
}

type functionChange struct {
	Code    *string `json:"code,omitempty" minLength:"1" maxLength:"524288"`
	Runtime *string `json:"runtime,omitempty" maxLength:"30" pattern:"^[a-z][a-z0-9]*$" patternDescription:"a language such as javascript"`
}

// Resolve checks what a schema cannot say.
func (in *functionChange) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	c := complaints{at: at}
	if in.Code != nil {
		c.check("code", len(*in.Code), resource.ValidCode(*in.Code))
	}
	if in.Code == nil && in.Runtime == nil {
		c.nothing("code or runtime")
	}
	return c.errs
}

type deleteFunctionInput struct {
	FunctionParams
	MatchParams
	WaitParams
}

type functionOutput = documentOutput[*resource.CloudFunction]

func (a *api) functionRoutes() {
	register(a, operation{
		method: http.MethodPost, path: functionsPath, id: "createFunction", tag: tagFunctions, role: Editor,
		status: http.StatusCreated, summary: "Make a function",
	}, a.createFunction)
	register(a, operation{
		method: http.MethodGet, path: functionsPath, id: "listFunctions", tag: tagFunctions, role: Viewer,
		summary: "List a gateway's functions", description: "Without their code.",
	}, a.listFunctions)
	register(a, operation{
		method: http.MethodGet, path: functionPath, id: "getFunction", tag: tagFunctions, role: Viewer,
		summary: "Read a function",
	}, a.getFunction)
	register(a, operation{
		method: http.MethodPatch, path: functionPath, id: "changeFunction", tag: tagFunctions, role: Editor,
		status: http.StatusAccepted, summary: "Publish a new version of a function", description: "Versions before are kept, as many as there is room for. What stages have published stays until they are published again.",
	}, a.changeFunction)
	register(a, operation{
		method: http.MethodDelete, path: functionPath, id: "deleteFunction", tag: tagFunctions, role: Editor,
		status: http.StatusAccepted, summary: "Delete a function", description: "Refused while a stage or a trigger refers to it.",
	}, a.deleteFunction)
	a.versionRoutes()
}

func (a *api) createFunction(ctx context.Context, in *createFunctionInput) (*functionOutput, error) {
	gw, err := a.livingGateway(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	at := FunctionParams{in.GatewayParams, NameParam{in.Body.Name}}
	fn := &resource.CloudFunction{
		Meta:      engine.Meta{ID: at.id(), State: resource.Active},
		GatewayID: gw.ID, Region: gw.Region, Name: in.Body.Name,
		Runtime: in.Body.Runtime, Code: in.Body.Code, Version: 1,
	}
	if fn, err = a.functions.insertChild(ctx, gw.ID, fn); err != nil {
		return nil, err
	}
	return a.functions.await(ctx, created(fn, at.location()), in.WaitParams)
}

func (a *api) listFunctions(ctx context.Context, in *ChildrenParams) (*pageOutput[*resource.CloudFunction], error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	return a.functions.list(ctx, in.PageParams, in.where(), "code", "versions")
}

func (a *api) getFunction(ctx context.Context, in *getFunctionInput) (*functionOutput, error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	fn, err := a.functions.Get(ctx, in.id())
	if err != nil {
		return nil, in.missing(err)
	}
	return a.functions.await(ctx, found(fn), in.WaitParams)
}

func (a *api) changeFunction(ctx context.Context, in *changeFunctionInput) (*functionOutput, error) {
	if _, err := a.livingGateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	fn, err := a.supersede(ctx, &in.FunctionParams, in.MatchParams, func(fn *resource.CloudFunction) (runtime, code string, _ error) {
		runtime, code = fn.Runtime, fn.Code
		assign(&runtime, in.Body.Runtime)
		assign(&code, in.Body.Code)
		return runtime, code, nil
	})
	if err != nil {
		return nil, in.missing(err)
	}
	return a.functions.await(ctx, accepted(fn, in.location()), in.WaitParams)
}

func (a *api) deleteFunction(ctx context.Context, in *deleteFunctionInput) (*functionOutput, error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	users, err := a.usersOf(ctx, in.GatewayID, in.Name)
	if err != nil {
		return nil, err
	}
	if len(users) > 0 {
		return nil, fail(CodeInUse, "function %s is used by %s: change or delete those first", in.Name, strings.Join(users, ", "))
	}
	fn, err := a.functions.remove(ctx, in.id(), in.MatchParams)
	if err != nil {
		return nil, in.missing(err)
	}
	return a.functions.await(ctx, accepted(fn, in.location()), in.WaitParams)
}

// usersOf names the stages and triggers that refer to a function.
func (a *api) usersOf(ctx context.Context, gatewayID, function string) ([]string, error) {
	var users []string
	all := PageParams{Limit: maxChildren}
	where := map[string]string{"gatewayId": gatewayID}
	stages, err := a.stages.list(ctx, all, where)
	if err != nil {
		return nil, err
	}
	for _, stage := range stages.Body.Items {
		for _, route := range stage.Routes {
			if route.Function == function && stage.State != resource.Deleted {
				users = append(users, "stage "+stage.Environment+" (route "+route.Path+")")
			}
		}
	}
	where["function"] = function
	triggers, err := a.triggers.list(ctx, all, where)
	if err != nil {
		return nil, err
	}
	for _, trigger := range triggers.Body.Items {
		if trigger.State != resource.Deleted {
			users = append(users, "trigger "+trigger.Name)
		}
	}
	return users, nil
}
