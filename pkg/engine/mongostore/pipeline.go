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
			field("resyncAt", "$$REMOVE"),
			field("lockedAt", "$$NOW"),
			field("lockedBy", literal(req.Holder)),
			field("lockBatch", literal(req.Batch)),
			field("lockToken", op("$add", orZero("$lockToken"), int64(1))),
			field("phaseAt", orNow("$phaseAt")),
			field("createdAt", orNow("$createdAt")),
			field("observedState", "$state"),
			field("observedGeneration", orZero("$generation")),
		),
	}
}

// changePipeline is what a change writes. A write that ends claims leaves its
// own name in lockBatch, by which it is told afterwards which it ended.
func changePipeline(ch engine.Change, name string) (mongo.Pipeline, error) {
	pipeline, err := effects(ch)
	if ch.Kind.Ends() {
		pipeline = append(pipeline, set(field("lockBatch", literal(name))), unset(bson.A{"lockedBy"}))
	}
	return pipeline, err
}

func effects(ch engine.Change) (mongo.Pipeline, error) {
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
			unset(waitFields, errorFields, stepFields),
		}, nil
	case engine.Release:
		return mongo.Pipeline{set(field("lockedAt", engine.Epoch))}, nil
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
		completes := op("$and", op("$eq", "$state", literal(one.From)), op("$not", intentChanged))
		fields = append(fields,
			field("state", cond(completes, literal(one.To), "$state")),
			field("observedState", cond(completes, literal(one.To), "$observedState")))
	}
	return mongo.Pipeline{set(fields...), unset(waitFields, errorFields, stepFields)}
}

func relockPipeline(ch engine.Change) mongo.Pipeline {
	sameStep := op("$eq", ifNull("$step", ""), literal(ch.Step))
	waited := op("$max", 0, sub("$$NOW", "$waitingSince"))
	timeout := ch.LockTimeout.Milliseconds()
	// The same as engine.RelockDelay, on the database's time.
	delay := cond(
		op("$gt", waited, engine.RelockProgressive.Milliseconds()),
		timeout,
		bson.D{{Key: "$toLong", Value: bson.D{{Key: "$ceil", Value: op("$divide", waited, 10)}}}},
	)
	return mongo.Pipeline{
		set(
			field("waitingSince", cond(sameStep, orNow("$waitingSince"), "$$NOW")),
			field("stepAt", cond(sameStep, orNow("$stepAt"), "$$NOW")),
			field("step", literal(ch.Step)),
			field("waitingFor", literal(ch.Reason)),
			field("updatedAt", "$$NOW"),
		),
		set(field("lockedAt", op("$add", "$$NOW", sub(delay, timeout)))),
		unset(errorFields),
	}
}

func failPipeline(ch engine.Change) mongo.Pipeline {
	var lockedAt any = op("$add", "$$NOW", (ch.Delay - ch.LockTimeout).Milliseconds())
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
	sameStep := op("$eq", ifNull("$step", ""), literal(ch.Step))
	return mongo.Pipeline{
		set(
			field("stepAt", cond(sameStep, orNow("$stepAt"), "$$NOW")),
			field("step", literal(ch.Step)),
			field("attempts", op("$add", orZero("$attempts"), 1)),
			field("updatedAt", "$$NOW"),
			field("lockedAt", lockedAt),
		),
		// A field of its own stage: "$set" of a document merges with the old one.
		unset(bson.A{"lastError"}, waitFields),
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
	return op("$slice", op("$concatArrays", ifNull("$history", bson.A{}), bson.A{entry}), -engine.HistoryLimit)
}

func resyncAt(ch engine.Change) any {
	if ch.Resync <= 0 {
		return "$$REMOVE"
	}
	return op("$add", "$$NOW", ch.Resync.Milliseconds())
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

func ifNull(a, b any) bson.D { return op("$ifNull", a, b) }

func orNow(field string) bson.D { return ifNull(field, "$$NOW") }

func cond(is, then, otherwise any) bson.D {
	return op("$cond", is, then, otherwise)
}
