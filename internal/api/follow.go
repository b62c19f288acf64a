package api

import (
	"context"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// Triggers and stages follow their gateway: its steps set them Active as it
// starts and Inactive as it stops, unless the user has suspended them. A user
// who sets one Inactive suspends it; one who sets it Active lets it follow
// again.

// stateBeneath is the state of a document that follows its gateway: that which
// its user wants while the gateway is wanted to run, and Inactive otherwise.
func stateBeneath(gw *resource.ApiGateway, wanted engine.State) engine.State {
	if gw.State != resource.Running && gw.State != resource.Restarting {
		return resource.Inactive
	}
	return wanted
}

// follow adds to a change what the user wants of a document that follows its
// gateway.
func follow(intent *mongostore.Intent, gw *resource.ApiGateway, wanted engine.State) {
	intent.State = stateBeneath(gw, wanted)
	intent.Fields["suspended"] = orNil(wanted == resource.Inactive)
}

// stillWanted looks at the gateway again after a document beneath it was set
// Active: one that was stopped meanwhile may have turned its children off
// before, and would leave this one on.
func (c *collection[D]) stillWanted(ctx context.Context, gatewayID string, doc D) (D, error) {
	if doc.Lifecycle().State != resource.Active {
		return doc, nil
	}
	gw, err := c.api.gateways.Get(ctx, gatewayID)
	if err != nil {
		return doc, missing(err, "gateway %s is gone", gatewayID)
	}
	if stateBeneath(gw, resource.Active) == resource.Active {
		return doc, nil
	}
	return c.change(ctx, doc.Lifecycle().ID, mongostore.Intent{State: resource.Inactive})
}
