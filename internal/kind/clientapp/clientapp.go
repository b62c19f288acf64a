// Package clientapp is the kind of an API consumer: an ApisixConsumer, and the
// Secret with its key.
package clientapp

import (
	"context"

	"github.com/lockstep-io/lockstep/internal/kind"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Consumers makes and removes a region's consumers.
type Consumers interface {
	EnsureConsumer(ctx context.Context, owner resource.Owner, environment, app string) (waiting string, err error)
	RemoveConsumer(ctx context.Context, owner resource.Owner, environment, app string) (waiting string, err error)
}

// Keys replaces the keys of a region's consumers.
type Keys interface {
	// RenewKey replaces the key of an earlier revision, and keeps any other.
	RenewKey(ctx context.Context, owner resource.Owner, environment, app string, revision int64) (waiting string, err error)
}

// Steps are what the transitions of a ClientApp do.
type Steps struct {
	// Region returns the consumers of the region of that name, or an error if
	// it is not configured.
	Region func(name string) (Consumers, error)
	// Keys returns the same of its keys.
	Keys func(name string) (Keys, error)
}

// Definition is the lifecycle of a ClientApp.
func Definition(s *Steps) *engine.Definition[*resource.ClientApp] {
	return kind.Toggle[*resource.ClientApp]{
		Kind: resource.KindClientApp,
		Up:   []engine.Step[*resource.ClientApp]{{Name: "consumer", Run: s.ensure}},
		Down: []engine.Step[*resource.ClientApp]{{Name: "consumer", Run: s.remove}},
	}.Definition()
}

func (s *Steps) ensure(ctx context.Context, doc *resource.ClientApp) (engine.Outcome, error) {
	region, err := s.Region(doc.Region)
	if err != nil {
		return engine.Outcome{}, err
	}
	outcome, err := kind.Observed(region.EnsureConsumer(ctx, owner(ctx, doc), doc.Environment, doc.Name))
	if _, waiting := outcome.Waiting(); err != nil || waiting || doc.KeyRevisionReady == doc.KeyRevision {
		return outcome, err
	}
	return s.renewKey(ctx, doc)
}

// renewKey replaces the key, once for however often the user has asked for
// another one meanwhile.
func (s *Steps) renewKey(ctx context.Context, doc *resource.ClientApp) (engine.Outcome, error) {
	keys, err := s.Keys(doc.Region)
	if err != nil {
		return engine.Outcome{}, err
	}
	outcome, err := kind.Observed(keys.RenewKey(ctx, owner(ctx, doc), doc.Environment, doc.Name, doc.KeyRevision))
	if _, waiting := outcome.Waiting(); err != nil || waiting {
		return outcome, err
	}
	return engine.Done(), engine.ClaimOf(ctx).Update(ctx, map[string]any{"keyRevisionReady": doc.KeyRevision})
}

func (s *Steps) remove(ctx context.Context, doc *resource.ClientApp) (engine.Outcome, error) {
	region, err := s.Region(doc.Region)
	if err != nil {
		return engine.Outcome{}, err
	}
	return kind.Observed(region.RemoveConsumer(ctx, owner(ctx, doc), doc.Environment, doc.Name))
}

func owner(ctx context.Context, doc *resource.ClientApp) resource.Owner {
	return kind.Owner(ctx, resource.KindClientApp, doc.GatewayID)
}
