package mongostore

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Store is an [engine.Store] on one collection, and the user's side of it:
// inserting documents, reading them, and changing what is wanted of them.
type Store[D engine.Document] struct {
	coll  *mongo.Collection
	clock *Clock
}

// New returns a store on the collection. D must be a pointer to a struct.
// Reads go to the primary, and writes are acknowledged by a majority: a claim
// that a failover could undo would be no claim.
func New[D engine.Document](coll *mongo.Collection) *Store[D] {
	coll = coll.Clone(options.Collection().
		SetReadPreference(readpref.Primary()).
		SetWriteConcern(writeconcern.Majority()))
	return &Store[D]{coll: coll, clock: NewClock(coll.Database())}
}

// Due implements [engine.Store].
func (s *Store[D]) Due(ctx context.Context, rules engine.Rules, limit int) ([]string, error) {
	if limit <= 0 {
		return nil, nil
	}
	now, err := s.clock.Now(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	seen := map[string]bool{} // a document may pass from one query's answer into another's
	for _, q := range dueQueries(rules, now) {
		if len(ids) == limit {
			break
		}
		found, err := s.ids(ctx, q.filter, options.Find().SetSort(q.sort).SetLimit(int64(limit-len(ids))))
		if err != nil {
			return nil, fmt.Errorf("find due documents of %s: %w", rules.Kind, err)
		}
		for _, id := range found {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// oneAnswer is the size of answers, in documents, that makes them one: what is
// asked for here is never more.
const oneAnswer = 1 << 15

// ids reads the ids of documents.
func (s *Store[D]) ids(ctx context.Context, filter bson.D, opts *options.FindOptionsBuilder) (ids []string, err error) {
	opts.SetProjection(bson.D{{Key: "_id", Value: 1}}).SetBatchSize(oneAnswer)
	err = retried(ctx, func() error {
		cursor, err := s.coll.Find(ctx, filter, opts)
		if err != nil {
			return err
		}
		ids = nil
		return each(ctx, cursor, func(id string, _ bson.Raw) error {
			ids = append(ids, id)
			return nil
		})
	})
	return ids, err
}

// Claim implements [engine.Store].
func (s *Store[D]) Claim(ctx context.Context, req engine.ClaimRequest) ([]D, error) {
	if len(req.IDs) == 0 {
		return nil, nil
	}
	docs, err := s.claim(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("claim %d documents of %s: %w", len(req.IDs), req.Rules.Kind, err)
	}
	return docs, nil
}

func (s *Store[D]) claim(ctx context.Context, req engine.ClaimRequest) ([]D, error) {
	if len(req.IDs) == 1 {
		return s.claimOne(ctx, req)
	}
	var taken int64
	err := retried(ctx, func() error {
		result, err := s.coll.UpdateMany(ctx, claimFilter(req), claimPipeline(req))
		if err == nil {
			taken += result.MatchedCount
		}
		return err
	})
	// What a write claimed whose answer was lost waits for its lock to expire.
	if err != nil || taken == 0 {
		return nil, err
	}
	return s.claimed(ctx, req)
}

// claimed reads the documents that a claim has locked.
func (s *Store[D]) claimed(ctx context.Context, req engine.ClaimRequest) (docs []D, err error) {
	filter := bson.D{{Key: "_id", Value: in(req.IDs)}, {Key: "lockBatch", Value: req.Batch}}
	err = retried(ctx, func() error {
		cursor, err := s.coll.Find(ctx, filter, options.Find().SetBatchSize(oneAnswer))
		if err != nil {
			return err
		}
		docs = nil
		return each(ctx, cursor, func(id string, raw bson.Raw) error {
			docs = append(docs, decodeClaimed[D](id, raw))
			return nil
		})
	})
	return docs, err
}

func (s *Store[D]) claimOne(ctx context.Context, req engine.ClaimRequest) ([]D, error) {
	var raw bson.Raw
	err := retried(ctx, func() (err error) {
		raw, err = s.coll.FindOneAndUpdate(ctx, claimFilter(req), claimPipeline(req),
			options.FindOneAndUpdate().SetReturnDocument(options.After)).Raw()
		return err
	})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []D{decodeClaimed[D](req.IDs[0], raw)}, nil
}

// Update implements [engine.Store].
func (s *Store[D]) Update(ctx context.Context, claim engine.Ref, fields map[string]any) error {
	var set bson.D
	for name, value := range fields {
		set = append(set, bson.E{Key: name, Value: value})
	}
	var result *mongo.UpdateResult
	err := retried(ctx, func() (err error) {
		result, err = s.coll.UpdateOne(ctx, claimFilterByRef(claim), bson.D{{Key: "$set", Value: set}})
		return err
	})
	if err != nil {
		return fmt.Errorf("update %s: %w", claim.ID, err)
	}
	if result.MatchedCount == 0 {
		return fmt.Errorf("update %s: %w", claim.ID, engine.ErrLockLost)
	}
	return nil
}

// Verify implements [engine.Store].
func (s *Store[D]) Verify(ctx context.Context, claim engine.Ref) error {
	err := retried(ctx, func() error {
		return s.coll.FindOne(ctx, claimFilterByRef(claim),
			options.FindOne().SetProjection(bson.D{{Key: "_id", Value: 1}})).Err()
	})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return fmt.Errorf("verify %s: %w", claim.ID, engine.ErrLockLost)
	}
	if err != nil {
		return fmt.Errorf("verify %s: %w", claim.ID, err)
	}
	return nil
}

func newDocument[D engine.Document]() D {
	return reflect.New(reflect.TypeFor[D]().Elem()).Interface().(D) //nolint:forcetypeassert // D is the pointer type
}
