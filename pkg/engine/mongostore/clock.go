package mongostore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// clockFresh is how long a time asked of the server is carried on by this
// process's monotonic clock before it is asked again.
const clockFresh = 10 * time.Second

// Clock tells the database's time. Between questions it adds what has passed
// on the monotonic clock since the answer came, so it is never ahead of the
// database by more than the drift of the two over [clockFresh], and behind it
// by no more than the answer took. No decision rests on it: it bounds reads
// for candidates, and explains documents to people.
type Clock struct {
	coll *mongo.Collection

	mu    sync.Mutex
	base  time.Time // the database's time …
	asked time.Time // … when the monotonic clock showed this
}

// NewClock returns a clock of the database, which is asked by way of a
// document in the collection "Clock".
func NewClock(db *mongo.Database) *Clock { return &Clock{coll: db.Collection("Clock")} }

// Now returns the database's present time.
func (c *Clock) Now(ctx context.Context) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if since := time.Since(c.asked); c.asked.IsZero() || since > clockFresh {
		base, err := c.ask(ctx)
		if err != nil {
			return time.Time{}, err
		}
		c.base, c.asked = base, time.Now()
	}
	return c.base.Add(time.Since(c.asked)), nil
}

// ask makes the server write its time, because $$NOW in a write is the time
// that claims are made by. Several who upsert at once may all be told that
// they inserted; here that does not matter.
func (c *Clock) ask(ctx context.Context) (time.Time, error) {
	var doc struct {
		Now time.Time `bson:"now"`
	}
	err := retried(ctx, func() error {
		return c.coll.FindOneAndUpdate(ctx, bson.D{{Key: "_id", Value: "clock"}},
			mongo.Pipeline{set(field("now", "$$NOW"))},
			options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&doc)
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("ask the database for its time: %w", err)
	}
	return doc.Now.UTC(), nil
}
