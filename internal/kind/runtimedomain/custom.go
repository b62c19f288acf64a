package runtimedomain

import (
	"context"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// The custom domain is added beside the default routes, never in their place:
// they serve until the custom route is there, and after. Its own route comes
// last, when the certificate has been issued.

func (s *Steps) ensureCertificate(ctx context.Context, doc *resource.RuntimeDomain) (outcome, error) {
	return s.ifBound(ctx, doc, func(r Region, owner resource.Owner) (string, error) {
		return r.Certificates.EnsureCertificate(ctx, owner, doc.CustomDomain)
	})
}

func (s *Steps) ensureCustomTLS(ctx context.Context, doc *resource.RuntimeDomain) (outcome, error) {
	return s.ifBound(ctx, doc, func(r Region, owner resource.Owner) (string, error) {
		return r.TLS.EnsureCustomTLS(ctx, owner, doc.CustomDomain)
	})
}

// ensureCustomRoute makes the route, and records that the domain is served.
func (s *Steps) ensureCustomRoute(ctx context.Context, doc *resource.RuntimeDomain) (outcome, error) {
	return s.ifBound(ctx, doc, func(r Region, owner resource.Owner) (string, error) {
		waiting, err := r.Routes.EnsureCustomRoute(ctx, owner, doc.CustomDomain)
		if err != nil || waiting != "" {
			return waiting, err
		}
		return "", setReady(ctx, doc, doc.CustomDomain)
	})
}

// removeUnbound removes what a custom domain has left that is bound no more.
func (s *Steps) removeUnbound(ctx context.Context, doc *resource.RuntimeDomain) (outcome, error) {
	if doc.CustomDomain != "" {
		return engine.Done(), nil
	}
	return s.removeCustom(ctx, doc)
}

// removeCustom removes the custom domain: first the route, then what served it.
func (s *Steps) removeCustom(ctx context.Context, doc *resource.RuntimeDomain) (outcome, error) {
	return s.with(ctx, doc, func(r Region, owner resource.Owner) (string, error) {
		for _, remove := range []func(context.Context, resource.Owner) (string, error){
			r.Routes.RemoveCustomRoute, r.TLS.RemoveCustomTLS, r.Certificates.RemoveCertificate,
		} {
			if waiting, err := remove(ctx, owner); err != nil || waiting != "" {
				return waiting, err
			}
		}
		return "", setReady(ctx, doc, "")
	})
}

// ifBound calls f if a custom domain is bound.
func (s *Steps) ifBound(ctx context.Context, doc *resource.RuntimeDomain, f func(r Region, owner resource.Owner) (string, error)) (outcome, error) {
	if doc.CustomDomain == "" {
		return engine.Done(), nil
	}
	return s.with(ctx, doc, f)
}

func setReady(ctx context.Context, doc *resource.RuntimeDomain, domain string) error {
	if doc.CustomDomainReady == domain {
		return nil
	}
	return engine.ClaimOf(ctx).Update(ctx, map[string]any{"customDomainReady": domain})
}
