package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/zap"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/config"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/shard"
	"github.com/lockstep-io/lockstep/internal/telemetry"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

func serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service: the REST API and the task services",
		Args:  cobra.NoArgs,
	}
	flags := config.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.Load(config.OS())
		if err != nil {
			return err
		}
		return serve(cmd.Context(), cfg)
	}
	return cmd
}

// HTTP timeouts. There is none for writing: watches last.
const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	// mongoTimeout bounds finding a server; each operation has its own.
	mongoTimeout = 5 * time.Second
	closeTimeout = 5 * time.Second
)

// serve runs the service until ctx ends and work in flight is finished.
func serve(ctx context.Context, cfg config.Config) error {
	log, err := telemetry.NewLogger(os.Stderr, cfg.Log.Level, cfg.Log.Format)
	if err != nil {
		return err
	}
	log = log.With(zap.String("replica", cfg.Replica))
	for _, warning := range cfg.Warnings {
		log.Warn("configuration", zap.String("warning", warning))
	}
	client, err := mongo.Connect(options.Client().ApplyURI(cfg.MongoDB.URI.Reveal()).
		SetServerSelectionTimeout(mongoTimeout).SetAppName("lockstep/" + cfg.Replica))
	if err != nil {
		return fmt.Errorf("connect to MongoDB: %w", err)
	}
	defer disconnect(client, log)

	db := client.Database(cfg.MongoDB.Database)
	docs, members := documents.Open(db), shard.Join(db, cfg.Replica, log)
	registry := telemetry.NewRegistry()
	registry.MustRegister(members)
	opts := platform.Options{
		LockTimeout: cfg.Engine.LockTimeout, Log: log,
		Engine: engine.Options{
			Holder: cfg.Replica, Workers: cfg.Engine.Workers, Interval: cfg.Engine.Interval,
			Batch: cfg.Engine.Batch, Grace: cfg.Engine.Grace, Mine: members.Mine,
			Observer: telemetry.NewObserver(registry, platform.Kinds()...),
			Logger:   telemetry.Slog(log),
			Now:      func() time.Time { return time.Now().Add(cfg.Test.ClockOffset) },
		},
	}
	endTest, err := forTests(cfg.Test, db, &opts, log)
	if err != nil {
		return err
	}
	defer endTest()
	run, err := platform.New(docs, cfg.Regions, opts)
	if err != nil {
		return err
	}
	run.Alongside(members.Run)
	sweeping, err := sweeper(cfg, db, docs, run, log)
	if err != nil {
		return err
	}
	run.Alongside(sweeping)
	handler, err := newHandler(ctx, cfg, docs, run, members, telemetry.Handler(registry), log)
	if err != nil {
		return err
	}
	return runBoth(ctx, cfg, handler, run, log)
}

// newHandler makes the API. What of it lasts (waits and watches) ends with ctx,
// as the task services do: the server could not be shut down in order with
// requests that take minutes.
func newHandler(
	ctx context.Context, cfg config.Config, docs *documents.Documents, run *platform.Platform,
	members *shard.Members, metrics http.Handler, log *zap.Logger,
) (http.Handler, error) {
	auth, err := authenticator(cfg.Auth, run)
	if err != nil {
		return nil, err
	}
	regions := make([]api.Region, len(cfg.Regions))
	for i, r := range cfg.Regions {
		regions[i] = api.PublicRegion(r)
	}
	return api.New(api.Config{
		Documents: docs, Regions: regions, Explain: explainers(run), Diagrams: run.Diagrams(), Objects: objects(run),
		Shards: shards(cfg.Replica, members), Ready: run.Ready, Metrics: metrics, Auth: auth, Log: log, Version: version,
		Done: ctx.Done(),
	})
}

// runBoth serves the API while the task services run, and a little longer: it
// answers probes, and says that it is not ready, until they have ended.
func runBoth(ctx context.Context, cfg config.Config, handler http.Handler, run *platform.Platform, log *zap.Logger) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.HTTP.Listen)
	if err != nil {
		return fmt.Errorf("--listen (LOCKSTEP_LISTEN): %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Info("serving", zap.String("address", listener.Addr().String()), zap.String("version", version))

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run.Run(ctx) }()
	select {
	case err = <-served:
		cancel()
		return errors.Join(err, <-ended)
	case err = <-ended:
	}
	log.Info("task services have ended")
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer done()
	if shutdown := server.Shutdown(closing); shutdown != nil {
		_ = server.Close()
	}
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func disconnect(client *mongo.Client, log *zap.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := client.Disconnect(ctx); err != nil {
		log.Warn("database connection not closed", zap.Error(err))
	}
}
