package mongostore

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// The fields that describe a wait, an error, and the step in hand.
var (
	waitFields  = bson.A{"waitingFor", "waitingSince"}
	errorFields = bson.A{"attempts", "lastError"}
	stepFields  = bson.A{"step", "stepAt"}
)

// claimPipeline is what a claim writes.
func claimPipeline(req engine.ClaimRequest) mongo.Pipeline {
	keepUnlessChanged := func(field string) bson.D {
		return cond(intentChanged, "$$REMOVE", "$"+field)
	}
	return mongo.Pipeline{
		set(
			field("attempts", keepUnlessChanged("attempts")),
			field("lastError", keepUnlessChanged("lastError")),
			field("waitingFor", keepUnlessChanged("waitingFor")),
			field("waitingSince", keepUnlessChanged("waitingSince")),
			field("lockedAt", "$$NOW"),
			field("lockedBy", literal(req.Holder)),
			field("lockBatch", literal(req.Batch)),
			field("lockToken", bson.D{{Key: "$add", Value: bson.A{orZero("$lockToken"), int64(1)}}}),
			field("phaseAt", orNow("$phaseAt")),
			field("createdAt", orNow("$createdAt")),
			field("observedState", "$state"),
			field("observedGeneration", orZero("$generation")),
		),
	}
}

// changePipeline is what a change writes.
func changePipeline(ch engine.Change) (mongo.Pipeline, error) {
	switch ch.Kind {
	case engine.Move:
		return movePipeline(ch), nil
	case engine.Relock:
		return relockPipeline(ch), nil
	case engine.Fail:
		return failPipeline(ch), nil
	case engine.Rest:
		return mongo.Pipeline{
			set(field("lockedAt", engine.Epoch), field("updatedAt", "$$NOW"), field("resyncAt", resyncAt(ch))),
			unset(waitFields, errorFields, stepFields, bson.A{"lockedBy"}),
		}, nil
	case engine.Release:
		return mongo.Pipeline{set(field("lockedAt", engine.Epoch)), unset(bson.A{"lockedBy"})}, nil
	case engine.Checkpoint:
		return mongo.Pipeline{
			set(
				field("history", pushHistory(ch, ch.From, ch.Step, ifNull("$stepAt", orNow("$phaseAt")))),
				field("step", literal(ch.Next)), field("stepAt", "$$NOW"),
				field("lockedAt", "$$NOW"), field("updatedAt", "$$NOW"),
			),
			unset(waitFields),
		}, nil
	case engine.Renew:
		return mongo.Pipeline{set(field("lockedAt", "$$NOW"))}, nil
	}
	return nil, fmt.Errorf("a change of kind %q cannot be written as an update", ch.Kind)
}

func movePipeline(ch engine.Change) mongo.Pipeline {
	fields := []bson.E{
		field("history", pushHistory(ch, ch.To, "", orNow("$phaseAt"))),
		field("phase", literal(ch.To)), field("phaseAt", "$$NOW"),
		field("lockedAt", engine.Epoch), field("updatedAt", "$$NOW"),
		field("resyncAt", resyncAt(ch)),
	}
	if one := ch.OneShot; one != (engine.OneShot{}) {
		completes := bson.D{{Key: "$and", Value: bson.A{
			bson.D{{Key: "$eq", Value: bson.A{"$state", literal(one.From)}}},
			bson.D{{Key: "$not", Value: bson.A{intentChanged}}},
		}}}
		fields = append(fields,
			field("state", cond(completes, literal(one.To), "$state")),
			field("observedState", cond(completes, literal(one.To), "$observedState")))
	}
	return mongo.Pipeline{set(fields...), unset(waitFields, errorFields, stepFields, bson.A{"lockedBy"})}
}

func relockPipeline(ch engine.Change) mongo.Pipeline {
	sameStep := bson.D{{Key: "$eq", Value: bson.A{ifNull("$step", ""), literal(ch.Step)}}}
	waited := sub("$$NOW", "$waitingSince")
	timeout := ch.LockTimeout.Milliseconds()
	// The same as engine.RelockDelay, on the database's time.
	delay := cond(
		bson.D{{Key: "$gt", Value: bson.A{waited, engine.RelockProgressive.Milliseconds()}}},
		timeout,
		bson.D{{Key: "$toLong", Value: bson.D{{Key: "$ceil", Value: bson.D{{Key: "$divide", Value: bson.A{waited, 10}}}}}}},
	)
	return mongo.Pipeline{
		set(
			field("waitingSince", cond(sameStep, orNow("$waitingSince"), "$$NOW")),
			field("stepAt", cond(sameStep, orNow("$stepAt"), "$$NOW")),
			field("step", literal(ch.Step)),
			field("waitingFor", literal(ch.Reason)),
			field("updatedAt", "$$NOW"),
		),
		set(field("lockedAt", bson.D{{Key: "$add", Value: bson.A{"$$NOW", sub(delay, timeout)}}})),
		unset(errorFields, bson.A{"lockedBy"}),
	}
}

func failPipeline(ch engine.Change) mongo.Pipeline {
	var lockedAt any = bson.D{{Key: "$add", Value: bson.A{"$$NOW", (ch.Delay - ch.LockTimeout).Milliseconds()}}}
	if ch.Terminal {
		lockedAt = engine.Never
	}
	lastError := bson.D{
		{Key: "step", Value: literal(ch.Step)},
		{Key: "message", Value: literal(ch.Message)},
		{Key: "at", Value: "$$NOW"},
	}
	if ch.Terminal {
		lastError = append(lastError, bson.E{Key: "terminal", Value: literal(true)})
	}
	sameStep := bson.D{{Key: "$eq", Value: bson.A{ifNull("$step", ""), literal(ch.Step)}}}
	return mongo.Pipeline{
		set(
			field("stepAt", cond(sameStep, orNow("$stepAt"), "$$NOW")),
			field("step", literal(ch.Step)),
			field("attempts", bson.D{{Key: "$add", Value: bson.A{orZero("$attempts"), 1}}}),
			field("updatedAt", "$$NOW"),
			field("lockedAt", lockedAt),
		),
		// A field of its own stage: "$set" of a document merges with the old one.
		unset(bson.A{"lastError"}, waitFields, bson.A{"lockedBy"}),
		set(field("lastError", lastError)),
	}
}

// pushHistory appends an entry and keeps the latest.
func pushHistory(ch engine.Change, to engine.Phase, step string, since any) bson.D {
	entry := bson.D{{Key: "from", Value: literal(ch.From)}, {Key: "to", Value: literal(to)}}
	if step != "" {
		entry = append(entry, bson.E{Key: "step", Value: literal(step)})
	}
	entry = append(entry,
		bson.E{Key: "by", Value: literal(ch.Holder)},
		bson.E{Key: "at", Value: "$$NOW"},
		bson.E{Key: "took", Value: sub("$$NOW", since)})
	all := bson.D{{Key: "$concatArrays", Value: bson.A{ifNull("$history", bson.A{}), bson.A{entry}}}}
	return bson.D{{Key: "$slice", Value: bson.A{all, -engine.HistoryLimit}}}
}

func resyncAt(ch engine.Change) any {
	if ch.Resync <= 0 {
		return "$$REMOVE"
	}
	return bson.D{{Key: "$add", Value: bson.A{"$$NOW", ch.Resync.Milliseconds()}}}
}

func set(fields ...bson.E) bson.D { return bson.D{{Key: "$set", Value: bson.D(fields)}} }

func unset(fields ...bson.A) bson.D {
	var all bson.A
	for _, f := range fields {
		all = append(all, f...)
	}
	return bson.D{{Key: "$unset", Value: all}}
}

func field(name string, value any) bson.E { return bson.E{Key: name, Value: value} }

// literal keeps a string that begins with "$" from being read as a field.
func literal(v any) bson.D { return bson.D{{Key: "$literal", Value: v}} }

func ifNull(a, b any) bson.D { return bson.D{{Key: "$ifNull", Value: bson.A{a, b}}} }

func orNow(field string) bson.D { return ifNull(field, "$$NOW") }

func cond(is, then, otherwise any) bson.D {
	return bson.D{{Key: "$cond", Value: bson.A{is, then, otherwise}}}
}
