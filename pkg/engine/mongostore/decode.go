package mongostore

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// People write into documents by hand, and what they write may not be what the
// document's type holds. Such a document must not stand in the way of others.

// each calls f with each document that a cursor finds. It passes over those
// whose _id is not a text: no kind makes such, and nobody can name them.
func each(ctx context.Context, cursor *mongo.Cursor, f func(id string, raw bson.Raw) error) error {
	defer cursor.Close(ctx) //nolint:errcheck // what matters is in Err
	for cursor.Next(ctx) {
		id, ok := cursor.Current.Lookup("_id").StringValueOK()
		if !ok {
			continue
		}
		if err := f(id, cursor.Current); err != nil {
			return err
		}
	}
	return cursor.Err()
}

// decode reads a document, and says which it is that it cannot read.
func decode[D engine.Document](id string, raw bson.Raw) (D, error) {
	doc := newDocument[D]()
	if err := bson.Unmarshal(raw, doc); err != nil {
		var none D
		return none, fmt.Errorf("document %s cannot be read: %w", id, err)
	}
	return doc, nil
}

// decodeClaimed reads a document that was claimed. Of one that cannot be read
// it returns what its claim needs, and why: it is the engine's to say so on the
// document, and to end the claim.
func decodeClaimed[D engine.Document](id string, raw bson.Raw) D {
	doc, err := decode[D](id, raw)
	if err == nil {
		return doc
	}
	doc = newDocument[D]()
	text := func(field string) string {
		s, _ := raw.Lookup(field).StringValueOK()
		return s
	}
	number := func(field string) int64 {
		n, _ := raw.Lookup(field).AsInt64OK()
		return n
	}
	m := doc.Lifecycle()
	m.ID, m.State, m.Phase, m.Step = id, engine.State(text("state")), engine.Phase(text("phase")), text("step")
	m.Generation, m.Attempts = number("generation"), int(number("attempts"))
	m.LockToken, m.LockBatch, m.LockedBy = number("lockToken"), text("lockBatch"), text("lockedBy")
	m.LockedAt, _ = raw.Lookup("lockedAt").TimeOK()
	m.Unreadable = err.Error()
	return doc
}
