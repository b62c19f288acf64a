// Package stage is the kind of what is published to an environment: the
// functions that the stage's routes name, copied into the gateway's own
// database where the instance reads them, and the routes to them at the
// environment's host.
package stage

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockstep-io/lockstep/internal/kind"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Publisher puts functions where a gateway's instance reads them.
type Publisher interface {
	// KeepFunctions puts right the set that the environment serves, as it was
	// published, if that is this generation's; live says whether it is.
	KeepFunctions(ctx context.Context, owner resource.Owner, database, environment string, generation int64, current []resource.CloudFunction) (live bool, err error)
	PublishFunctions(ctx context.Context, owner resource.Owner, database, environment string, generation int64, functions []resource.CloudFunction) (waiting string, err error)
	RemoveFunctions(ctx context.Context, owner resource.Owner, database, environment string) (waiting string, err error)
}

// Routes leads traffic of an environment to functions.
type Routes interface {
	EnsureStageRoutes(ctx context.Context, owner resource.Owner, environment string, extraHosts []string, routes []resource.Route) (waiting string, err error)
	RemoveStageRoutes(ctx context.Context, owner resource.Owner, environment string) (waiting string, err error)
}

// Functions reads a gateway's functions.
type Functions interface {
	Functions(ctx context.Context, gatewayID string) ([]resource.CloudFunction, error)
	// CustomDomain is the domain that the gateway serves beside its default
	// hosts; empty if there is none yet.
	CustomDomain(ctx context.Context, gatewayID string) (string, error)
}

// Region is what a Stage needs of its region.
type Region struct {
	Publisher Publisher
	Routes    Routes
}

// Steps are what the transitions of a Stage do.
type Steps struct {
	Functions Functions
	// Region returns the region of that name, or an error if it is not
	// configured.
	Region func(name string) (Region, error)
}

type step = engine.Step[*resource.Stage]

// Definition is the lifecycle of a Stage.
func Definition(s *Steps) *engine.Definition[*resource.Stage] {
	return kind.Toggle[*resource.Stage]{
		Kind: resource.KindStage,
		// What a route leads to is there before the route, and after it.
		Up:   []step{{Name: "functions", Run: s.publish}, {Name: "routes", Run: s.ensureRoutes}},
		Down: []step{{Name: "routes", Run: s.removeRoutes}, {Name: "functions", Run: s.removeFunctions}},
	}.Definition()
}

// publish copies the functions that the stage's routes name, once for each
// generation of the stage. It is run again and again while the stage stands,
// and then only looks: code that has changed since is published by publishing
// the stage again.
func (s *Steps) publish(ctx context.Context, doc *resource.Stage) (engine.Outcome, error) {
	region, err := s.Region(doc.Region)
	if err != nil {
		return engine.Outcome{}, err
	}
	all, err := s.Functions.Functions(ctx, doc.GatewayID)
	if err != nil {
		return engine.Outcome{}, err
	}
	database := resource.DatabaseName(doc.GatewayID)
	// A stage that has never published anything goes by no marker: it may be of
	// a document before, which counted other generations.
	if doc.PublishedGeneration != 0 {
		live, err := region.Publisher.KeepFunctions(ctx, owner(ctx, doc), database, doc.Environment, doc.Generation, all)
		if err != nil || live {
			return kind.Observed("", err)
		}
	}
	var published []resource.CloudFunction
	for _, route := range doc.Routes {
		named := func(f resource.CloudFunction) bool { return f.Name == route.Function }
		if slices.ContainsFunc(published, named) {
			continue
		}
		i := slices.IndexFunc(all, named)
		if i < 0 && doc.PublishedGeneration != doc.Generation {
			return engine.Outcome{}, fmt.Errorf("route %s leads to function %q, which the gateway does not have: create it, or change the stage's routes",
				route.Path, route.Function)
		}
		if i >= 0 {
			published = append(published, all[i])
		}
	}
	return kind.Observed(region.Publisher.PublishFunctions(ctx, owner(ctx, doc), database, doc.Environment, doc.Generation, published))
}

// ensureRoutes makes the routes, and records what has been published.
func (s *Steps) ensureRoutes(ctx context.Context, doc *resource.Stage) (engine.Outcome, error) {
	region, err := s.Region(doc.Region)
	if err != nil {
		return engine.Outcome{}, err
	}
	var hosts []string
	if doc.Environment == resource.CustomDomainEnvironment {
		domain, err := s.Functions.CustomDomain(ctx, doc.GatewayID)
		if err != nil {
			return engine.Outcome{}, err
		}
		if domain != "" {
			hosts = append(hosts, domain)
		}
	}
	outcome, err := kind.Observed(region.Routes.EnsureStageRoutes(ctx, owner(ctx, doc), doc.Environment, hosts, doc.Routes))
	if _, waiting := outcome.Waiting(); err != nil || waiting || doc.PublishedGeneration == doc.Generation {
		return outcome, err
	}
	return engine.Done(), engine.ClaimOf(ctx).Update(ctx, map[string]any{"publishedGeneration": doc.Generation})
}

func (s *Steps) removeRoutes(ctx context.Context, doc *resource.Stage) (engine.Outcome, error) {
	region, err := s.Region(doc.Region)
	if err != nil {
		return engine.Outcome{}, err
	}
	return kind.Observed(region.Routes.RemoveStageRoutes(ctx, owner(ctx, doc), doc.Environment))
}

func (s *Steps) removeFunctions(ctx context.Context, doc *resource.Stage) (engine.Outcome, error) {
	region, err := s.Region(doc.Region)
	if err != nil {
		return engine.Outcome{}, err
	}
	return kind.Observed(region.Publisher.RemoveFunctions(ctx, owner(ctx, doc),
		resource.DatabaseName(doc.GatewayID), doc.Environment))
}

func owner(ctx context.Context, doc *resource.Stage) resource.Owner {
	return kind.Owner(ctx, resource.KindStage, doc.GatewayID)
}
