package engine

import (
	"context"
	"time"
)

// Store keeps the documents of one kind. Implementations: package mongostore,
// and the in-memory one of package enginetest; both pass the same conformance
// suite, which is the contract in full.
//
// Time in a store is the database's alone. All methods may be called
// concurrently, and return [context] errors as they are.
type Store[D Document] interface {
	// Due returns the ids of documents that can be claimed, those with the
	// nearest expiry first, then the longest waiting, at most limit. It is a
	// read: by the time of the claim the answer may have changed.
	Due(ctx context.Context, rules Rules, limit int) ([]string, error)

	// Claim takes those of the requested documents that are still claimable,
	// in one write: sets lockedAt to the database's now, raises each one's
	// lockToken, names the holder. It returns the documents as claimed.
	Claim(ctx context.Context, req ClaimRequest) ([]D, error)

	// Settle applies one change to claimed documents, each only if the claim
	// is still the latest. It returns the ids of those that were not: their
	// lock is lost.
	Settle(ctx context.Context, change Change, claims []Ref) (lost []string, err error)

	// Update sets fields of a claimed document (dotted names, bson values).
	// It returns [ErrLockLost] if the claim is not the latest any more.
	Update(ctx context.Context, claim Ref, fields map[string]any) error

	// Verify returns [ErrLockLost] if the claim is not the latest any more,
	// and otherwise the document's present state.
	Verify(ctx context.Context, claim Ref) (State, error)
}

// Rules say which documents of a kind can be claimed. They are derived from
// the definition ([Definition.Rules]) and also decide which indexes exist.
type Rules struct {
	Kind        string
	LockTimeout time.Duration
	// Unsettled matches every document for which there is work to do.
	Unsettled []Match
	// Resync matches settled documents that are looked at again once their
	// resyncAt has passed.
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

// ClaimRequest asks for documents by id.
type ClaimRequest struct {
	Rules Rules
	IDs   []string
	// Holder names who claims, Batch is unique to this request.
	Holder, Batch string
	// Hinted requests may also take documents that wait (not those that back
	// off after an error), because something has happened to what they wait
	// for.
	Hinted bool
}

// Ref is one claim on one document.
type Ref struct {
	ID    string
	Token int64
	Batch string
}

// ChangeKind is what a [Change] does to its documents.
type ChangeKind string

// The kinds of change. All but Checkpoint and Renew end the claim.
const (
	// Move changes the phase and unlocks.
	Move ChangeKind = "move"
	// Relock ends a claim in a wait: claimable again after a delay that grows
	// with the wait.
	Relock ChangeKind = "relock"
	// Fail ends a claim in an error: claimable again after Delay, or, if
	// Terminal, once the intent changes.
	Fail ChangeKind = "fail"
	// Rest ends a claim on a settled document that needs nothing more.
	Rest ChangeKind = "rest"
	// Release gives a claim back untouched.
	Release ChangeKind = "release"
	// Purge removes the document.
	Purge ChangeKind = "purge"
	// Checkpoint records a finished step and renews the lock.
	Checkpoint ChangeKind = "checkpoint"
	// Renew renews the lock.
	Renew ChangeKind = "renew"
)

// Change is one change to a claimed document, as data. Changes that are equal
// are made in one write, whatever number of documents they are for.
type Change struct {
	Kind        ChangeKind
	Holder      string
	LockTimeout time.Duration
	// From and To are the phases of a move; From is the present phase
	// otherwise.
	From, To Phase
	// Step is the step that waits or failed, or that a checkpoint finished;
	// Next is the one that the checkpoint goes on to.
	Step, Next string
	// Reason is what a relocked document waits for.
	Reason string
	// Message, Delay and Terminal describe an error.
	Message  string
	Delay    time.Duration
	Terminal bool
	// Resync is when to look again at a document that is settled by this
	// change; zero is never.
	Resync time.Duration
	// OneShot is the intent that a move completes, if any.
	OneShot OneShot
}
