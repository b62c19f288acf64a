package main

import (
	"context"
	"time"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/config"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// The API knows no kinds and no drivers. What it shows of them it is given.

func explainers(run *platform.Platform) map[resource.Kind]api.Explainer {
	all := map[resource.Kind]api.Explainer{}
	for _, name := range platform.Kinds() {
		kind := resource.Kind(name)
		all[kind] = func(m *engine.Meta, now time.Time) engine.Explanation {
			e, _ := run.Explain(kind, m, now)
			return e
		}
	}
	return all
}

func objects(run *platform.Platform) api.ObjectLister {
	return func(ctx context.Context, region, gatewayID string) ([]api.Object, error) {
		refs, err := run.Objects(ctx, region, gatewayID)
		list := make([]api.Object, len(refs))
		for i, ref := range refs {
			list[i] = api.Object{
				Kind: ref.Type.Kind, Namespace: ref.Namespace, Name: ref.Name, Status: ref.Status,
				OwnerKind: ref.OwnerKind, OwnerID: ref.OwnerID,
			}
		}
		return list, err
	}
}

func authenticator(config.Auth) (api.Authenticator, error) {
	return api.Open{}, nil
}
