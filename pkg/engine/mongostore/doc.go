// Package mongostore keeps the engine's documents in MongoDB, or in a server
// that speaks its protocol.
//
// It needs what MongoDB 5.0 and DocumentDB both have: findOneAndUpdate,
// updates by aggregation pipeline, $$NOW, $expr and partial indexes. It uses
// neither transactions nor change streams, and never takes the answer to an
// upsert for "I was first": servers differ there.
//
// # Time
//
// Every time in a document is written by the server, as $$NOW, and every
// comparison that a claim rests on is made by the server against $$NOW, within
// the claiming write. The read that only looks for candidates compares with a
// time that was asked of the server a little earlier, because a constant can
// be looked up in an index where $$NOW cannot; it may miss a document for a
// moment, and never decides anything.
//
// # Indexes
//
// [Store.EnsureIndexes] creates one small partial index for each match of the
// rules, over exactly the documents that are unsettled (or resynced) in that
// way. A document that is settled is in none of the former, so that looking
// for work costs the same whatever number of documents are settled. Partial
// filters here are equalities joined by "and", which is what MongoDB 5.0 and
// DocumentDB can do; the query is one $or, each branch of which is served by
// its own index.
//
// # Claims in sets
//
// One document is claimed by findOneAndUpdate; several by one updateMany with
// the same filter and the same pipeline, followed by a read of what it took.
// Each write is atomic per document, and re-checks the whole predicate.
package mongostore
