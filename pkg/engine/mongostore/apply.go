package mongostore

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Apply implements [engine.Store].
//
// A change whose answer was lost and that is repeated reports as lost what it
// changed the first time: the caller must stop in either case.
func (s *Store[D]) Apply(ctx context.Context, ch engine.Change, claims []engine.Ref) ([]string, error) {
	if len(claims) == 0 {
		return nil, nil
	}
	var lost []string
	var err error
	if ch.Kind == engine.Purge {
		lost, err = s.purge(ctx, ch, claims)
	} else {
		lost, err = s.change(ctx, ch, claims)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %d documents: %w", ch.Kind, len(claims), err)
	}
	return lost, nil
}

// change writes the change, and finds out which documents it did not reach if
// there are any.
func (s *Store[D]) change(ctx context.Context, ch engine.Change, claims []engine.Ref) ([]string, error) {
	name := bson.NewObjectID().Hex()
	pipeline, err := changePipeline(ch, name)
	if err != nil {
		return nil, err
	}
	var changed int64
	err = retried(ctx, func() error {
		result, err := s.coll.UpdateMany(ctx, heldFilter(ch, claims), pipeline)
		if err == nil {
			changed += result.MatchedCount
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case int(changed) == len(claims):
		return nil, nil
	case changed == 0:
		return idsOf(claims), nil
	}
	reached := heldFilter(engine.Change{Kind: ch.Kind}, claims)
	if ch.Kind.Ends() {
		reached = bson.D{{Key: "_id", Value: in(idsOf(claims))}, {Key: "lockBatch", Value: name}}
	}
	return s.missing(ctx, reached, claims)
}

// purge removes the documents. Which are ours is read before: afterwards, one
// that was purged cannot be told from one that was not there.
func (s *Store[D]) purge(ctx context.Context, ch engine.Change, claims []engine.Ref) ([]string, error) {
	filter := heldFilter(ch, claims)
	lost, err := s.missing(ctx, filter, claims)
	if err != nil || len(lost) == len(claims) {
		return lost, err
	}
	err = retried(ctx, func() error { _, err := s.coll.DeleteMany(ctx, filter); return err })
	return lost, err
}

// missing returns the ids of those claims whose documents the filter does not
// match.
func (s *Store[D]) missing(ctx context.Context, filter bson.D, claims []engine.Ref) ([]string, error) {
	found, err := s.ids(ctx, filter, options.Find())
	if err != nil {
		return nil, err
	}
	present := map[string]bool{}
	for _, id := range found {
		present[id] = true
	}
	return slices.DeleteFunc(idsOf(claims), func(id string) bool { return present[id] }), nil
}

func idsOf(claims []engine.Ref) []string {
	ids := make([]string, len(claims))
	for i, c := range claims {
		ids[i] = c.ID
	}
	return ids
}
