package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

const tagGateways = "Gateways"

type createGatewayInput struct {
	RepeatParams
	WaitParams
	Body NewGateway
}

// NewGateway is what is said of a gateway that is to be made.
type NewGateway struct {
	Name    string       `json:"name" maxLength:"63" doc:"Lower-case letters, digits and hyphens."`
	Region  string       `json:"region" maxLength:"63" doc:"One of /v1/regions. It never changes."`
	State   engine.State `json:"state,omitempty" enum:"Running,Stopped" default:"Running" doc:"What is wanted of it once it is made."`
	Runtime runtimeInput `json:"runtime,omitempty" doc:"Fields left out take the region's defaults."`
	Tenant  string       `json:"tenant,omitempty" maxLength:"40" doc:"Who owns it; only operators may name another than their own."`
}

// Resolve checks what a schema cannot say.
func (in *NewGateway) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	c := complaints{at: at}
	c.check("name", in.Name, resource.ValidName(in.Name, resource.MaxGatewayName))
	if in.Tenant != "" {
		c.check("tenant", in.Tenant, resource.ValidName(in.Tenant, resource.MaxChildName))
	}
	return c.errs
}

type listGatewaysInput struct {
	PageParams
	State  string `query:"state" enum:"Running,Stopped,Restarting,Deleted" doc:"Only those of which this is wanted."`
	Phase  string `query:"phase" enum:"Creating,Created,Starting,Started,Stopping,Stopped,Deleting,Deleted" doc:"Only those that have come this far."`
	Region string `query:"region" maxLength:"63" doc:"Only those of this region."`
	Name   string `query:"name" maxLength:"63" doc:"Only those of this name."`
}

type getGatewayInput struct {
	GatewayParams
	WaitParams
}

type changeGatewayInput struct {
	GatewayParams
	MatchParams
	WaitParams
	Body gatewayChange
}

type gatewayChange struct {
	State   *engine.State `json:"state,omitempty" enum:"Running,Stopped,Restarting,Deleted" doc:"What is wanted. Restarting becomes Running once new pods are ready; it starts a gateway that is stopped."`
	Name    *string       `json:"name,omitempty" maxLength:"63"`
	Runtime *runtimeInput `json:"runtime,omitempty" doc:"Settings to change; the others stay. A running gateway is rolled over to them."`
}

// Resolve checks what a schema cannot say.
func (in *gatewayChange) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	c := complaints{at: at}
	if in.Name != nil {
		c.check("name", *in.Name, resource.ValidName(*in.Name, resource.MaxGatewayName))
	}
	if in.State == nil && in.Name == nil && (in.Runtime == nil || in.Runtime.empty()) {
		c.nothing("state, name or runtime")
	}
	return c.errs
}

type deleteGatewayInput struct {
	GatewayParams
	MatchParams
	WaitParams
}

func (a *api) gatewayRoutes() {
	register(a, operation{
		method: http.MethodPost, path: gatewaysPath, id: "createGateway", tag: tagGateways, role: Editor, status: http.StatusCreated,
		summary: "Make a gateway",
	}, a.createGateway)
	register(a, operation{
		method: http.MethodGet, path: gatewaysPath, id: "listGateways", tag: tagGateways, role: Viewer,
		summary: "List gateways", description: "In the order of their ids, without their histories.",
	}, a.listGateways)
	register(a, operation{
		method: http.MethodGet, path: gatewaysPath + "/{gatewayId}", id: "getGateway", tag: tagGateways, role: Viewer,
		summary: "Read a gateway",
	}, a.getGateway)
	register(a, operation{
		method: http.MethodPatch, path: gatewaysPath + "/{gatewayId}", id: "changeGateway", tag: tagGateways, role: Editor,
		status: http.StatusAccepted, summary: "Change what is wanted of a gateway",
		description: "Asking for the same again is allowed, and makes the task services look at once.",
	}, a.changeGateway)
	register(a, operation{
		method: http.MethodDelete, path: gatewaysPath + "/{gatewayId}", id: "deleteGateway", tag: tagGateways, role: Editor,
		status: http.StatusAccepted, summary: "Delete a gateway and everything beneath it",
		description: "The document goes last: it answers until all that belongs to it is gone. Asking again changes nothing.",
	}, a.deleteGateway)
}

func (a *api) createGateway(ctx context.Context, in *createGatewayInput) (*documentOutput[*resource.ApiGateway], error) {
	gw, err := a.wanted(ctx, &in.Body)
	if err != nil {
		return nil, err
	}
	id, again, err := a.newGatewayID(ctx)
	if err != nil {
		return nil, err
	}
	gw.ID, gw.GatewayID = id, id
	err = a.gateways.insert(ctx, gw, "")
	if again && errors.Is(err, mongostore.ErrExists) {
		gw, err = a.gateways.Get(ctx, id) // made by the request that this one repeats
	}
	if err != nil {
		return nil, err
	}
	a.docs.Hint(resource.KindApiGateway, id)
	return a.gateways.await(ctx, created(gw, gatewayPath(id)), in.WaitParams)
}

// wanted is the gateway that a caller asks for, yet without an id.
func (a *api) wanted(ctx context.Context, in *NewGateway) (*resource.ApiGateway, error) {
	region, ok := a.regions[in.Region]
	if !ok {
		return nil, invalid("body.region", in.Region, "there is no region %q: use one of %s", in.Region, a.regionNames())
	}
	tenant, err := tenantFor(callerOf(ctx), in.Tenant)
	return &resource.ApiGateway{
		Meta: engine.Meta{State: in.State, Phase: resource.PhaseCreating, Generation: 1},
		Name: in.Name, Region: region.Name, Tenant: tenant, Runtime: in.Runtime.runtime(),
	}, err
}

// tenantFor is who will own what a caller makes.
func tenantFor(caller Caller, wanted string) (string, error) {
	switch {
	case wanted == "" && caller.Operator():
		return DefaultTenant, nil
	case wanted == "":
		return caller.Tenant, nil
	case !caller.Sees(wanted):
		return "", fail(CodeForbidden, "%s makes gateways for tenant %s only: leave tenant out", caller.Name, caller.Tenant)
	}
	return wanted, nil
}

func (a *api) listGateways(ctx context.Context, in *listGatewaysInput) (*pageOutput[*resource.ApiGateway], error) {
	where := map[string]string{"state": in.State, "phase": in.Phase, "region": in.Region, "name": in.Name}
	if caller := callerOf(ctx); !caller.Operator() {
		where["tenant"] = caller.Tenant
	}
	return a.gateways.list(ctx, in.PageParams, where)
}

func (a *api) getGateway(ctx context.Context, in *getGatewayInput) (*documentOutput[*resource.ApiGateway], error) {
	gw, err := a.gateway(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	return a.gateways.await(ctx, found(gw), in.WaitParams)
}

func (a *api) changeGateway(ctx context.Context, in *changeGatewayInput) (*documentOutput[*resource.ApiGateway], error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	intent := in.Body.intent()
	intent.IfGeneration = in.generation()
	gw, err := a.gateways.change(ctx, in.GatewayID, intent)
	if err != nil {
		return nil, err
	}
	return a.gateways.await(ctx, accepted(gw, gatewayPath(gw.ID)), in.WaitParams)
}

// intent is the change as the store makes it.
func (in *gatewayChange) intent() mongostore.Intent {
	intent := mongostore.Intent{Fields: map[string]any{}}
	if in.State != nil {
		intent.State = *in.State
	}
	if in.Name != nil {
		intent.Fields["name"] = *in.Name
	}
	if in.Runtime != nil {
		in.Runtime.change(intent.Fields)
	}
	return intent
}

func (a *api) deleteGateway(ctx context.Context, in *deleteGatewayInput) (*documentOutput[*resource.ApiGateway], error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	gw, err := a.gateways.remove(ctx, in.GatewayID, in.MatchParams)
	if err != nil {
		return nil, err
	}
	return a.gateways.await(ctx, accepted(gw, gatewayPath(gw.ID)), in.WaitParams)
}
