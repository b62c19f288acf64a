package engine

import (
	"context"
	"time"
)

// Store keeps the documents of one kind. Implementations: package mongostore,
// and the in-memory one of package enginetest; both pass the same conformance
// suite.
//
// Time in a store is the database's alone. All methods may be called
// concurrently, and return context errors as they are.
type Store[D Document] interface {
	// Due returns the ids of documents that can be claimed, at most limit:
	// unsettled documents before those that are only resynced. Of the former,
	// those with the nearest expiry come first, then the longest waiting
	// (lockedAt, updatedAt); of the latter, those whose resyncAt is missing, then
	// longest past. It is a read: by the time of the claim the answer may have
	// changed. A limit of zero or less finds nothing.
	Due(ctx context.Context, rules Rules, limit int) ([]string, error)

	// Claim takes those of the requested documents that are still claimable,
	// in one write, and returns them as claimed. Documents that are not
	// claimable (any more) are left out without an error. See [ClaimRequest].
	Claim(ctx context.Context, req ClaimRequest) ([]D, error)

	// Apply makes one change to claimed documents, each only if its claim is
	// still the latest and not ended. It returns the ids of those for which it
	// is not: their lock is lost. See [Change].
	Apply(ctx context.Context, change Change, claims []Ref) (lost []string, err error)

	// Update sets fields (dotted names, values that BSON knows) of a claimed
	// document. It returns [ErrLockLost] if the claim is not the latest any
	// more.
	Update(ctx context.Context, claim Ref, fields map[string]any) error

	// Verify returns [ErrLockLost] if the claim is not the latest any more, or
	// has ended.
	Verify(ctx context.Context, claim Ref) error
}

// Rules say which documents of a kind can be claimed. They are derived from
// the definition ([Definition.Rules]) and also decide which indexes exist.
//
// A document can be claimed by a tick if it is
//
//   - unsettled, and lockedAt < now - LockTimeout;
//   - unsettled, not locked (no lockedBy), and its intent has changed since
//     the latest claim ([Meta.IntentChanged]): nobody waits out the backoff of
//     an intent that is no more;
//   - settled with a resync, lockedAt < now - LockTimeout, and resyncAt is
//     past or missing;
//   - settled with a resync, resyncAt missing (its latest claim did not end in
//     rest), not locked, and its intent has changed since: a terminal error of
//     the intent before ends here too.
//
// A hint ([ClaimRequest.Hinted]) may, beyond that, claim any unsettled or
// resynced document that is not locked and has no attempts counted (it waits,
// or rests, but does not back off), or whose intent has changed.
type Rules struct {
	Kind        string
	LockTimeout time.Duration
	// Unsettled matches every document for which there is work to do.
	Unsettled []Match
	// Resync matches settled documents that are looked at again.
	Resync []Match
}

// Match is a pair of state and phase; an empty one of the two matches all.
type Match struct {
	State State
	Phase Phase
}

// Matches reports whether the match covers the given pair.
func (m Match) Matches(state State, phase Phase) bool {
	return (m.State == "" || m.State == state) && (m.Phase == "" || m.Phase == phase)
}

// ClaimRequest asks for documents by id. A claim sets, at the database's now:
//
//   - lockedAt to now, lockedBy to Holder, lockBatch to Batch, and raises
//     lockToken by one;
//   - phaseAt and createdAt to now where they are missing;
//   - resyncAt to nothing: how the claim ends decides about the next look;
//   - observedState and observedGeneration to state and generation. If they
//     were others before, attempts, lastError, waitingFor and waitingSince are
//     cleared: they belonged to the intent before.
type ClaimRequest struct {
	Rules Rules
	IDs   []string
	// Holder names who claims; Batch is unique to this request.
	Holder, Batch string
	Hinted        bool
}

// Ref is one claim on one document.
type Ref struct {
	ID    string
	Token int64
	Batch string
}

// RefOf returns the claim under which doc was read.
func RefOf(doc Document) Ref {
	m := doc.Lifecycle()
	return Ref{ID: m.ID, Token: m.LockToken, Batch: m.LockBatch}
}

// ChangeKind is what a [Change] does to its documents.
type ChangeKind string

// The kinds of change. All but Checkpoint and Renew end the claim: lockedBy is
// cleared. All but Release and Renew set updatedAt.
const (
	// Move sets phase to To and phaseAt to now, adds a history entry (took:
	// since the old phaseAt), clears step, wait and errors, and unlocks
	// (lockedAt = Epoch). It matches phase From too. resyncAt is set to now +
	// Resync, or cleared. If OneShot names the present state and the intent
	// has not changed since the claim, state and observedState become its To.
	Move ChangeKind = "move"
	// Relock records that Step waits for Reason. waitingSince and stepAt are
	// kept while the step is the same, and set to now otherwise. Attempts and
	// lastError are cleared. lockedAt becomes now - LockTimeout +
	// [RelockDelay] of the wait so far.
	Relock ChangeKind = "relock"
	// Fail records lastError {Step, Message, now, Terminal} and adds one to
	// attempts. stepAt is kept while the step is the same. The wait is
	// cleared. lockedAt becomes now - LockTimeout + Delay, or [Never] if
	// Terminal.
	Fail ChangeKind = "fail"
	// Rest unlocks a settled document: clears step, wait and errors, and sets
	// resyncAt to now + Resync, or clears it.
	Rest ChangeKind = "rest"
	// Release unlocks and changes nothing else.
	Release ChangeKind = "release"
	// Purge removes the document.
	Purge ChangeKind = "purge"
	// Checkpoint records that Step is finished (history entry, took: since
	// stepAt, or since phaseAt if there is none), sets step to Next and stepAt
	// to now, clears the wait, and renews the lock (lockedAt = now).
	Checkpoint ChangeKind = "checkpoint"
	// Renew renews the lock (lockedAt = now).
	Renew ChangeKind = "renew"
)

// Ends reports whether the change ends the claim.
func (k ChangeKind) Ends() bool { return k != Checkpoint && k != Renew }

// Change is one change to a claimed document, as data. Changes that are equal
// are made in one write, whatever number of documents they are for. Fields
// that its kind does not speak of are empty.
type Change struct {
	Kind ChangeKind
	// Holder is the claim's, for the history.
	Holder      string
	LockTimeout time.Duration
	// From and To are the phases of a move; From is the present phase of the
	// other kinds.
	From, To Phase
	// Step waits, failed, or was finished; Next is what a checkpoint goes on to.
	Step, Next string
	// Reason is what a relocked document waits for.
	Reason string
	// Message, Delay and Terminal describe an error.
	Message  string
	Delay    time.Duration
	Terminal bool
	// Resync is when to look again at a document that this change settles;
	// zero is never.
	Resync  time.Duration
	OneShot OneShot
}
