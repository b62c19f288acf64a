package testrecord

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// The protections that a test can take out of a replica, to see that the
// suite misses them.
const (
	// WithoutToken: changes are written by whoever makes them, whatever claims
	// there have been since, as the plain pattern does.
	WithoutToken = "token"
	// WithoutTrust: the trust window never closes.
	WithoutTrust = "trust"
)

// Without takes a protection out.
func Without(protection string, db *mongo.Database, opts *platform.Options) {
	switch protection {
	case WithoutToken:
		opts.AroundStore = plainWrites(db)
	case WithoutTrust:
		opts.Engine.Margin = -24 * time.Hour
	}
}

// plainWrites makes the changes that were refused for the sake of the token.
func plainWrites(db *mongo.Database) platform.AroundStore {
	return func(ctx context.Context, call platform.StoreCall, run func(context.Context) (platform.StoreAnswer, error)) (platform.StoreAnswer, error) {
		answer, err := run(ctx)
		for _, id := range answer.Lost {
			fields := bson.D{{Key: "lockedAt", Value: engine.Epoch}}
			if call.Change.Kind == engine.Move {
				fields = append(fields, bson.E{Key: "phase", Value: call.Change.To})
			}
			if _, err := db.Collection(string(call.Kind)).UpdateOne(ctx, bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "$set", Value: fields}}); err != nil {
				return answer, err
			}
		}
		answer.Lost = nil
		return answer, err
	}
}
