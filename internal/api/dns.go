package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// Resolver looks domains up. [net.Resolver] is one.
type Resolver interface {
	LookupCNAME(ctx context.Context, host string) (string, error)
	LookupHost(ctx context.Context, host string) ([]string, error)
}

// DomainCheck says whether a domain leads to its gateway.
type DomainCheck struct {
	Domain    string   `json:"domain"`
	Leads     bool     `json:"leads" doc:"Whether the domain leads to where its gateway is served."`
	Expected  string   `json:"expected" doc:"The host that the domain should lead to, best by CNAME."`
	CNAME     string   `json:"cname,omitempty" doc:"The host that it is an alias of, if it is."`
	Addresses []string `json:"addresses" nullable:"false" doc:"The addresses that it resolves to."`
	Advice    string   `json:"advice" doc:"What was found, and what to do."`
}

type domainCheckOutput struct {
	Body DomainCheck
}

func (a *api) checkRoutes() {
	register(a, operation{
		method: http.MethodGet, path: customDomainPath + "/check", id: "checkCustomDomain", tag: tagDomain, role: Viewer,
		summary: "Check that the bound custom domain leads to the gateway", description: "As this service's resolver sees it now.",
	}, a.checkDomain)
}

func (a *api) checkDomain(ctx context.Context, in *GatewayParams) (*domainCheckOutput, error) {
	gw, err := a.gateway(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	doc, err := a.domains.Get(ctx, gw.ID)
	if err != nil {
		return nil, missing(err, "gateway %s has no runtime domain (yet)", gw.ID)
	}
	if doc.CustomDomain == "" {
		return nil, fail(CodeNotFound, "gateway %s has no custom domain", gw.ID)
	}
	check := DomainCheck{
		Domain: doc.CustomDomain, Addresses: []string{},
		Expected: resource.EnvironmentHost(gw.ID, resource.CustomDomainEnvironment, a.regions[gw.Region].DomainSuffix),
	}
	a.look(ctx, &check)
	return &domainCheckOutput{Body: check}, nil
}

// look compares where the domain leads with where it should lead: as an alias,
// or by its addresses (which a domain itself, without a name before it, must
// have).
func (a *api) look(ctx context.Context, check *DomainCheck) {
	addresses, err := a.Resolver.LookupHost(ctx, check.Domain)
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		check.Advice = fmt.Sprintf("%s does not resolve: make a CNAME record of it that points to %s", check.Domain, check.Expected)
		return
	case err != nil:
		check.Advice = fmt.Sprintf("%s could not be looked up: try again", check.Domain)
		return
	}
	slices.Sort(addresses)
	check.Addresses = addresses
	if cname, err := a.Resolver.LookupCNAME(ctx, check.Domain); err == nil {
		if cname = strings.TrimSuffix(cname, "."); cname != check.Domain {
			check.CNAME = cname
		}
	}
	expected, err := a.Resolver.LookupHost(ctx, check.Expected)
	there := err == nil && slices.ContainsFunc(addresses, func(s string) bool { return slices.Contains(expected, s) })
	switch {
	case check.CNAME == check.Expected || there:
		check.Leads, check.Advice = true, fmt.Sprintf("%s leads to %s", check.Domain, check.Expected)
	case err != nil:
		check.Advice = fmt.Sprintf("%s itself could not be looked up: ask the operator of the region", check.Expected)
	default:
		check.Advice = fmt.Sprintf("%s leads elsewhere: make it a CNAME record that points to %s", check.Domain, check.Expected)
	}
}
