package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// Collection is where [Mongo] keeps leases.
const Collection = "Lease"

// document is a lease. Its times are the database's.
type document struct {
	Name string `bson:"_id"`
	// Holder is the identity of the campaign that has it; empty if it is free.
	Holder     string    `bson:"holder"`
	Token      int64     `bson:"token"`
	AcquiredAt time.Time `bson:"acquiredAt,omitempty"`
	RenewedAt  time.Time `bson:"renewedAt,omitempty"`
	// LeaseDuration is in milliseconds.
	LeaseDuration int64 `bson:"leaseDuration"`
}

type mongoStore struct{ coll *mongo.Collection }

// Mongo keeps leases in the database's collection [Collection], one document
// for each name. Writes are acknowledged by a majority: a lease that a failover
// could take back would be none.
func Mongo(db *mongo.Database) Store {
	return mongoStore{db.Collection(Collection, options.Collection().
		SetReadPreference(readpref.Primary()).SetWriteConcern(writeconcern.Majority()))}
}

// Lock implements [Store].
func (s mongoStore) Lock(name string, c Campaign) Lock {
	return &mongoLock{coll: s.coll, name: name, campaign: c}
}

type mongoLock struct {
	coll     *mongo.Collection
	name     string
	campaign Campaign
	token    int64
}

// Acquire implements [Lock]. The document is made free, and taken after that:
// an update of a document that exists has one winner on every server, which an
// upsert has not. (DocumentDB also refuses $$NOW where there is no collection.)
func (l *mongoLock) Acquire(ctx context.Context) (token int64, held bool, err error) {
	if err := l.ensure(ctx); err != nil {
		return 0, false, err
	}
	doc, err := l.take(ctx)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("acquire lease %s: %w", l.name, err)
	}
	l.token = doc.Token
	return doc.Token, true, nil
}

func (l *mongoLock) take(ctx context.Context) (doc document, err error) {
	err = l.coll.FindOneAndUpdate(ctx,
		bson.D{{Key: "_id", Value: l.name}, {Key: "$expr", Value: op("$or",
			op("$in", "$holder", bson.A{"", op("$literal", l.campaign.Identity)}),
			op("$lt", "$renewedAt", op("$subtract", "$$NOW", "$leaseDuration")),
		)}},
		mongo.Pipeline{set(
			bson.E{Key: "holder", Value: op("$literal", l.campaign.Identity)},
			bson.E{Key: "token", Value: op("$add", "$token", int64(1))},
			bson.E{Key: "acquiredAt", Value: "$$NOW"},
			bson.E{Key: "renewedAt", Value: "$$NOW"},
			bson.E{Key: "leaseDuration", Value: l.campaign.Duration.Milliseconds()},
		)},
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&doc)
	return doc, err
}

// ensure makes the document be there, free, unless it is there already. It is
// read first, so that waiting for a holder makes no errors on the server.
func (l *mongoLock) ensure(ctx context.Context) error {
	err := l.coll.FindOne(ctx, bson.D{{Key: "_id", Value: l.name}},
		options.FindOne().SetProjection(bson.D{{Key: "_id", Value: 1}})).Err()
	if err == nil {
		return nil
	}
	if errors.Is(err, mongo.ErrNoDocuments) {
		_, err = l.coll.InsertOne(ctx, document{Name: l.name})
	}
	if err != nil && !mongo.IsDuplicateKeyError(err) {
		return fmt.Errorf("make lease %s: %w", l.name, err)
	}
	return nil
}

// Renew implements [Lock]. A lease that has expired, but that no one has taken,
// is renewed too: whether to trust it is for the holder to know.
func (l *mongoLock) Renew(ctx context.Context) error {
	matched, err := l.update(ctx, bson.E{Key: "renewedAt", Value: "$$NOW"})
	if err != nil {
		return fmt.Errorf("renew lease %s: %w", l.name, err)
	}
	if !matched {
		return fmt.Errorf("renew lease %s: %w", l.name, ErrLost)
	}
	return nil
}

// Release implements [Lock].
func (l *mongoLock) Release(ctx context.Context) error {
	// Whatever token it is under: an answer that was lost may have raised it.
	_, err := l.coll.UpdateOne(ctx,
		bson.D{{Key: "_id", Value: l.name}, {Key: "holder", Value: l.campaign.Identity}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "holder", Value: ""}}}})
	if err != nil {
		return fmt.Errorf("release lease %s: %w", l.name, err)
	}
	return nil
}

func (l *mongoLock) update(ctx context.Context, fields ...bson.E) (matched bool, err error) {
	result, err := l.coll.UpdateOne(ctx, bson.D{
		{Key: "_id", Value: l.name}, {Key: "holder", Value: l.campaign.Identity}, {Key: "token", Value: l.token},
	}, mongo.Pipeline{set(fields...)})
	return err == nil && result.MatchedCount > 0, err
}

func set(fields ...bson.E) bson.D { return bson.D{{Key: "$set", Value: bson.D(fields)}} }

// op is an operator of the aggregation language on its arguments.
func op(name string, args ...any) bson.D {
	if len(args) == 1 {
		return bson.D{{Key: name, Value: args[0]}}
	}
	return bson.D{{Key: name, Value: bson.A(args)}}
}
