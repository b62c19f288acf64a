package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

const (
	tagClientApps  = "Client apps"
	clientAppsPath = gatewaysPath + "/{gatewayId}/client-apps"
	clientAppPath  = clientAppsPath + "/{environment}/{name}"
)

// NameParam names a child document in paths.
type NameParam struct {
	Name string `path:"name" maxLength:"40" pattern:"^[a-z]([a-z0-9-]*[a-z0-9])?$" patternDescription:"lower-case letters, digits and hyphens" doc:"The document's name."`
}

type createClientAppInput struct {
	GatewayParams
	RepeatParams
	WaitParams
	Body newClientApp
}

type newClientApp struct {
	Environment string       `json:"environment" enum:"dev,staging,prod" doc:"Where the app calls the gateway. It never changes."`
	Name        string       `json:"name" maxLength:"40" doc:"Lower-case letters, digits and hyphens. It never changes."`
	State       engine.State `json:"state,omitempty" enum:"Active,Inactive" default:"Active" doc:"Inactive refuses the app's key."`
}

// Resolve checks what a schema cannot say.
func (in *newClientApp) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	c := complaints{at: at}
	c.check("name", in.Name, resource.ValidName(in.Name, resource.MaxChildName))
	return c.errs
}

type listClientAppsInput struct {
	ChildrenParams
	Environment string `query:"environment" enum:"dev,staging,prod" doc:"Only those of this environment."`
}

// ClientAppParams names a client app.
type ClientAppParams struct {
	GatewayParams
	EnvironmentParam
	NameParam
}

func (in *ClientAppParams) id() string {
	return resource.ConsumerName(in.GatewayID, in.Environment, in.Name)
}

func (in *ClientAppParams) location() string {
	return gatewayPath(in.GatewayID) + "/client-apps/" + in.Environment + "/" + in.Name
}

type getClientAppInput struct {
	ClientAppParams
	WaitParams
}

type changeClientAppInput struct {
	ClientAppParams
	MatchParams
	WaitParams
	Body struct {
		State engine.State `json:"state" enum:"Active,Inactive,Deleted"`
	}
}

type rotateKeyInput struct {
	ClientAppParams
	MatchParams
	WaitParams
	RepeatParams
}

type deleteClientAppInput struct {
	ClientAppParams
	MatchParams
	WaitParams
}

type clientAppOutput = documentOutput[*resource.ClientApp]

func (a *api) clientAppRoutes() {
	register(a, operation{
		method: http.MethodPost, path: clientAppsPath, id: "createClientApp", tag: tagClientApps, role: Editor,
		status: http.StatusCreated, summary: "Make a client app",
		description: "Its key is made by its task service and kept in a Kubernetes Secret of the same name.",
	}, a.createClientApp)
	register(a, operation{
		method: http.MethodGet, path: clientAppsPath, id: "listClientApps", tag: tagClientApps, role: Viewer,
		summary: "List a gateway's client apps",
	}, a.listClientApps)
	register(a, operation{
		method: http.MethodGet, path: clientAppPath, id: "getClientApp", tag: tagClientApps, role: Viewer,
		summary: "Read a client app",
	}, a.getClientApp)
	register(a, operation{
		method: http.MethodPatch, path: clientAppPath, id: "changeClientApp", tag: tagClientApps, role: Editor,
		status: http.StatusAccepted, summary: "Change what is wanted of a client app",
	}, a.changeClientApp)
	register(a, operation{
		method: http.MethodPost, path: clientAppPath + "/rotate", id: "rotateClientAppKey", tag: tagClientApps, role: Editor,
		status: http.StatusAccepted, summary: "Give a client app a new key",
		description: "The new key is in the app's Secret once keyRevisionReady has reached keyRevision; the ingress takes it from there, and refuses the one before.",
	}, a.rotateKey)
	register(a, operation{
		method: http.MethodDelete, path: clientAppPath, id: "deleteClientApp", tag: tagClientApps, role: Editor,
		status: http.StatusAccepted, summary: "Delete a client app and its key",
	}, a.deleteClientApp)
}

func (a *api) createClientApp(ctx context.Context, in *createClientAppInput) (*clientAppOutput, error) {
	gw, err := a.livingGateway(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	at := ClientAppParams{in.GatewayParams, EnvironmentParam{in.Body.Environment}, NameParam{in.Body.Name}}
	app := &resource.ClientApp{
		Meta:      engine.Meta{ID: at.id(), State: in.Body.State},
		GatewayID: gw.ID, Region: gw.Region, Environment: in.Body.Environment, Name: in.Body.Name,
	}
	if app, err = a.clientApps.insertChild(ctx, gw.ID, app); err != nil {
		return nil, err
	}
	return a.clientApps.await(ctx, created(app, at.location()), in.WaitParams)
}

func (a *api) listClientApps(ctx context.Context, in *listClientAppsInput) (*pageOutput[*resource.ClientApp], error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	where := in.where()
	where["environment"] = in.Environment
	return a.clientApps.list(ctx, in.PageParams, where)
}

func (a *api) getClientApp(ctx context.Context, in *getClientAppInput) (*clientAppOutput, error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	app, err := a.clientApps.Get(ctx, in.id())
	if err != nil {
		return nil, in.missing(err)
	}
	return a.clientApps.await(ctx, found(app), in.WaitParams)
}

func (in *ClientAppParams) missing(err error) error {
	return missing(err, "environment %s of gateway %s has no client app %s", in.Environment, in.GatewayID, in.Name)
}

func (a *api) changeClientApp(ctx context.Context, in *changeClientAppInput) (*clientAppOutput, error) {
	if _, err := a.livingGateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	app, err := a.clientApps.change(ctx, in.id(),
		mongostore.Intent{State: in.Body.State, IfGeneration: in.generation()})
	if err != nil {
		return nil, in.missing(err)
	}
	return a.clientApps.await(ctx, accepted(app, in.location()), in.WaitParams)
}

// rotateKey counts up from what was read, so that one request asks for one new
// key, whoever else asks, and however often it is repeated with its key.
func (a *api) rotateKey(ctx context.Context, in *rotateKeyInput) (*clientAppOutput, error) {
	if _, err := a.livingGateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	app, err := again(in.MatchParams, func() (*resource.ClientApp, error) { return a.countKey(ctx, in) })
	if err != nil {
		return nil, in.missing(err)
	}
	return a.clientApps.await(ctx, accepted(app, in.location()), in.WaitParams)
}

func (a *api) countKey(ctx context.Context, in *rotateKeyInput) (*resource.ClientApp, error) {
	app, err := a.clientApps.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	if _, is := counted(ctx, app.KeyRevision); is {
		return app, nil
	}
	if err := in.check(resource.KindClientApp, &app.Meta); err != nil {
		return nil, err
	}
	if err := a.aim(ctx, app.KeyRevision+1); err != nil {
		return nil, err
	}
	return a.clientApps.change(ctx, in.id(), mongostore.Intent{
		IfGeneration: &app.Generation, Fields: map[string]any{"keyRevision": app.KeyRevision + 1},
	})
}

func (a *api) deleteClientApp(ctx context.Context, in *deleteClientAppInput) (*clientAppOutput, error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	app, err := a.clientApps.remove(ctx, in.id(), in.MatchParams)
	if err != nil {
		return nil, in.missing(err)
	}
	return a.clientApps.await(ctx, accepted(app, in.location()), in.WaitParams)
}
