// Package lease gives work that must be done by one replica at a time its one
// owner: [Elector.Run] runs it only while this replica holds the lease of that
// name. Leases are kept by a [Store]: as documents in MongoDB ([Mongo]) or as
// Lease objects in Kubernetes ([Kubernetes]); both pass the same suite.
//
// # Two clocks that never meet
//
// A holder and its rivals measure the same lease on clocks of their own, and
// neither ever reads a time that the other's clock has written:
//
//	holder  trusts itself for RenewDeadline (10 s), on its monotonic clock,
//	        counted from just before it sent the renewal that succeeded
//	rivals  leave the lease alone for LeaseDuration (15 s), counted from when
//	        the renewal was written: by the database ($$NOW against $$NOW), or
//	        on Kubernetes, whose API server cannot compare times, from when
//	        they first saw it, on their own monotonic clock
//
// A renewal is sent before it is written, and written before it is seen. So a
// holder has stopped at least LeaseDuration - RenewDeadline before a rival can
// begin, however long answers take and whatever the time of day is on any of
// the machines: only clocks that run at different speeds could change that.
//
//	sent      written           sent+10 s          written+15 s
//	 ├── holder trusts itself ──────┤ work cancelled      ├── a rival may begin
//
// # A term
//
// From winning a lease to giving it back is a term. It has a token, higher than
// that of every term before it. During a term three things go on:
//
//   - the work, whose context ends when the term is no longer trusted;
//   - the keeper, which renews every RetryPeriod (2 s) until the work has
//     ended: also after the work was told to stop, because a lease given up
//     before the work is over would let two work at once;
//   - the watchdog, which cancels the work when the trust runs out, even while
//     a renewal hangs.
//
// When the work has ended the lease is released, so that another can begin at
// once. Work that ignores the end of its context is the one thing that no lease
// can protect against; it loses the lease when its process can no longer renew.
//
// # Paused holders
//
// A process that was stopped and goes on cannot know it before its timers have
// fired. Work therefore calls [Check] right before each act that matters: it
// compares with the clock, and costs nothing. Between a check and the act a
// pause is still possible; what is done there must be harmless anyway, by
// preconditions or by the token.
//
// # What can go wrong
//
//	crash                 rivals begin after LeaseDuration
//	shutdown              released when the work has ended; rivals look every
//	                      RetryPeriod
//	store not reachable   the holder's work is cancelled after RenewDeadline;
//	                      nobody begins
//	answer lost           each campaign has an identity of its own (the holder's
//	                      name and random letters), under which it finds itself
//	                      the winner when it asks again
//	late writes           renewing and releasing match the identity; renewing
//	                      also matches the token, or the resourceVersion
//	two replicas, one     the identity tells them apart
//	  name
//	machine suspended     its monotonic clock may have stood still, and Check
//	                      sees nothing; the next renewal finds the lease lost
//	deleted by hand       the holder notices with its next renewal and stops; a
//	                      rival may have begun by then, and tokens begin anew
//
// # Why not client-go's LeaderElector
//
// Its locks (package resourcelock) are what keeps the lease here, so that
// kubectl and others' electors read and respect it, and a test has both compete
// for one. Its loop is not, because it counts its deadline from the answer, not
// from the sending; goes on for the rest of it after it has seen another
// holder; and, asked to release, releases before the work has ended.
package lease
