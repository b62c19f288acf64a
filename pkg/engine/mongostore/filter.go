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
// now. Each is served by the partial indexes of [Store.EnsureIndexes].
func dueQueries(rules engine.Rules, now time.Time) []query {
	expired := bson.E{Key: "lockedAt", Value: bson.D{{Key: "$lt", Value: now.Add(-rules.LockTimeout)}}}
	var queries []query
	if len(rules.Unsettled) > 0 {
		queries = append(queries,
			query{
				filter: anyMatch(rules.Unsettled, expired),
				sort:   bson.D{{Key: "lockedAt", Value: 1}, {Key: "updatedAt", Value: 1}},
			},
			query{
				filter: anyMatch(rules.Unsettled, bson.E{Key: "lockedBy", Value: nil}, bson.E{Key: "$expr", Value: intentChanged}),
				sort:   bson.D{{Key: "updatedAt", Value: 1}},
			})
	}
	if len(rules.Resync) > 0 {
		past := bson.E{Key: "resyncAt", Value: bson.D{{Key: "$lte", Value: now}}}
		missing := bson.E{Key: "resyncAt", Value: nil}
		byAge := bson.D{{Key: "resyncAt", Value: 1}}
		queries = append(queries,
			query{filter: anyMatch(rules.Resync, past, expired), sort: byAge},
			query{filter: anyMatch(rules.Resync, missing, expired), sort: byAge})
	}
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
var intentChanged = bson.D{{Key: "$or", Value: bson.A{
	bson.D{{Key: "$ne", Value: bson.A{"$state", "$observedState"}}},
	bson.D{{Key: "$ne", Value: bson.A{
		orZero("$generation"), orZero("$observedGeneration"),
	}}},
}}}

// orZero is a number that counts as zero where it is missing.
func orZero(field string) bson.D {
	return bson.D{{Key: "$ifNull", Value: bson.A{field, int64(0)}}}
}

// claimFilter is the whole predicate of a claim ([engine.Rules]), on the
// database's time.
func claimFilter(req engine.ClaimRequest) bson.D {
	rules := req.Rules
	timeout := rules.LockTimeout.Milliseconds()
	expired := bson.D{{Key: "$lt", Value: bson.A{"$lockedAt", sub("$$NOW", timeout)}}}
	unlocked := bson.E{Key: "lockedBy", Value: nil}
	changed := bson.E{Key: "$expr", Value: intentChanged}

	clauses := bson.A{
		anyMatch(rules.Unsettled, bson.E{Key: "$expr", Value: expired}),
		anyMatch(rules.Unsettled, unlocked, changed),
	}
	if len(rules.Resync) > 0 {
		due := bson.D{{Key: "$and", Value: bson.A{expired, bson.D{{Key: "$lte", Value: bson.A{
			bson.D{{Key: "$ifNull", Value: bson.A{"$resyncAt", "$$NOW"}}}, "$$NOW",
		}}}}}}
		clauses = append(clauses, anyMatch(rules.Resync, bson.E{Key: "$expr", Value: due}))
	}
	if req.Hinted {
		all := append(append([]engine.Match{}, rules.Unsettled...), rules.Resync...)
		calm := bson.E{Key: "attempts", Value: bson.D{{Key: "$in", Value: bson.A{nil, 0}}}}
		clauses = append(clauses, anyMatch(all, unlocked, calm), anyMatch(all, unlocked, changed))
	}
	return bson.D{{Key: "_id", Value: in(req.IDs)}, {Key: "$or", Value: clauses}}
}

// heldFilter matches the claimed documents whose claim is still the latest and
// not ended. The batch stands for the tokens of all that one write claimed.
func heldFilter(ch engine.Change, claims []engine.Ref) bson.D {
	byBatch := map[string][]string{}
	for _, c := range claims {
		byBatch[c.Batch] = append(byBatch[c.Batch], c.ID)
	}
	common := bson.D{{Key: "lockedBy", Value: ch.Holder}}
	if ch.Kind == engine.Move {
		common = append(common, bson.E{Key: "phase", Value: ch.From})
	}
	if len(claims) == 1 {
		return append(claimFilterByRef(claims[0]), common...)
	}
	var branches bson.A
	for batch, ids := range byBatch {
		branches = append(branches, append(bson.D{{Key: "_id", Value: in(ids)}, {Key: "lockBatch", Value: batch}}, common...))
	}
	if len(branches) == 1 {
		return branches[0].(bson.D) //nolint:forcetypeassert // made two lines above
	}
	return bson.D{{Key: "_id", Value: in(idsOf(claims))}, {Key: "$or", Value: branches}}
}

// claimFilterByRef matches one document if the claim is the latest and live.
func claimFilterByRef(claim engine.Ref) bson.D {
	return bson.D{
		{Key: "_id", Value: claim.ID},
		{Key: "lockToken", Value: claim.Token},
		{Key: "lockBatch", Value: claim.Batch},
		{Key: "lockedBy", Value: bson.D{{Key: "$gt", Value: ""}}},
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

func sub(a, b any) bson.D { return bson.D{{Key: "$subtract", Value: bson.A{a, b}}} }
