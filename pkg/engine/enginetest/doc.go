// Package enginetest tests what is written on package engine: stores, kinds,
// and the engine itself.
//
// # A store in memory
//
// [MemStore] is an [engine.Store] without a database, for any document type.
// It keeps documents as BSON and has one clock, the database's, which the test
// gives it. Under testing/synctest that is time.Now:
//
//	synctest.Test(t, func(t *testing.T) {
//		store := enginetest.NewMemStore[*Order](time.Now)
//		store.Insert(ctx, &Order{Meta: engine.Meta{ID: "1", State: "Shipped", Phase: "New"}})
//		...
//	})
//
// The user's side of it (Insert, Get, All, SetState, SetFields, Delete) stands
// for the API and for people in mongosh. What a claim and each kind of change
// do to a document is in memstore_rules.go, as short pure functions: the
// shortest way to see what the documentation of [engine.Store] means.
//
// # Failures
//
// [WithHooks] wraps any store: a hook before an operation keeps it from being
// made, a hook after it keeps the caller from learning that it was, and either
// may block. Replicas that share a store may each have hooks of their own.
//
// # The conformance suite
//
// [Conformance] checks that a store does what [engine.Store] promises. The
// in-memory store and the one on MongoDB run the same suite, so that what is
// tested on the one holds for the other. A store is opened for each test:
//
//	func TestConformance(t *testing.T) {
//		enginetest.Conformance(t, func(t *testing.T) enginetest.Harness {
//			coll := newCollection(t)
//			return enginetest.Harness{Store: mystore.New[*enginetest.Widget](coll), Users: users{coll}}
//		})
//	}
//
// Where a test guards against a hole of the plain lock pattern (a holder that
// outlives its lock, a wait that starves others, ...) its comment says which.
package enginetest
