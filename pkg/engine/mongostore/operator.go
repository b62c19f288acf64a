package mongostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Unlock takes a document from whoever holds it, so that it can be claimed at
// once. The fencing token is raised: what the holder before still writes is
// refused.
func (s *Store[D]) Unlock(ctx context.Context, id string, note *Append) (D, error) {
	return s.seize(ctx, id, engine.Epoch, "", note)
}

// Hold takes a document from whoever holds it and keeps it locked until
// [Store.Unlock], by a holder who is no replica: no claim is made meanwhile,
// whatever becomes of its intent.
func (s *Store[D]) Hold(ctx context.Context, id, holder string, note *Append) (D, error) {
	return s.seize(ctx, id, engine.Never, holder, note)
}

func (s *Store[D]) seize(ctx context.Context, id string, lockedAt time.Time, holder string, note *Append) (D, error) {
	var none D
	values := bson.D{
		field("lockedAt", lockedAt),
		field("lockToken", bson.D{{Key: "$add", Value: bson.A{orZero("$lockToken"), int64(1)}}}),
	}
	removed := bson.A{"lockBatch"}
	if holder == "" {
		removed = append(removed, "lockedBy")
	} else {
		values = append(values, field("lockedBy", literal(holder)))
	}
	update := mongo.Pipeline{set(values...), unset(removed)}
	if note != nil {
		update = append(update, note.stage())
	}
	doc := newDocument[D]()
	err := retried(ctx, func() error {
		return s.coll.FindOneAndUpdate(ctx, bson.D{{Key: "_id", Value: id}}, update,
			options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(doc)
	})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return none, fmt.Errorf("%s %s: %w", s.coll.Name(), id, ErrNotFound)
	}
	if err != nil {
		return none, fmt.Errorf("seize %s %s: %w", s.coll.Name(), id, err)
	}
	return doc, nil
}
