package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.uber.org/zap"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/api/auth"
	"github.com/lockstep-io/lockstep/internal/config"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/lease"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/shard"
	"github.com/lockstep-io/lockstep/internal/sweep"
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
		found, err := run.Objects(ctx, region, gatewayID)
		list := make([]api.Object, len(found))
		for i, o := range found {
			list[i] = api.Object{
				Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Status: o.Status, OwnerKind: o.OwnerKind, OwnerID: o.OwnerID,
			}
		}
		return list, err
	}
}

func shards(replica string, members *shard.Members) api.ShardView {
	return func() (api.Shards, bool) {
		live, moved := members.View()
		seen := api.Shards{SeenBy: replica, Count: shard.Count, Moved: moved, Items: make([]api.Replica, len(live))}
		for i, m := range live {
			seen.Items[i] = api.Replica{Name: m.Name, Since: m.Since, SeenAt: m.SeenAt, Shards: append([]int{}, m.Shards...)}
		}
		return seen, members.Known()
	}
}

// authenticator says who makes a request. Nobody is let in by default.
func authenticator(cfg config.Auth, run *platform.Platform) (api.Authenticator, error) {
	if cfg.Open {
		return api.Open{}, nil
	}
	if cfg.TokensFile == "" {
		return nil, errors.New("--auth-tokens-file (LOCKSTEP_AUTH_TOKENS_FILE) is not set: name a file of grants " +
			"(docs/access.md), or let everybody in with --auth-open")
	}
	grants, err := auth.LoadGrants(cfg.TokensFile)
	if err != nil {
		return nil, fmt.Errorf("--auth-tokens-file (LOCKSTEP_AUTH_TOKENS_FILE): %w", err)
	}
	opts := auth.Options{Grants: grants, OIDCIssuer: cfg.OIDCIssuer, OIDCAudience: cfg.OIDCAudience}
	if cfg.Kubernetes {
		if opts.Kubernetes, err = run.TokenReviewer(); err != nil {
			return nil, fmt.Errorf("--auth-kubernetes (LOCKSTEP_AUTH_KUBERNETES): %w", err)
		}
	}
	return auth.New(opts), nil
}

// sweeper looks for orphans, on one replica at a time.
func sweeper(cfg config.Config, db *mongo.Database, docs *documents.Documents, run *platform.Platform, log *zap.Logger) (func(context.Context), error) {
	log = log.With(zap.String("singleton", sweep.LeaseName))
	elector, err := lease.New(lease.Mongo(db), lease.Options{Holder: cfg.Replica, Log: log})
	if err != nil {
		return nil, err
	}
	s := sweep.New(sweep.Open(db, docs), run.SweepRegions(), sweep.Options{Remove: cfg.Orphans == config.RemoveOrphans, Log: log})
	work := func(ctx context.Context, _ int64) error { return s.Run(ctx) }
	return func(ctx context.Context) {
		if err := elector.Run(ctx, sweep.LeaseName, work); err != nil {
			log.Error("singleton has ended", zap.Error(err))
		}
	}, nil
}
