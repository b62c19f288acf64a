package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// The plain pattern, as platforms of this design have it: for each transition
// a handler that runs once a tick, claims one document, and does its steps.
// It moves the same kinds by the same steps as the engine. To its advantage, a
// handler does all steps that can be done in one tick, and what needs no steps
// is written for all documents at once.

// handler does what is to be done in one tick.
type handler func(ctx context.Context) error

// plainHandlers are the handlers of a kind.
func plainHandlers[D engine.Document](def *engine.Definition[D], coll *mongo.Collection) []handler {
	var all []handler
	for _, t := range def.Transitions {
		p := plain[D]{t, coll}
		if len(t.Steps) == 0 {
			all = append(all, p.moveAll)
		} else {
			all = append(all, p.moveOne)
		}
	}
	return all
}

// plain is a transition in the plain pattern.
type plain[D engine.Document] struct {
	engine.Transition[D]
	coll *mongo.Collection
}

func (p plain[D]) applies() bson.D {
	return bson.D{
		{Key: "phase", Value: bson.D{{Key: "$in", Value: p.From}}},
		{Key: "state", Value: bson.D{{Key: "$in", Value: p.When}}},
	}
}

// moveAll moves all documents that need nothing done.
func (p plain[D]) moveAll(ctx context.Context) error { return p.move(ctx, p.applies()) }

// moveOne claims one document and does its steps, up to the first that waits.
func (p plain[D]) moveOne(ctx context.Context) error {
	doc := reflect.New(reflect.TypeFor[D]().Elem()).Interface().(D) //nolint:forcetypeassert // D is the pointer type
	now := time.Now()
	filter := append(p.applies(), bson.E{Key: "lockedAt", Value: bson.D{{Key: "$lt", Value: now.Add(-engine.DefaultLockTimeout)}}})
	err := p.coll.FindOneAndUpdate(ctx, filter, bson.D{{Key: "$set", Value: bson.D{{Key: "lockedAt", Value: now}}}},
		options.FindOneAndUpdate().SetSort(longestWaiting)).Decode(doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("claim in the plain pattern: %w", err)
	}
	this := bson.D{{Key: "_id", Value: doc.Lifecycle().ID}}
	waits, err := p.steps(ctx, doc)
	if err != nil {
		return err
	}
	if !waits {
		return p.move(ctx, this)
	}
	delay := engine.RelockDelay(now.Sub(doc.Lifecycle().UpdatedAt), engine.DefaultLockTimeout)
	_, err = p.coll.UpdateOne(ctx, this, bson.D{{Key: "$set", Value: bson.D{{Key: "lockedAt", Value: now.Add(delay - engine.DefaultLockTimeout)}}}})
	return err
}

func (p plain[D]) steps(ctx context.Context, doc D) (waits bool, err error) {
	unfenced := engine.NewClaim(engine.RefOf(doc),
		func(ctx context.Context, fields map[string]any) error {
			_, err := p.coll.UpdateByID(ctx, doc.Lifecycle().ID, bson.D{{Key: "$set", Value: fields}})
			return err
		},
		func(context.Context) error { return nil })
	for _, step := range p.Steps {
		outcome, err := step.Run(engine.WithClaim(ctx, unfenced), doc)
		if _, waits := outcome.Waiting(); waits || err != nil {
			return waits, err
		}
	}
	return false, nil
}

// move moves the documents, or removes them at the end of their lives.
func (p plain[D]) move(ctx context.Context, filter bson.D) error {
	var err error
	if p.To == engine.Purged {
		_, err = p.coll.DeleteMany(ctx, filter)
	} else {
		_, err = p.coll.UpdateMany(ctx, filter, bson.D{{Key: "$set", Value: bson.D{
			{Key: "phase", Value: p.To}, {Key: "lockedAt", Value: engine.Epoch}, {Key: "updatedAt", Value: time.Now()},
		}}})
	}
	if err != nil {
		return fmt.Errorf("move in the plain pattern: %w", err)
	}
	return nil
}
