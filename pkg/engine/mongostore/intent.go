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

// Errors of the user's side.
var (
	// ErrNotFound: there is no such document.
	ErrNotFound = errors.New("not found")
	// ErrExists: a document with this id, or with a value that must be
	// unique, exists already.
	ErrExists = errors.New("exists already")
	// ErrConflict: the document is not (any more) as the change requires.
	ErrConflict = errors.New("conflict")
)

// Now returns the database's present time, see [Clock].
func (s *Store[D]) Now(ctx context.Context) (time.Time, error) { return s.clock.Now(ctx) }

// Insert adds a new document, unlocked. It returns [ErrExists] if its id or a
// unique value is taken: the error of the insert is the only answer to "was I
// first" that can be relied on.
func (s *Store[D]) Insert(ctx context.Context, doc D) error {
	now, err := s.clock.Now(ctx)
	if err != nil {
		return err
	}
	m := doc.Lifecycle()
	m.LockedAt = engine.Epoch
	m.CreatedAt, m.UpdatedAt, m.PhaseAt = now, now, now
	err = retried(ctx, func() error { _, err := s.coll.InsertOne(ctx, doc); return err })
	if isDuplicate(err) {
		return fmt.Errorf("insert %s %s: %w", s.coll.Name(), m.ID, ErrExists)
	}
	if err != nil {
		return fmt.Errorf("insert %s %s: %w", s.coll.Name(), m.ID, err)
	}
	return nil
}

// Get reads one document, or returns [ErrNotFound].
func (s *Store[D]) Get(ctx context.Context, id string) (D, error) {
	doc := newDocument[D]()
	err := retried(ctx, func() error {
		return s.coll.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(doc)
	})
	var none D
	if errors.Is(err, mongo.ErrNoDocuments) {
		return none, fmt.Errorf("%s %s: %w", s.coll.Name(), id, ErrNotFound)
	}
	if err != nil {
		return none, fmt.Errorf("read %s %s: %w", s.coll.Name(), id, err)
	}
	return doc, nil
}

// Find reads the documents that match a filter. It fails if one of them cannot
// be read, and names it: none is left out in silence. Only those whose _id is
// not a text do not count.
func (s *Store[D]) Find(ctx context.Context, filter any, opts ...options.Lister[options.FindOptions]) ([]D, error) {
	var docs []D
	err := retried(ctx, func() error {
		cursor, err := s.coll.Find(ctx, filter, opts...)
		if err != nil {
			return err
		}
		docs = nil
		return each(ctx, cursor, func(id string, raw bson.Raw) error {
			doc, err := decode[D](id, raw)
			docs = append(docs, doc)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", s.coll.Name(), err)
	}
	return docs, nil
}

// Count counts the documents that match a filter.
func (s *Store[D]) Count(ctx context.Context, filter any) (int64, error) {
	var n int64
	err := retried(ctx, func() (err error) {
		n, err = s.coll.CountDocuments(ctx, filter)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", s.coll.Name(), err)
	}
	return n, nil
}

// Intent is a change of what is wanted.
type Intent struct {
	// State, if not empty, is the new state.
	State engine.State
	// Fields are settings to set (dotted names); a nil value removes a field.
	Fields map[string]any
	// Unless lists states in which the change is refused.
	Unless []engine.State
	// IfGeneration, if not nil, is the generation that the document must have.
	IfGeneration *int64
	// Append, if not nil, is noted on the document in the same write.
	Append *Append
}

// Append adds a value to a list on a document, which keeps its latest values.
// The value is a document, and gets the database's time as its field "at".
type Append struct {
	Field string
	Value any
	Keep  int
}

// stage is the addition as a stage of a pipeline.
func (a *Append) stage() bson.D {
	entry := bson.D{{Key: "$mergeObjects", Value: bson.A{literal(a.Value), bson.D{field("at", "$$NOW")}}}}
	list := bson.D{{Key: "$concatArrays", Value: bson.A{
		bson.D{{Key: "$ifNull", Value: bson.A{"$" + a.Field, bson.A{}}}}, bson.A{entry},
	}}}
	return set(field(a.Field, bson.D{{Key: "$slice", Value: bson.A{list, -a.Keep}}}))
}

// SetIntent changes what is wanted of a document, and raises its generation;
// it touches no field that the engine writes. It returns the document as
// changed, [ErrNotFound], or [ErrConflict] if a condition did not hold. An
// intent that asks for nothing new still raises the generation.
func (s *Store[D]) SetIntent(ctx context.Context, id string, intent Intent) (D, error) {
	var none D
	filter := bson.D{{Key: "_id", Value: id}}
	if len(intent.Unless) > 0 {
		filter = append(filter, bson.E{Key: "state", Value: bson.D{{Key: "$nin", Value: intent.Unless}}})
	}
	if intent.IfGeneration != nil {
		filter = append(filter, bson.E{Key: "generation", Value: *intent.IfGeneration})
	}
	doc := newDocument[D]()
	err := retried(ctx, func() error {
		return s.coll.FindOneAndUpdate(ctx, filter, intent.update(),
			options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(doc)
	})
	switch {
	case isDuplicate(err):
		return none, fmt.Errorf("change %s %s: %w", s.coll.Name(), id, ErrExists)
	case errors.Is(err, mongo.ErrNoDocuments):
		if _, err := s.Get(ctx, id); err != nil {
			return none, err
		}
		return none, fmt.Errorf("change %s %s: %w", s.coll.Name(), id, ErrConflict)
	case err != nil:
		return none, fmt.Errorf("change %s %s: %w", s.coll.Name(), id, err)
	}
	return doc, nil
}

// update is a pipeline, because only there has the database its time for any
// field. All values are literal: a user's may look like expressions.
func (in Intent) update() mongo.Pipeline {
	values := bson.D{
		field("generation", bson.D{{Key: "$add", Value: bson.A{orZero("$generation"), int64(1)}}}),
		field("updatedAt", "$$NOW"),
	}
	if in.State != "" {
		values = append(values, field("state", literal(in.State)))
	}
	var removed bson.A
	for name, value := range in.Fields {
		if value == nil {
			removed = append(removed, name)
		} else {
			values = append(values, field(name, literal(value)))
		}
	}
	pipeline := mongo.Pipeline{set(values...)}
	if removed != nil {
		pipeline = append(pipeline, unset(removed))
	}
	if in.Append != nil {
		pipeline = append(pipeline, in.Append.stage())
	}
	return pipeline
}

// DeleteMany removes documents outright. It is for documents that no service
// moves: it asks no lock.
func (s *Store[D]) DeleteMany(ctx context.Context, filter any) error {
	err := retried(ctx, func() error { _, err := s.coll.DeleteMany(ctx, filter); return err })
	if err != nil {
		return fmt.Errorf("delete %s: %w", s.coll.Name(), err)
	}
	return nil
}
