package mongostore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Index describes an index beyond those that the rules need.
type Index struct {
	Name string
	// Keys are the indexed fields in order, ascending.
	Keys   []string
	Unique bool
	// Present, if not empty, restricts the index to documents that have this
	// field with a string value.
	Present string
}

// EnsureIndexes creates the indexes that the rules need, and the given ones,
// where they are missing. An index that exists under the name of one of them
// but differs is reported as an error and left alone: dropping it is for a
// person to decide. It may be called by all replicas at once.
func (s *Store[D]) EnsureIndexes(ctx context.Context, rules engine.Rules, more ...Index) error {
	want := ruleIndexes(rules)
	for _, ix := range more {
		want = append(want, ix.spec())
	}
	if err := s.createCollection(ctx); err != nil {
		return err
	}
	have, err := s.indexes(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, spec := range want {
		present, ok := have[spec.name]
		switch {
		case !ok:
			if err := s.createIndex(ctx, spec); err != nil {
				errs = append(errs, err)
			}
		case !present.equal(spec):
			errs = append(errs, fmt.Errorf("index %q of %s differs from what is needed: drop it and start again (have %s, want %s)",
				spec.name, s.coll.Name(), present, spec))
		}
	}
	return errors.Join(errs...)
}

// MissingIndexes returns the names of needed indexes that do not exist or
// differ.
func (s *Store[D]) MissingIndexes(ctx context.Context, rules engine.Rules, more ...Index) ([]string, error) {
	have, err := s.indexes(ctx)
	if err != nil {
		return nil, err
	}
	want := ruleIndexes(rules)
	for _, ix := range more {
		want = append(want, ix.spec())
	}
	var missing []string
	for _, spec := range want {
		if present, ok := have[spec.name]; !ok || !present.equal(spec) {
			missing = append(missing, spec.name)
		}
	}
	return missing, nil
}

// indexSpec is an index as the server describes it.
type indexSpec struct {
	name    string
	keys    bson.D
	unique  bool
	partial bson.D
}

func (a indexSpec) equal(b indexSpec) bool {
	return a.unique == b.unique && sameBSON(a.keys, b.keys) && sameBSON(a.partial, b.partial)
}

func (a indexSpec) String() string {
	return fmt.Sprintf("{keys: %v, unique: %v, partial: %v}", a.keys, a.unique, a.partial)
}

// sameBSON compares by meaning: servers give numbers back in other types.
func sameBSON(a, b bson.D) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	left, errL := bson.MarshalExtJSON(a, false, false)
	right, errR := bson.MarshalExtJSON(b, false, false)
	return errL == nil && errR == nil && bytes.Equal(left, right)
}

// ruleIndexes are one partial index for each match, over just the documents
// that it matches.
func ruleIndexes(rules engine.Rules) []indexSpec {
	var specs []indexSpec
	for _, m := range rules.Unsettled {
		specs = append(specs, indexSpec{
			name:    indexName("due", m),
			keys:    bson.D{{Key: "lockedAt", Value: int32(1)}, {Key: "updatedAt", Value: int32(1)}},
			partial: pair(m),
		})
	}
	for _, m := range rules.Resync {
		specs = append(specs, indexSpec{
			name:    indexName("resync", m),
			keys:    bson.D{{Key: "resyncAt", Value: int32(1)}},
			partial: pair(m),
		})
	}
	return specs
}

func indexName(prefix string, m engine.Match) string {
	parts := []string{prefix}
	if m.State != "" {
		parts = append(parts, "state", string(m.State))
	}
	if m.Phase != "" {
		parts = append(parts, "phase", string(m.Phase))
	}
	return strings.Join(parts, "_")
}

func (ix Index) spec() indexSpec {
	spec := indexSpec{name: ix.Name, unique: ix.Unique}
	for _, key := range ix.Keys {
		spec.keys = append(spec.keys, bson.E{Key: key, Value: int32(1)})
	}
	if ix.Present != "" {
		spec.partial = bson.D{{Key: ix.Present, Value: bson.D{{Key: "$gt", Value: ""}}}}
	}
	return spec
}

func (s *Store[D]) indexes(ctx context.Context) (map[string]indexSpec, error) {
	var rows []struct {
		Name    string `bson:"name"`
		Key     bson.D `bson:"key"`
		Unique  bool   `bson:"unique"`
		Partial bson.D `bson:"partialFilterExpression"`
	}
	cursor, err := s.coll.Indexes().List(ctx)
	if err == nil {
		err = cursor.All(ctx, &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("list indexes of %s: %w", s.coll.Name(), err)
	}
	have := map[string]indexSpec{}
	for _, row := range rows {
		have[row.Name] = indexSpec{name: row.Name, keys: row.Key, unique: row.Unique, partial: row.Partial}
	}
	return have, nil
}

func (s *Store[D]) createIndex(ctx context.Context, spec indexSpec) error {
	opts := options.Index().SetName(spec.name)
	if spec.unique {
		opts.SetUnique(true)
	}
	if spec.partial != nil {
		opts.SetPartialFilterExpression(spec.partial)
	}
	err := retried(ctx, func() error {
		_, err := s.coll.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: spec.keys, Options: opts})
		return err
	})
	if err != nil {
		return fmt.Errorf("create index %q of %s: %w", spec.name, s.coll.Name(), err)
	}
	return nil
}

// codeNamespaceExists is the answer to creating a collection that exists.
const codeNamespaceExists = 48

func (s *Store[D]) createCollection(ctx context.Context) error {
	err := retried(ctx, func() error { return s.coll.Database().CreateCollection(ctx, s.coll.Name()) })
	var server mongo.ServerError
	if err != nil && (!errors.As(err, &server) || !server.HasErrorCode(codeNamespaceExists)) {
		return fmt.Errorf("create collection %s: %w", s.coll.Name(), err)
	}
	return nil
}
