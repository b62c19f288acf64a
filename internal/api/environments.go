package api

import (
	"context"
	"net/http"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// EnvironmentParam names an environment in paths.
type EnvironmentParam struct {
	Environment string `path:"environment" enum:"dev,staging,prod" doc:"The environment."`
}

// EnvironmentParams names an environment.
type EnvironmentParams struct {
	GatewayParams
	EnvironmentParam
}

type getEnvironmentInput struct {
	EnvironmentParams
	WaitParams
}

// ChildrenParams names a gateway whose children are listed.
type ChildrenParams struct {
	GatewayParams
	PageParams
}

func (in *ChildrenParams) where() map[string]string {
	return map[string]string{"gatewayId": in.GatewayID}
}

func (a *api) environmentRoutes() {
	path := gatewaysPath + "/{gatewayId}/environments"
	register(a, operation{
		method: http.MethodGet, path: path, id: "listEnvironments", tag: "Environments", role: Viewer,
		summary: "List a gateway's environments", description: "Every gateway has dev, staging and prod: its own steps make and remove them.",
	}, func(ctx context.Context, in *ChildrenParams) (*pageOutput[*resource.Environment], error) {
		if _, err := a.gateway(ctx, in.GatewayID); err != nil {
			return nil, err
		}
		return a.environments.list(ctx, in.PageParams, in.where())
	})
	register(a, operation{
		method: http.MethodGet, path: path + "/{environment}", id: "getEnvironment", tag: "Environments", role: Viewer,
		summary: "Read an environment",
	}, func(ctx context.Context, in *getEnvironmentInput) (*documentOutput[*resource.Environment], error) {
		if _, err := a.gateway(ctx, in.GatewayID); err != nil {
			return nil, err
		}
		env, err := a.environments.Get(ctx, resource.EnvironmentName(in.GatewayID, in.Environment))
		if err != nil {
			return nil, missing(err, "gateway %s has no environment %s (yet)", in.GatewayID, in.Environment)
		}
		return a.environments.await(ctx, found(env), in.WaitParams)
	})
}

func (a *api) databaseRoutes() {
	register(a, operation{
		method: http.MethodGet, path: gatewaysPath + "/{gatewayId}/database", id: "getDatabase", tag: "Database", role: Viewer,
		summary: "Read a gateway's database", description: "The gateway's own steps make and drop it. Its password is in the Kubernetes Secret and nowhere else.",
	}, func(ctx context.Context, in *getGatewayInput) (*documentOutput[*resource.Database], error) {
		if _, err := a.gateway(ctx, in.GatewayID); err != nil {
			return nil, err
		}
		db, err := a.databases.Get(ctx, in.GatewayID)
		if err != nil {
			return nil, missing(err, "gateway %s has no database (yet)", in.GatewayID)
		}
		return a.databases.await(ctx, found(db), in.WaitParams)
	})
}
