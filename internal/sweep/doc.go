// Package sweep finds what has lost its owner, and reports or removes it: what
// no document's lifecycle would ever dismantle.
//
// # What is an orphan
//
//	document   a child (RuntimeDomain, Stage, …) whose ApiGateway document is gone
//	object     a managed Kubernetes object whose owning document is gone; where
//	           that document is an orphan itself, its own service dismantles the
//	           object, and the sweeper leaves it alone
//	database   a gateway's database, or its user, on a region's MongoDB server,
//	           whose ApiGateway document is gone
//
// # Why it is safe to remove one
//
// A gateway's id is never given out twice: each is kept in the collection
// ReservedId for good. So a gateway that is gone is gone for ever, unless an
// operator adopts it, and nobody else is about to make what the sweeper removes.
// The same collection tells our gateways from those of another installation on
// the same cluster or server, and from those made after the backup that this
// database was restored from: what has an id that was never given out here is
// reported and never removed.
//
// Absence must be said by the database, and more than once: a look that cannot
// read something is an error and finds nothing there; [Sweeper.Find] looks twice
// and keeps what it finds both times; and right before each removal the document
// is asked for again ([kube.Client.Delete] does so between staking the object
// and deleting it). Deletes carry the UID and resourceVersion of what was looked
// at. A sweeper that was paused and goes on finds that its lease is over
// ([lease.Check]), or that the document is back, or that its precondition fails.
//
// Three more brakes: everything of a gateway is left alone while something of it
// is younger than a minute, by the database's time (API servers stamp objects
// with their own; this is courtesy, not safety); what belongs to a region that
// could not be read completely is left alone, because an earlier stage of it
// might be there unseen; and a report about more gateways than a limit is not
// acted on, because that is not a leak but a lost collection.
//
// # In which order
//
// As in a gateway's own deletion: traffic first, then pods, then data, then what
// holds them. A stage is begun when all of the one before has been seen to be
// gone, by the next pass if need be:
//
//	children with a task service (asked to be Deleted), routes and consumers,
//	instance, database, leaf documents, secrets and config maps, namespace
package sweep
