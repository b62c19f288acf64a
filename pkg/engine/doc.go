// Package engine moves MongoDB documents through ordered, resumable steps, on
// any number of replicas at once, without a leader, without transactions, and
// without two holders ever acting on one document.
//
// # The model
//
// A document has a [State], which is what the user wants, and a [Phase], which
// is how far the system has come. A [Definition] says as data which phases
// there are, where a document rests, and which [Transition] moves it from one
// phase to the next by which [Step]s. A [Service] runs a definition on one
// replica:
//
//	               ┌──────── tick, hint ────────┐
//	               ▼                            │
//	 Due ──► Claim ──► steps, in order ──► Apply (one write that ends the claim)
//	(read)  (token+1)   │         │             │
//	                    │ waits   │ fails       ├─ move:   next phase, unlocked
//	                    │         │             ├─ relock: again after a tenth of the wait
//	                    └─────────┴────────────►├─ fail:   again after a backoff, or never
//	                                            └─ purge:  the document is removed
//
// A step looks before it acts, so it can be run again at any time: after a
// crash the next holder runs all steps from the first, and those that are
// finished cost a look. A step that is done is recorded (a checkpoint), for
// people and for history; nothing is skipped because of it.
//
// # The claim
//
// A claim is one atomic write that sets lockedAt to the database's time where
// lockedAt < now - lockTimeout, and raises the document's fencing token. Every
// later write of that claim matches the token, so a holder that was paused for
// longer than its lock cannot write over its successor: it is told
// [ErrLockLost].
//
// A refused write is too late to keep such a holder from acting on something
// else, a cluster say. Therefore a holder does not rely on its lock until the
// moment that it expires, but only within its trust window, which it measures
// on its own monotonic clock:
//
//	claim sent      lock set                    window closes        lock expires
//	    ├──────────────┼──── … ────────────────────────┤── margin ────────┤
//	    └─────────────── the step's context ───────────┘                  └─► others may claim
//
// The window begins before the lock does and is shorter, so it closes first,
// whatever the clocks show. When it closes, the context of the step ends. While
// a step runs, the lock is renewed each third of its timeout, and each renewal
// moves the window to when it was sent.
//
// What is left is a call that was on its way when its sender was paused. For
// that, a step gives the token to what it drives ([ClaimOf]), and lets it
// refuse older ones.
//
// # Failure cases
//
//   - The holder dies: its lock expires, and the next holder begins again at
//     the first step. The delay is at most the lock timeout.
//   - The holder is paused, or its machine's clock jumps: the window closes by
//     the monotonic clock; if the pause itself outlasted the lock, every write
//     is refused, and the step's context has ended.
//   - The database cannot be reached: renewals fail, the window closes, the work
//     is cancelled. Nothing has to be cleaned up.
//   - An answer is lost: a claim that nobody knows of expires; a change that is
//     sent again is refused, because the claim has ended by it.
//   - The user changes their mind while a document waits or backs off: the
//     intent differs from the observed one, and the next tick claims it.
//   - All hints are lost: the tick finds everything.
//
// # Time
//
// All times in documents are the database's. A [Service] only ever compares
// readings of its own monotonic clock with each other, so replicas whose wall
// clocks are ten minutes apart behave the same.
//
// # Throughput
//
// One fetcher per service asks for work, at each tick and hint, and claims in
// batches: one sorted read finds many documents, one write claims as many as
// the workers will soon begin with. Changes that are equal are made in one
// write, as in a database's group commit. With little to do, each document is
// claimed and changed at once.
//
// # Using it
//
// The example shows a whole kind. On MongoDB, the store is
// mongostore.New[*Order](collection), and Store.EnsureIndexes creates what its
// queries need; package enginetest has one in memory. [Definition.Explain]
// tells people what a document waits for, [Definition.Diagram] draws the kind,
// and an [Observer] counts.
package engine
