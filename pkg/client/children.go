package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// ListEnvironments reads a page of a gateway's environments.
func (c *Client) ListEnvironments(ctx context.Context, gateway string, at Paging) (*Page[Environment], error) {
	return page[Environment](ctx, c, at.query(), v1, gateways, gateway, "environments")
}

// GetEnvironment reads an environment: dev, staging or prod.
func (c *Client) GetEnvironment(ctx context.Context, gateway, environment string, opts ...CallOption) (*Environment, error) {
	return get[Environment](ctx, c, opts, v1, gateways, gateway, "environments", environment)
}

// GetDatabase reads a gateway's database.
func (c *Client) GetDatabase(ctx context.Context, gateway string, opts ...CallOption) (*Database, error) {
	return get[Database](ctx, c, opts, v1, gateways, gateway, "database")
}

// CreateClientApp makes a client app.
func (c *Client) CreateClientApp(ctx context.Context, gateway string, in NewClientApp, opts ...CallOption) (*ClientApp, error) {
	return call[ClientApp](ctx, c, http.MethodPost, in, opts, v1, gateways, gateway, "client-apps")
}

// GetClientApp reads a client app.
func (c *Client) GetClientApp(ctx context.Context, gateway, environment, name string, opts ...CallOption) (*ClientApp, error) {
	return get[ClientApp](ctx, c, opts, v1, gateways, gateway, "client-apps", environment, name)
}

// ListClientApps reads a page of a gateway's client apps, of one environment
// or of all.
func (c *Client) ListClientApps(ctx context.Context, gateway, environment string, at Paging) (*Page[ClientApp], error) {
	q := at.query()
	set(q, "environment", environment)
	return page[ClientApp](ctx, c, q, v1, gateways, gateway, "client-apps")
}

// ClientApps goes through all of a gateway's client apps.
func (c *Client) ClientApps(ctx context.Context, gateway, environment string) iter.Seq2[*ClientApp, error] {
	return all(func(at Paging) (*Page[ClientApp], error) { return c.ListClientApps(ctx, gateway, environment, at) })
}

// ChangeClientApp sets a client app's state.
func (c *Client) ChangeClientApp(ctx context.Context, gateway, environment, name string, state engine.State, opts ...CallOption) (*ClientApp, error) {
	return call[ClientApp](ctx, c, http.MethodPatch, map[string]engine.State{"state": state}, opts,
		v1, gateways, gateway, "client-apps", environment, name)
}

// RotateClientAppKey asks for a new key of a client app.
func (c *Client) RotateClientAppKey(ctx context.Context, gateway, environment, name string, opts ...CallOption) (*ClientApp, error) {
	return call[ClientApp](ctx, c, http.MethodPost, nil, opts, v1, gateways, gateway, "client-apps", environment, name, "rotate")
}

// DeleteClientApp asks for a client app to be deleted.
func (c *Client) DeleteClientApp(ctx context.Context, gateway, environment, name string, opts ...CallOption) (*ClientApp, error) {
	return call[ClientApp](ctx, c, http.MethodDelete, nil, opts, v1, gateways, gateway, "client-apps", environment, name)
}

// CreateFunction makes a function.
func (c *Client) CreateFunction(ctx context.Context, gateway string, in NewFunction, opts ...CallOption) (*Function, error) {
	return call[Function](ctx, c, http.MethodPost, in, opts, v1, gateways, gateway, "functions")
}

// GetFunction reads a function.
func (c *Client) GetFunction(ctx context.Context, gateway, name string, opts ...CallOption) (*Function, error) {
	return get[Function](ctx, c, opts, v1, gateways, gateway, "functions", name)
}

// ListFunctions reads a page of a gateway's functions, without their code.
func (c *Client) ListFunctions(ctx context.Context, gateway string, at Paging) (*Page[Function], error) {
	return page[Function](ctx, c, at.query(), v1, gateways, gateway, "functions")
}

// Functions goes through all of a gateway's functions, without their code.
func (c *Client) Functions(ctx context.Context, gateway string) iter.Seq2[*Function, error] {
	return all(func(at Paging) (*Page[Function], error) { return c.ListFunctions(ctx, gateway, at) })
}

// ChangeFunction publishes a new version of a function.
func (c *Client) ChangeFunction(ctx context.Context, gateway, name string, change FunctionChange, opts ...CallOption) (*Function, error) {
	return call[Function](ctx, c, http.MethodPatch, change, opts, v1, gateways, gateway, "functions", name)
}

// DeleteFunction asks for a function to be deleted. It is refused while a
// stage or a trigger refers to it.
func (c *Client) DeleteFunction(ctx context.Context, gateway, name string, opts ...CallOption) (*Function, error) {
	return call[Function](ctx, c, http.MethodDelete, nil, opts, v1, gateways, gateway, "functions", name)
}

// ListFunctionVersions lists the versions of a function that are kept, the
// latest first, without their code.
func (c *Client) ListFunctionVersions(ctx context.Context, gateway, name string) ([]FunctionVersion, error) {
	p, err := page[FunctionVersion](ctx, c, url.Values{}, v1, gateways, gateway, "functions", name, "versions")
	if err != nil {
		return nil, err
	}
	return p.Items, nil
}

// GetFunctionVersion reads a version of a function.
func (c *Client) GetFunctionVersion(ctx context.Context, gateway, name string, version int64) (*FunctionVersion, error) {
	return get[FunctionVersion](ctx, c, nil, v1, gateways, gateway, "functions", name, "versions", strconv.FormatInt(version, 10))
}

// RollbackFunction goes back to an earlier version of a function, whose code
// becomes a new version.
func (c *Client) RollbackFunction(ctx context.Context, gateway, name string, version int64, opts ...CallOption) (*Function, error) {
	return call[Function](ctx, c, http.MethodPost, map[string]int64{"version": version}, opts,
		v1, gateways, gateway, "functions", name, "rollback")
}
