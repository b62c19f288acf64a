package documents

import (
	"context"
	"fmt"
	"maps"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// KindPause keeps all documents of a kind from being claimed, on all replicas:
// each reads what is paused every few seconds. Claims that are held go on to
// their end.
type KindPause struct {
	Kind   resource.Kind `bson:"_id" json:"-"`
	By     string        `bson:"by" json:"by"`
	Reason string        `bson:"reason" json:"reason"`
	At     time.Time     `bson:"at" json:"at"`
}

// PauseKind pauses a kind; one that is paused already gets another reason. What
// is written is known here at once, without reading it again: a pause that holds
// must not be reported as an error.
func (d *Documents) PauseKind(ctx context.Context, kind resource.Kind, by, reason string) error {
	var written KindPause
	err := d.paused.FindOneAndUpdate(ctx, bson.D{{Key: "_id", Value: kind}}, mongo.Pipeline{bson.D{{Key: "$set", Value: bson.D{
		{Key: "by", Value: bson.D{{Key: "$literal", Value: by}}},
		{Key: "reason", Value: bson.D{{Key: "$literal", Value: reason}}},
		{Key: "at", Value: "$$NOW"},
	}}}}, options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&written)
	if err != nil {
		return fmt.Errorf("pause %s: %w", kind, err)
	}
	d.learn(func(pauses map[resource.Kind]KindPause) { pauses[kind] = written })
	return nil
}

// ResumeKind ends the pause of a kind, and reports whether there was one.
func (d *Documents) ResumeKind(ctx context.Context, kind resource.Kind) (was bool, err error) {
	deleted, err := d.paused.DeleteOne(ctx, bson.D{{Key: "_id", Value: kind}})
	if err != nil {
		return false, fmt.Errorf("resume %s: %w", kind, err)
	}
	d.learn(func(pauses map[resource.Kind]KindPause) { delete(pauses, kind) })
	return deleted.DeletedCount > 0, nil
}

// learn changes what is known of pauses.
func (d *Documents) learn(change func(pauses map[resource.Kind]KindPause)) {
	for {
		before := d.pauses.Load()
		after := map[resource.Kind]KindPause{}
		if before != nil {
			maps.Copy(after, *before)
		}
		change(after)
		if d.pauses.CompareAndSwap(before, &after) {
			return
		}
	}
}

// ReadPauses reads which kinds are paused. Until it can, what was read last
// holds.
func (d *Documents) ReadPauses(ctx context.Context) error {
	for {
		before := d.pauses.Load()
		now, err := d.readPauses(ctx)
		if err != nil {
			return fmt.Errorf("read what is paused: %w", err)
		}
		// What was paused or resumed here in the meantime may not have been read.
		if d.pauses.CompareAndSwap(before, &now) {
			return nil
		}
	}
}

func (d *Documents) readPauses(ctx context.Context) (map[resource.Kind]KindPause, error) {
	cursor, err := d.paused.Find(ctx, bson.D{})
	if err != nil {
		return nil, err
	}
	var pauses []KindPause
	if err := cursor.All(ctx, &pauses); err != nil {
		return nil, err
	}
	now := map[resource.Kind]KindPause{}
	for _, p := range pauses {
		now[p.Kind] = p
	}
	return now, nil
}

// PauseOf returns the pause of a kind, as it was read last.
func (d *Documents) PauseOf(kind resource.Kind) (pause KindPause, is bool) {
	if all := d.pauses.Load(); all != nil {
		pause, is = (*all)[kind]
	}
	return pause, is
}
