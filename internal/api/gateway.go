package api

import (
	"context"
	"errors"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// GatewayParams names the gateway that a request is about.
type GatewayParams struct {
	GatewayID string `path:"gatewayId" pattern:"^[a-z0-9]{6}$" patternDescription:"a gateway's id: six of a-z0-9, such as vn8ofl" doc:"The gateway's id."`
}

const gatewaysPath = "/v1/api-gateways"

func gatewayPath(id string) string { return gatewaysPath + "/" + id }

// gateway reads the gateway that a request is about. To those who may not see
// it, it is not there.
func (a *api) gateway(ctx context.Context, id string) (*resource.ApiGateway, error) {
	gw, err := a.gateways.Get(ctx, id)
	if err == nil && !callerOf(ctx).Sees(tenantOf(gw)) {
		err = mongostore.ErrNotFound
	}
	if err != nil {
		return nil, missing(err, "there is no gateway %s", id)
	}
	return gw, nil
}

// tenantOf is who owns a gateway. One made by hand without a tenant belongs to
// the default one.
func tenantOf(gw *resource.ApiGateway) string {
	if gw.Tenant == "" {
		return DefaultTenant
	}
	return gw.Tenant
}

// livingGateway reads the gateway beneath which something is to change: one
// that is being deleted changes no more.
func (a *api) livingGateway(ctx context.Context, id string) (*resource.ApiGateway, error) {
	gw, err := a.gateway(ctx, id)
	if err != nil {
		return nil, err
	}
	if gw.State == resource.Deleted {
		return nil, refused(resource.KindApiGateway, &gw.Meta, mongostore.Intent{})
	}
	return gw, nil
}

// insertChild adds a document beneath a gateway. The gateway's intent is
// looked at again after the insert: one that was deleted meanwhile may have
// counted its children before, so what was made for it is given up at once.
func (c *collection[D]) insertChild(ctx context.Context, gatewayID string, doc D) (made D, err error) {
	now, err := c.Now(ctx)
	if err != nil {
		return made, err
	}
	m := doc.Lifecycle()
	m.Phase, m.Generation = resource.PhaseCreating, 1
	// Unlike a gateway, a child can be made again under the same id. Its
	// tokens begin with the time, so that they are above those of the one
	// before it, which objects may still carry.
	m.LockToken = now.UnixMilli()
	if err := c.insert(ctx, doc, ""); err != nil {
		return c.taken(ctx, m.ID, err)
	}
	gw, err := c.api.gateways.Get(ctx, gatewayID)
	gone := errors.Is(err, mongostore.ErrNotFound)
	if err != nil && !gone {
		return made, err
	}
	if !gone && gw.State != resource.Deleted {
		c.api.docs.Hint(c.kind, m.ID)
		return doc, nil
	}
	if _, err := c.change(ctx, m.ID, mongostore.Intent{State: resource.Deleted}); err != nil &&
		!errors.Is(err, mongostore.ErrNotFound) {
		return made, err
	}
	return made, fail(CodeGatewayDeleted, "gateway %s was deleted meanwhile: %s %s is not made", gatewayID, c.kind, m.ID)
}

// clockSlack is more than the collections' ideas of the database's time differ.
const clockSlack = time.Second

// taken says in words that a name is taken, by whom and for how long. For a
// request that repeats the one that took it, that is what it asked for.
func (c *collection[D]) taken(ctx context.Context, id string, err error) (doc D, _ error) {
	if !errors.Is(err, mongostore.ErrExists) {
		return doc, err
	}
	before, getErr := c.Get(ctx, id)
	switch repeated := repeatOf(ctx); {
	case getErr != nil:
		return doc, getErr
	case repeated != nil && repeated.Again && !before.Lifecycle().CreatedAt.Before(repeated.StartedAt.Add(-clockSlack)):
		return before, nil
	case before.Lifecycle().State == resource.Deleted:
		return doc, fail(CodeExists, "%s %s is still being deleted: try again once it is gone", c.kind, id)
	}
	return doc, fail(CodeExists, "%s %s exists already: choose another name, or change it by PATCH", c.kind, id)
}
