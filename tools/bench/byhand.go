package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// What follows does by hand what the engine does: the plain pattern, one
// document at a time, and in sets. It uses the same driver, the same indexes
// and the constant times that suit the server best, and keeps no token, no
// history and no errors. The numbers it comes to are what the server gives.

// claimable are the new items that nobody holds.
func claimable() bson.D {
	return bson.D{
		{Key: "phase", Value: phaseNew},
		{Key: "lockedAt", Value: bson.D{{Key: "$lt", Value: time.Now().Add(-engine.DefaultLockTimeout)}}},
	}
}

var longestWaiting = bson.D{{Key: "lockedAt", Value: 1}, {Key: "updatedAt", Value: 1}}

// finished is what completes an item.
func finished() bson.D {
	now := time.Now()
	return bson.D{{Key: "$set", Value: bson.D{
		{Key: "phase", Value: phaseDone}, {Key: "phaseAt", Value: now}, {Key: "lockedAt", Value: engine.Epoch}, {Key: "updatedAt", Value: now},
	}}}
}

// claimOne claims the item that has waited longest. It returns no id if there
// is none, or the server broke the claim off because it deadlocked with
// another, which DocumentDB reports now and then.
func claimOne(ctx context.Context, coll *mongo.Collection) (id string, err error) {
	var doc item
	err = coll.FindOneAndUpdate(ctx, claimable(), bson.D{{Key: "$set", Value: bson.D{{Key: "lockedAt", Value: time.Now()}}}},
		options.FindOneAndUpdate().SetSort(longestWaiting)).Decode(&doc)
	if errors.Is(err, mongo.ErrNoDocuments) || brokenOff(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("claim by hand: %w", err)
	}
	return doc.ID, nil
}

// completeOne completes a claimed item.
func completeOne(ctx context.Context, coll *mongo.Collection, id string) error {
	for {
		_, err := coll.UpdateOne(ctx, bson.D{{Key: "_id", Value: id}}, finished())
		if !brokenOff(err) {
			return err
		}
	}
}

// Codes of writes that a server broke off, and that may be made again.
const (
	internalError = 1
	deadlock      = 16908292
	writeConflict = 112
)

func brokenOff(err error) bool {
	var server mongo.ServerError
	return errors.As(err, &server) &&
		(server.HasErrorCode(internalError) || server.HasErrorCode(deadlock) || server.HasErrorCode(writeConflict))
}

// setSize is how many items are claimed by hand in one write.
const setSize = 500

// inSets completes the items in sets, by one fetcher: more than one would
// choose the same candidates.
func inSets(ctx context.Context, c *contest) error {
	began := time.Now()
	for c.done < c.backlog {
		n, err := oneSet(ctx, c.coll)
		if err != nil {
			return err
		}
		c.done += n
	}
	c.took = time.Since(began)
	return nil
}

func oneSet(ctx context.Context, coll *mongo.Collection) (int, error) {
	ids, err := idsOf(ctx, coll, claimable(), options.Find().SetSort(longestWaiting).SetLimit(setSize))
	if err != nil {
		return 0, err
	}
	batch := bson.NewObjectID().Hex()
	filter := append(bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, claimable()...)
	_, err = coll.UpdateMany(ctx, filter, bson.D{{Key: "$set", Value: bson.D{{Key: "lockedAt", Value: time.Now()}, {Key: "lockBatch", Value: batch}}}})
	if err != nil {
		return 0, fmt.Errorf("claim a set by hand: %w", err)
	}
	mine, err := idsOf(ctx, coll, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}, {Key: "lockBatch", Value: batch}})
	if err != nil {
		return 0, err
	}
	_, err = coll.UpdateMany(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: mine}}}}, finished())
	if err != nil {
		return 0, fmt.Errorf("complete a set by hand: %w", err)
	}
	return len(mine), nil
}

func idsOf(ctx context.Context, coll *mongo.Collection, filter bson.D, opts ...options.Lister[options.FindOptions]) ([]string, error) {
	cursor, err := coll.Find(ctx, filter, opts...)
	if err != nil {
		return nil, fmt.Errorf("find a set by hand: %w", err)
	}
	var docs []item
	if err := cursor.All(ctx, &docs); err != nil {
		return nil, fmt.Errorf("read a set by hand: %w", err)
	}
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = doc.ID
	}
	return ids, nil
}

// together runs f n times at once.
func together(n int, f func() error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
