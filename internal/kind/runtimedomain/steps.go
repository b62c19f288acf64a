// Package runtimedomain is the kind of a gateway's domains: its routes, their
// TLS, and the custom domain with its certificate.
package runtimedomain

import (
	"context"

	"github.com/lockstep-io/lockstep/internal/kind"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Routes leads traffic to the instance, by default hosts and custom domain.
type Routes interface {
	EnsureEnvironmentRoute(ctx context.Context, owner resource.Owner, environment string) (waiting string, err error)
	RemoveEnvironmentRoute(ctx context.Context, owner resource.Owner, environment string) (waiting string, err error)
	EnsureCustomRoute(ctx context.Context, owner resource.Owner, domain string) (waiting string, err error)
	RemoveCustomRoute(ctx context.Context, owner resource.Owner) (waiting string, err error)
}

// Plugins configures what all routes do.
type Plugins interface {
	EnsurePluginConfig(ctx context.Context, owner resource.Owner) (waiting string, err error)
	RemovePluginConfig(ctx context.Context, owner resource.Owner) (waiting string, err error)
}

// TLS serves hosts with certificates.
type TLS interface {
	EnsureTLS(ctx context.Context, owner resource.Owner, environment string) (waiting string, err error)
	RemoveTLS(ctx context.Context, owner resource.Owner, environment string) (waiting string, err error)
	EnsureCustomTLS(ctx context.Context, owner resource.Owner, domain string) (waiting string, err error)
	RemoveCustomTLS(ctx context.Context, owner resource.Owner) (waiting string, err error)
}

// Certificates issues the custom domain's certificate.
type Certificates interface {
	EnsureCertificate(ctx context.Context, owner resource.Owner, domain string) (waiting string, err error)
	RemoveCertificate(ctx context.Context, owner resource.Owner) (waiting string, err error)
}

// Region is what a RuntimeDomain needs of its region.
type Region struct {
	Routes       Routes
	Plugins      Plugins
	TLS          TLS
	Certificates Certificates
}

// Steps are what the transitions of a RuntimeDomain do.
type Steps struct {
	// Region returns the region of that name, or an error if it is not
	// configured.
	Region func(name string) (Region, error)
}

type outcome = engine.Outcome

// with calls f with the document's region and ownership.
func (s *Steps) with(ctx context.Context, doc *resource.RuntimeDomain, f func(r Region, owner resource.Owner) (string, error)) (outcome, error) {
	region, err := s.Region(doc.Region)
	if err != nil {
		return outcome{}, err
	}
	return kind.Observed(f(region, kind.Owner(ctx, resource.KindRuntimeDomain, doc.GatewayID)))
}

// each calls f for each environment.
func (s *Steps) each(ctx context.Context, doc *resource.RuntimeDomain, f func(r Region, owner resource.Owner, environment string) (string, error)) (outcome, error) {
	region, err := s.Region(doc.Region)
	if err != nil {
		return outcome{}, err
	}
	owner := kind.Owner(ctx, resource.KindRuntimeDomain, doc.GatewayID)
	return kind.Each(resource.Environments, func(environment string) (string, error) { return f(region, owner, environment) })
}

func (s *Steps) ensurePluginConfig(ctx context.Context, doc *resource.RuntimeDomain) (outcome, error) {
	return s.with(ctx, doc, func(r Region, owner resource.Owner) (string, error) {
		return r.Plugins.EnsurePluginConfig(ctx, owner)
	})
}

func (s *Steps) removePluginConfig(ctx context.Context, doc *resource.RuntimeDomain) (outcome, error) {
	return s.with(ctx, doc, func(r Region, owner resource.Owner) (string, error) {
		return r.Plugins.RemovePluginConfig(ctx, owner)
	})
}

func (s *Steps) ensureTLS(ctx context.Context, doc *resource.RuntimeDomain) (outcome, error) {
	return s.each(ctx, doc, func(r Region, owner resource.Owner, environment string) (string, error) {
		return r.TLS.EnsureTLS(ctx, owner, environment)
	})
}

func (s *Steps) removeTLS(ctx context.Context, doc *resource.RuntimeDomain) (outcome, error) {
	return s.each(ctx, doc, func(r Region, owner resource.Owner, environment string) (string, error) {
		return r.TLS.RemoveTLS(ctx, owner, environment)
	})
}

func (s *Steps) ensureRoutes(ctx context.Context, doc *resource.RuntimeDomain) (outcome, error) {
	return s.each(ctx, doc, func(r Region, owner resource.Owner, environment string) (string, error) {
		return r.Routes.EnsureEnvironmentRoute(ctx, owner, environment)
	})
}

func (s *Steps) removeRoutes(ctx context.Context, doc *resource.RuntimeDomain) (outcome, error) {
	return s.each(ctx, doc, func(r Region, owner resource.Owner, environment string) (string, error) {
		return r.Routes.RemoveEnvironmentRoute(ctx, owner, environment)
	})
}
