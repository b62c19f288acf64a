package mongostore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

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
	unsettled, resynced := dueQueries(rules, now)
	for _, queries := range [][]query{unsettled, resynced} {
		found, err := s.find(ctx, queries, limit-len(ids))
		if err != nil {
			return nil, fmt.Errorf("find due documents of %s: %w", rules.Kind, err)
		}
		ids = append(ids, found...)
		if len(ids) == limit {
			break
		}
	}
	return ids, nil
}

// candidate is what a read for candidates returns.
type candidate struct {
	ID        string    `bson:"_id"`
	LockedAt  time.Time `bson:"lockedAt"`
	UpdatedAt time.Time `bson:"updatedAt"`
}

// find runs the queries and merges what they find, each document once.
func (s *Store[D]) find(ctx context.Context, queries []query, limit int) ([]string, error) {
	var all []candidate
	seen := map[string]bool{}
	for _, q := range queries {
		found, err := s.candidates(ctx, q, limit)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			if !seen[c.ID] {
				seen[c.ID] = true
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(a.LockedAt.Compare(b.LockedAt), a.UpdatedAt.Compare(b.UpdatedAt))
	})
	ids := make([]string, 0, min(limit, len(all)))
	for _, c := range all[:min(limit, len(all))] {
		ids = append(ids, c.ID)
	}
	return ids, nil
}

func (s *Store[D]) candidates(ctx context.Context, q query, limit int) ([]candidate, error) {
	opts := options.Find().SetSort(q.sort).SetLimit(int64(limit)).
		SetProjection(bson.D{{Key: "lockedAt", Value: 1}, {Key: "updatedAt", Value: 1}})
	var found []candidate
	err := retried(ctx, func() error {
		cursor, err := s.coll.Find(ctx, q.filter, opts)
		if err != nil {
			return err
		}
		found = nil
		return cursor.All(ctx, &found)
	})
	return found, err
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
	return s.Find(ctx, bson.D{{Key: "_id", Value: in(req.IDs)}, {Key: "lockBatch", Value: req.Batch}})
}

func (s *Store[D]) claimOne(ctx context.Context, req engine.ClaimRequest) ([]D, error) {
	doc := newDocument[D]()
	err := retried(ctx, func() error {
		return s.coll.FindOneAndUpdate(ctx, claimFilter(req), claimPipeline(req),
			options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(doc)
	})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []D{doc}, nil
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
