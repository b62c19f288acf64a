package mongostore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

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
	now, err := s.clock.Now(ctx)
	if err != nil {
		return nil, err
	}
	found := idSet{limit: limit}
	for _, q := range dueQueries(rules, now) {
		if err := s.findIDs(ctx, q, &found); err != nil {
			return nil, fmt.Errorf("find due documents of %s: %w", rules.Kind, err)
		}
	}
	return found.ids, nil
}

// idSet collects distinct ids in the order in which they come.
type idSet struct {
	limit int
	ids   []string
	seen  map[string]bool
}

func (f *idSet) add(id string) {
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	if !f.seen[id] {
		f.seen[id] = true
		f.ids = append(f.ids, id)
	}
}

func (s *Store[D]) findIDs(ctx context.Context, q query, found *idSet) error {
	room := found.limit - len(found.ids)
	if room <= 0 {
		return nil
	}
	opts := options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(room)).SetSort(q.sort)
	var rows []struct {
		ID string `bson:"_id"`
	}
	err := retried(ctx, func() error {
		cursor, err := s.coll.Find(ctx, q.filter, opts)
		if err != nil {
			return err
		}
		return cursor.All(ctx, &rows)
	})
	for _, row := range rows {
		found.add(row.ID)
	}
	return err
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
	// A write that failed half-way may have claimed some: they are ours too.
	if err == nil && taken == 0 {
		return nil, nil
	}
	if err != nil {
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

// Apply implements [engine.Store].
//
// Where a write changed fewer documents than it was for, those that it did not
// change are found by a read afterwards. A change whose answer was lost and
// that is repeated may report documents as lost although it was applied: the
// caller must stop in either case.
func (s *Store[D]) Apply(ctx context.Context, ch engine.Change, claims []engine.Ref) ([]string, error) {
	if len(claims) == 0 {
		return nil, nil
	}
	var changed int64
	err := retried(ctx, func() error {
		var err error
		changed, err = s.write(ctx, ch, heldFilter(ch, claims))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s %d documents: %w", ch.Kind, len(claims), err)
	}
	switch int(changed) {
	case len(claims):
		return nil, nil
	case 0:
		return idsOf(claims), nil
	}
	return s.lost(ctx, ch, claims)
}

func (s *Store[D]) write(ctx context.Context, ch engine.Change, filter bson.D) (int64, error) {
	if ch.Kind == engine.Purge {
		result, err := s.coll.DeleteMany(ctx, filter)
		if err != nil {
			return 0, err
		}
		return result.DeletedCount, nil
	}
	pipeline, err := changePipeline(ch)
	if err != nil {
		return 0, err
	}
	result, err := s.coll.UpdateMany(ctx, filter, pipeline)
	if err != nil {
		return 0, err
	}
	return result.MatchedCount, nil
}

// lost tells which of the claims a change did not reach.
func (s *Store[D]) lost(ctx context.Context, ch engine.Change, claims []engine.Ref) ([]string, error) {
	var rows []engine.Meta
	err := retried(ctx, func() error {
		cursor, err := s.coll.Find(ctx, bson.D{{Key: "_id", Value: in(idsOf(claims))}},
			options.Find().SetProjection(bson.D{
				{Key: "lockToken", Value: 1}, {Key: "lockBatch", Value: 1},
				{Key: "lockedBy", Value: 1}, {Key: "phase", Value: 1},
			}))
		if err != nil {
			return err
		}
		return cursor.All(ctx, &rows)
	})
	if err != nil {
		return nil, fmt.Errorf("find which locks were lost: %w", err)
	}
	present := map[string]*engine.Meta{}
	for i := range rows {
		present[rows[i].ID] = &rows[i]
	}
	var lost []string
	for _, claim := range claims {
		if !reached(ch, claim, present[claim.ID]) {
			lost = append(lost, claim.ID)
		}
	}
	return lost, nil
}

// reached reports whether a document looks as the change left it.
func reached(ch engine.Change, claim engine.Ref, m *engine.Meta) bool {
	if ch.Kind == engine.Purge {
		return m == nil
	}
	if m == nil || m.LockToken != claim.Token || m.LockBatch != claim.Batch {
		return false
	}
	if !ch.Kind.Ends() {
		return m.LockedBy == ch.Holder
	}
	return m.LockedBy == "" && (ch.Kind != engine.Move || m.Phase == ch.To)
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

func idsOf(claims []engine.Ref) []string {
	ids := make([]string, len(claims))
	for i, c := range claims {
		ids[i] = c.ID
	}
	return slices.Clip(ids)
}
