package runtimedomain

import (
	"github.com/lockstep-io/lockstep/internal/kind"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

type step = engine.Step[*resource.RuntimeDomain]

// Definition is the lifecycle of a RuntimeDomain: it is torn down when its
// gateway stops, and built again when it starts.
//
// A custom domain is no part of being Created: its certificate may take long,
// or never come, and the default hosts serve meanwhile. It is bound and
// unbound by the resync of a domain that stands.
func Definition(s *Steps) *engine.Definition[*resource.RuntimeDomain] {
	defaults := []step{
		{Name: "plugin config", Run: s.ensurePluginConfig},
		{Name: "tls", Run: s.ensureTLS},
		{Name: "routes", Run: s.ensureRoutes},
	}
	return kind.Toggle[*resource.RuntimeDomain]{
		Kind: resource.KindRuntimeDomain,
		Up:   defaults,
		Keep: append(append([]step{}, defaults...),
			step{Name: "custom domain certificate", Run: s.ensureCertificate},
			step{Name: "custom domain tls", Run: s.ensureCustomTLS},
			step{Name: "custom domain route", Run: s.ensureCustomRoute},
			step{Name: "unbound custom domain", Run: s.removeUnbound},
		),
		// Traffic first, then what served it.
		Down: []step{
			{Name: "routes", Run: s.removeRoutes},
			{Name: "custom domain", Run: s.removeCustom},
			{Name: "tls", Run: s.removeTLS},
			{Name: "plugin config", Run: s.removePluginConfig},
		},
	}.Definition()
}
