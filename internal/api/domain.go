package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

const (
	tagDomain        = "Runtime domain"
	domainPath       = gatewaysPath + "/{gatewayId}/runtime-domain"
	customDomainPath = domainPath + "/custom-domain"
)

type bindInput struct {
	GatewayParams
	MatchParams
	WaitParams
	Body customDomain
}

type customDomain struct {
	Domain string `json:"domain" minLength:"1" maxLength:"253" doc:"The domain, such as api.example.com. Point it at the region's ingress by CNAME first."`
}

// Resolve checks what a schema cannot say.
func (in *customDomain) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	in.Domain = strings.ToLower(strings.TrimSuffix(in.Domain, "."))
	c := complaints{at: at}
	c.check("domain", in.Domain, resource.ValidDomain(in.Domain))
	return c.errs
}

type unbindInput struct {
	GatewayParams
	MatchParams
	WaitParams
}

type domainOutput = documentOutput[*resource.RuntimeDomain]

func (a *api) domainRoutes() {
	register(a, operation{
		method: http.MethodGet, path: domainPath, id: "getRuntimeDomain", tag: tagDomain, role: Viewer,
		summary: "Read where a gateway is reached", description: "A custom domain is served once customDomainReady names it.",
	}, func(ctx context.Context, in *getGatewayInput) (*domainOutput, error) {
		if _, err := a.gateway(ctx, in.GatewayID); err != nil {
			return nil, err
		}
		domain, err := a.domains.Get(ctx, in.GatewayID)
		if err != nil {
			return nil, missing(err, "gateway %s has no runtime domain (yet)", in.GatewayID)
		}
		return a.domains.await(ctx, found(domain), in.WaitParams)
	})
	register(a, operation{
		method: http.MethodPut, path: customDomainPath, id: "bindCustomDomain", tag: tagDomain, role: Editor,
		status: http.StatusAccepted, summary: "Bind a custom domain",
		description: "The gateway's own hosts, and a domain that was bound before, stay until the new one's certificate is there. " +
			"A domain can be bound by one gateway only.",
	}, a.bindDomain)
	register(a, operation{
		method: http.MethodDelete, path: customDomainPath, id: "unbindCustomDomain", tag: tagDomain, role: Editor,
		status: http.StatusAccepted, summary: "Unbind the custom domain", description: "Asking again changes nothing.",
	}, a.unbindDomain)
}

func (a *api) bindDomain(ctx context.Context, in *bindInput) (*domainOutput, error) {
	gw, err := a.livingGateway(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	domain := in.Body.Domain
	for _, region := range a.Regions {
		if domain == region.DomainSuffix || strings.HasSuffix(domain, "."+region.DomainSuffix) {
			return nil, invalid("body.domain", domain, "%s belongs to region %s: bind a domain of your own", domain, region.Name)
		}
	}
	doc, err := a.domains.change(ctx, gw.ID, mongostore.Intent{
		Fields: map[string]any{"customDomain": domain}, IfGeneration: in.generation(),
	})
	if errors.Is(err, mongostore.ErrExists) {
		return nil, fail(CodeDomainTaken, "domain %s is bound by another gateway: unbind it there first, or bind another", domain).
			with("body.domain", domain, "taken")
	}
	if err != nil {
		return nil, notReady(err, gw, "runtime domain")
	}
	return a.domains.await(ctx, accepted(doc, gatewayPath(gw.ID)+"/runtime-domain"), in.WaitParams)
}

func (a *api) unbindDomain(ctx context.Context, in *unbindInput) (*domainOutput, error) {
	gw, err := a.livingGateway(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	doc, err := a.domains.Get(ctx, gw.ID)
	if err == nil && doc.CustomDomain != "" {
		doc, err = a.domains.change(ctx, gw.ID, mongostore.Intent{
			Fields: map[string]any{"customDomain": nil}, IfGeneration: in.generation(),
		})
	}
	if err != nil {
		return nil, notReady(err, gw, "runtime domain")
	}
	return a.domains.await(ctx, accepted(doc, gatewayPath(gw.ID)+"/runtime-domain"), in.WaitParams)
}

// notReady says that what a gateway's own steps make is not there yet.
func notReady(err error, gw *resource.ApiGateway, what string) error {
	if errors.Is(err, mongostore.ErrNotFound) {
		return fail(CodeNotReady, "gateway %s has no %s yet: it is in phase %s; try again once it is Created", gw.ID, what, gw.Phase)
	}
	return err
}
