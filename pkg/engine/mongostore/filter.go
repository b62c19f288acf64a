package mongostore

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// query is a read for candidates.
type query struct {
	filter bson.D
	sort   bson.D
}

// dueQueries are the reads that together find what a tick can claim, as of
// now, in the order in which it is to be claimed. Each is served by the partial
// indexes of [Store.EnsureIndexes], and all are needed: DocumentDB does not use
// the indexes for an $or of conditions on different fields.
func dueQueries(rules engine.Rules, now time.Time) []query {
	before := bson.D{{Key: "$lt", Value: now.Add(-rules.LockTimeout)}}
	expired := bson.E{Key: "lockedAt", Value: before}
	notExpired := bson.E{Key: "lockedAt", Value: bson.D{{Key: "$not", Value: before}}}
	var queries []query
	find := func(matches []engine.Match, sort bson.D, conditions ...bson.E) {
		if len(matches) > 0 {
			queries = append(queries, query{anyMatch(matches, conditions...), sort})
		}
	}
	byExpiry := bson.D{{Key: "lockedAt", Value: 1}, {Key: "updatedAt", Value: 1}}
	find(rules.Unsettled, byExpiry, expired)
	find(rules.Unsettled, byExpiry, notExpired, bson.E{Key: "lockedBy", Value: nil}, bson.E{Key: "$expr", Value: intentChanged})

	byResync := bson.D{{Key: "resyncAt", Value: 1}}
	find(rules.Resync, byResync, expired, bson.E{Key: "resyncAt", Value: nil})
	find(rules.Resync, byResync, notExpired, bson.E{Key: "resyncAt", Value: nil},
		bson.E{Key: "lockedBy", Value: nil}, bson.E{Key: "$expr", Value: intentChanged})
	find(rules.Resync, byResync, expired, bson.E{Key: "resyncAt", Value: bson.D{{Key: "$lte", Value: now}}})
	return queries
}

// anyMatch is the $or of the matches, each with the given conditions: every
// branch stands alone, so that each can be served by an index of its own.
func anyMatch(matches []engine.Match, conditions ...bson.E) bson.D {
	branches := make(bson.A, len(matches))
	for i, m := range matches {
		branches[i] = append(pair(m), conditions...)
	}
	return bson.D{{Key: "$or", Value: branches}}
}

// pair is a match as a filter.
func pair(m engine.Match) bson.D {
	var d bson.D
	if m.State != "" {
		d = append(d, bson.E{Key: "state", Value: m.State})
	}
	if m.Phase != "" {
		d = append(d, bson.E{Key: "phase", Value: m.Phase})
	}
	return d
}

// intentChanged is true where nobody has acted on the present intent yet.
var intentChanged = op("$or",
	op("$ne", "$state", "$observedState"),
	op("$ne", orZero("$generation"), orZero("$observedGeneration")))

// orZero is a number that counts as zero where it is missing.
func orZero(field string) bson.D {
	return bson.D{{Key: "$ifNull", Value: bson.A{field, int64(0)}}}
}

// claimFilter is the whole predicate of a claim ([engine.Rules]), on the
// database's time. It is one expression: DocumentDB does not know $$NOW in an
// $expr below an $or of the filter once partial indexes exist.
func claimFilter(req engine.ClaimRequest) bson.D {
	rules := req.Rules
	unsettled, resynced := isAny(rules.Unsettled), isAny(rules.Resync)
	expired := op("$lt", "$lockedAt", sub("$$NOW", rules.LockTimeout.Milliseconds()))
	// A missing field sorts before null, and null before all strings.
	unlocked := op("$lte", "$lockedBy", nil)

	claimable := bson.A{
		op("$and", unsettled, expired),
		op("$and", unsettled, unlocked, intentChanged),
		op("$and", resynced, expired, op("$lte", orNow("$resyncAt"), "$$NOW")),
		op("$and", resynced, unlocked, intentChanged, op("$lte", "$resyncAt", nil)),
	}
	if req.Hinted {
		calm := op("$eq", orZero("$attempts"), 0)
		claimable = append(claimable,
			op("$and", op("$or", unsettled, resynced), unlocked, op("$or", calm, intentChanged)))
	}
	return bson.D{{Key: "_id", Value: in(req.IDs)}, {Key: "$expr", Value: op("$or", claimable...)}}
}

// isAny is true where one of the matches does.
func isAny(matches []engine.Match) any {
	if len(matches) == 0 {
		return false
	}
	branches := make(bson.A, len(matches))
	for i, m := range matches {
		equal := bson.A{}
		for _, f := range pair(m) {
			equal = append(equal, op("$eq", "$"+f.Key, literal(f.Value)))
		}
		branches[i] = op("$and", equal...)
	}
	return op("$or", branches...)
}

// heldFilter matches the claimed documents whose claim is still the latest and
// not ended. The batch stands for the tokens of all that one write claimed.
func heldFilter(ch engine.Change, claims []engine.Ref) bson.D {
	byBatch := map[string][]string{}
	for _, c := range claims {
		byBatch[c.Batch] = append(byBatch[c.Batch], c.ID)
	}
	// The $expr says nothing. Without one in its filter, DocumentDB does not
	// know $$NOW in the pipeline of an update of many documents.
	common := bson.D{{Key: "$expr", Value: true}}
	if ch.Kind == engine.Move {
		common = append(common, bson.E{Key: "phase", Value: ch.From})
	}
	if len(claims) == 1 {
		return append(claimFilterByRef(claims[0]), common...)
	}
	var branches bson.A
	for batch, ids := range byBatch {
		branch := bson.D{{Key: "_id", Value: in(ids)}, {Key: "lockBatch", Value: batch}}
		if len(byBatch) == 1 {
			return append(append(branch, live), common...)
		}
		branches = append(branches, branch)
	}
	return append(bson.D{{Key: "_id", Value: in(idsOf(claims))}, live, {Key: "$or", Value: branches}}, common...)
}

// live is true of a claim that has not ended.
var live = bson.E{Key: "lockedBy", Value: bson.D{{Key: "$gt", Value: ""}}}

// claimFilterByRef matches one document if the claim is the latest and live.
func claimFilterByRef(claim engine.Ref) bson.D {
	return bson.D{
		{Key: "_id", Value: claim.ID},
		{Key: "lockToken", Value: claim.Token},
		{Key: "lockBatch", Value: claim.Batch},
		live,
	}
}

// in matches any of the ids; a single one as an equality, which servers look
// up faster.
func in(ids []string) any {
	if len(ids) == 1 {
		return ids[0]
	}
	return bson.D{{Key: "$in", Value: ids}}
}

// op is an operator of the aggregation language on its arguments.
func op(name string, args ...any) bson.D { return bson.D{{Key: name, Value: bson.A(args)}} }

func sub(a, b any) bson.D { return op("$subtract", a, b) }
