package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

type adoptGatewayInput struct {
	GatewayParams
	RepeatParams
	WaitParams
	Body adoption
}

type adoption struct {
	NewGateway
	Reason string `json:"reason" minLength:"3" maxLength:"500" doc:"Why; it is noted on the document."`
}

func (a *api) adoptionRoutes() {
	register(a, operation{
		method: http.MethodPost, path: gatewaysPath + "/{gatewayId}/adopt", id: "adoptGateway", tag: tagGateways, role: Admin,
		status: http.StatusCreated, summary: "Make the document of a gateway anew whose document is lost",
		description: "For operators. What is left of the gateway (documents beneath it, objects in its cluster, its database and user) is taken on, " +
			"and what is missing is made. Refused where nothing is left, and with another region than that of the documents. Settings that the lost document had are to be given again.",
	}, a.adoptGateway)
}

// adoptGateway makes a document under an id that was a gateway's. Its steps
// find what is there, as they do after a crash.
func (a *api) adoptGateway(ctx context.Context, in *adoptGatewayInput) (*documentOutput[*resource.ApiGateway], error) {
	// To all others the gateway is not there, like any that is not theirs.
	if !callerOf(ctx).Operator() {
		return nil, missing(mongostore.ErrNotFound, "there is no gateway %s", in.GatewayID)
	}
	gw, err := a.wanted(ctx, &in.Body.NewGateway)
	if err != nil {
		return nil, err
	}
	gw.ID, gw.GatewayID = in.GatewayID, in.GatewayID
	if err := a.somethingLeft(ctx, gw); err != nil {
		return nil, err
	}
	if err := a.docs.ReserveGatewayID(ctx, gw.ID); err != nil {
		return nil, err
	}
	now, err := a.gateways.Now(ctx)
	if err != nil {
		return nil, err
	}
	// As of a child that is made again: objects may carry the tokens of the
	// document before.
	gw.LockToken = now.UnixMilli()
	if err := a.gateways.insert(ctx, gw, in.Body.Reason); err != nil {
		if gw, err = a.gateways.taken(ctx, gw.ID, err); err != nil {
			return nil, err
		}
	}
	a.docs.Hint(resource.KindApiGateway, gw.ID)
	return a.gateways.await(ctx, created(gw, gatewayPath(gw.ID)), in.WaitParams)
}

// somethingLeft is an error unless there are documents or objects of the
// gateway, where it is said to be: an id that was mistyped must not become a
// gateway, and steps that look in another region would make all of it anew.
func (a *api) somethingLeft(ctx context.Context, gw *resource.ApiGateway) error {
	left, err := a.family(ctx, gw.ID)
	var p *Problem
	switch {
	case err == nil && left.gateway == nil:
		return a.sameRegion(ctx, gw)
	case err == nil || !errors.As(err, &p) || p.Code != CodeNotFound:
		return err
	}
	if a.Objects != nil {
		objects, err := a.objects(ctx, gw.Region, gw.ID)
		if len(objects) > 0 {
			return nil // of whatever else there may be
		}
		if err != nil {
			return err
		}
	}
	return missing(mongostore.ErrNotFound, "nothing is left of a gateway %s in region %s: check the id and the region, or make a new gateway", gw.ID, gw.Region)
}

// sameRegion refuses a region that is not that of the documents that are left.
func (a *api) sameRegion(ctx context.Context, gw *resource.ApiGateway) error {
	theirs, err := a.docs.RegionsOf(ctx, gw.ID)
	if err != nil || len(theirs) == 0 || slices.Contains(theirs, gw.Region) {
		return err
	}
	return invalid("body.region", gw.Region, "what is left of gateway %s is in region %s: adopt it there", gw.ID, strings.Join(theirs, ", "))
}
