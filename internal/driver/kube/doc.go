// Package kube drives one Kubernetes cluster: a region's. It applies, observes
// and deletes the objects of gateways, and fences every write, so that a
// holder which has outlived its claim cannot undo what its successor did.
//
// # Fencing
//
// A claim has a token, and each claim of a document has a higher one than the
// claims before it. Every object carries its owner (kind, id, gateway) and two
// tokens as annotations:
//
//   - lockstep.io/token: the newest claim that wrote to the object or
//     announced that it will ([resource.AnnotationToken]);
//   - lockstep.io/applied-token: the claim that finished its write last.
//
// Equal tokens mean "sealed": nobody is in the middle of anything. An object
// whose tokens differ is "staked".
//
// An update or a delete of something that exists takes these steps:
//
//	look     live GET; a newer token there: [ErrStale]
//	stake    patch token = mine, applied-token removed; precondition: the
//	         resourceVersion and UID of the look
//	verify   owner.Verify: is the claim still the document's?
//	write    server-side apply (token = applied-token = mine), or delete;
//	         precondition: the resourceVersion and UID of the stake
//
// A conflict at any of them leads back to the look, a bounded number of times.
//
// When the look finds what is wanted already, on a sealed object, nothing is
// written: neither content nor a newer token. That this is enough is not
// obvious. Consider a holder Z whose claim has ended (its process was stopped,
// and goes on), and its successor S with a newer token, who has looked,
// found everything as wanted and reported "done". Z wants something else. Can
// Z's write still land?
//
//   - Z's stake lands before S's look: S sees a staked object and writes (it
//     seals it with its own token). That changes the resourceVersion, so
//     Z's write conflicts; Z looks again and finds a newer token.
//   - Z's stake lands after S's look: S was claimed before it looked, so Z's
//     verify, which follows Z's stake, finds the claim lost.
//
// In neither case does it land. Without the stake there would be a third: Z
// looks and verifies, S looks and is content, Z writes with the precondition
// of its look, which still holds as S changed nothing. The other remedy would
// be that every claim raises the token of every object it looks at: a write
// for every object on every tick and resync, to guard against the rare. Here
// only real changes cost an extra patch, and an unchanged object costs one GET.
//
// A create cannot be staked, as there is nothing to stake. The object is
// created unsealed; verify follows; if it fails, the object is removed again
// (UID and resourceVersion of what was created, and only as long as no one has
// put a token of their own on it). A successor who finds the unsealed object
// and wants it as it is seals it, so that this removal does not take it away.
// In the life of an object that costs one small patch.
//
// A document's tokens only rise while it exists. A document that is removed and
// made again under the same _id begins anew; its objects were observed gone
// before the document was removed, so no old token is left to disagree with.
//
// # Absence
//
// Only a typed NotFound of that very object is absence. A 404 that the API
// server gives because it does not know the path (the CRD is missing, a proxy
// answers) is an error, and so are Forbidden, timeouts and 5xx. The cache is
// never proof of absence: [Client.Observe] confirms it by a live GET.
package kube
