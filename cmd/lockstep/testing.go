package main

import (
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.uber.org/zap"

	"github.com/lockstep-io/lockstep/internal/config"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/testrecord"
)

// forTests does to a platform what tests ask for; none of it can be asked for
// elsewhere. The function it returns ends the record.
func forTests(cfg config.Test, db *mongo.Database, opts *platform.Options, log *zap.Logger) (end func(), err error) {
	if cfg.Without != "" {
		log.Warn("a protection is taken out, for a test", zap.String("protection", cfg.Without))
		testrecord.Without(cfg.Without, db, opts)
	}
	if cfg.Record == "" {
		return func() {}, nil
	}
	record, err := testrecord.Open(cfg.Record)
	if err != nil {
		return nil, err
	}
	record.Attach(opts)
	return func() { _ = record.Close() }, nil
}
