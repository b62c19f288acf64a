package documents

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// Query asks for a page of documents, in the order of their ids.
type Query struct {
	// Where are fields and the values that they must have; empty strings are
	// left out.
	Where map[string]string
	// Except are pairs of state and phase to leave out, unless errors are
	// counted on the document.
	Except []engine.Match
	// Before, if not zero, asks for documents that entered their phase earlier.
	Before time.Time
	// After is the id after which the page begins; empty for the first.
	After string
	Limit int
	// Hide are fields that are not read: those that are large.
	Hide []string
}

// List reads a page of documents, and the id after which the next one begins:
// empty if there is none.
func List[D engine.Document](ctx context.Context, store *mongostore.Store[D], q Query) (docs []D, next string, err error) {
	opts := options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(q.Limit) + 1)
	if len(q.Hide) > 0 {
		hidden := bson.D{}
		for _, name := range q.Hide {
			hidden = append(hidden, bson.E{Key: name, Value: 0})
		}
		opts.SetProjection(hidden)
	}
	docs, err = store.Find(ctx, q.filter(), opts)
	if err != nil {
		return nil, "", err
	}
	if len(docs) > q.Limit {
		docs = docs[:q.Limit]
		next = docs[q.Limit-1].Lifecycle().ID
	}
	return docs, next, nil
}

func (q Query) filter() bson.D {
	filter := bson.D{}
	for name, value := range q.Where {
		if value != "" {
			filter = append(filter, bson.E{Key: name, Value: value})
		}
	}
	if q.After != "" {
		filter = append(filter, bson.E{Key: "_id", Value: bson.D{{Key: "$gt", Value: q.After}}})
	}
	if !q.Before.IsZero() {
		filter = append(filter, bson.E{Key: "phaseAt", Value: bson.D{{Key: "$lt", Value: q.Before}}})
	}
	if len(q.Except) > 0 {
		pairs := bson.A{}
		for _, m := range q.Except {
			pairs = append(pairs, bson.D{{Key: "state", Value: m.State}, {Key: "phase", Value: m.Phase}})
		}
		filter = append(filter, bson.E{Key: "$or", Value: bson.A{
			bson.D{{Key: "$nor", Value: pairs}},
			bson.D{{Key: "attempts", Value: bson.D{{Key: "$gt", Value: 0}}}},
		}})
	}
	return filter
}
