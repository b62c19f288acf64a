package engine

import "time"

// State is what the user wants of a document. Only the API, or a person in
// mongosh, writes it; the engine reads it.
type State string

// Phase is how far the system has come with a document. Only the engine
// writes it.
type Phase string

// Purged is the target of a transition that ends a document's life: instead of
// moving to another phase, the document is removed from the store.
const Purged Phase = "Purged"

// Epoch is the value of lockedAt that means "unlocked": always claimable. New
// documents start with it.
var Epoch = time.Unix(0, 0).UTC()

// Never is the value of lockedAt that means "not claimable until the intent
// changes": where a terminal error leaves a document.
var Never = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// Document is a MongoDB document that the engine moves. Embed [Meta] in a
// struct to make its pointer a Document:
//
//	type Order struct {
//		engine.Meta `bson:",inline"`
//		Customer    string `bson:"customer"`
//	}
type Document interface {
	Lifecycle() *Meta
}

// Meta holds the fields through which the engine moves a document. They stand
// at the top level of the document in MongoDB, under these names, because they
// are how operators debug in mongosh.
//
// All times are the database's; no clock of a replica is ever written here.
type Meta struct {
	// ID is the document's identity. Kinds choose readable ones.
	ID string `bson:"_id" json:"id"`

	// State is the intent; Generation rises by one with every change of intent
	// (state or settings) that the API makes.
	State      State `bson:"state" json:"state"`
	Generation int64 `bson:"generation" json:"generation"`

	// Phase is how far the document has come, PhaseAt when it got there.
	// Deadlines count from PhaseAt, which nothing but a change of phase moves.
	Phase   Phase     `bson:"phase" json:"phase"`
	PhaseAt time.Time `bson:"phaseAt,omitempty" json:"phaseAt,omitzero"`

	// Step is the step of the current transition that is being worked at or
	// waited for, StepAt when it was first reached.
	Step   string    `bson:"step,omitempty" json:"step,omitempty"`
	StepAt time.Time `bson:"stepAt,omitempty" json:"stepAt,omitzero"`

	// WaitingFor says in words what the step waits for, WaitingSince when it
	// began to wait. Progressive backoff grows with the wait.
	WaitingFor   string    `bson:"waitingFor,omitempty" json:"waitingFor,omitempty"`
	WaitingSince time.Time `bson:"waitingSince,omitempty" json:"waitingSince,omitzero"`

	// ObservedState and ObservedGeneration are the intent that the latest claim
	// acted for. Where they differ from State and Generation, the user has
	// changed their mind since, and no wait or backoff delays the next claim.
	ObservedState      State `bson:"observedState,omitempty" json:"observedState,omitempty"`
	ObservedGeneration int64 `bson:"observedGeneration,omitempty" json:"observedGeneration,omitempty"`

	// LockedAt is when the document was claimed. It is claimable when
	// LockedAt < now - lockTimeout; [Epoch] is "unlocked", [Never] "failed".
	LockedAt time.Time `bson:"lockedAt" json:"lockedAt"`
	// LockedBy names the holder of a live claim; empty between claims.
	LockedBy string `bson:"lockedBy,omitempty" json:"lockedBy,omitempty"`
	// LockToken is the fencing token: raised by every claim, matched by every
	// write of that claim.
	LockToken int64 `bson:"lockToken,omitempty" json:"lockToken,omitempty"`
	// LockBatch is unique to one claiming write. It stands for the tokens of
	// all documents which that write claimed, so that one write can settle
	// many of them and still match each one's own claim. Once the claim has
	// ended it means nothing.
	LockBatch string `bson:"lockBatch,omitempty" json:"-"`

	// ResyncAt is when a settled document is looked at again.
	ResyncAt time.Time `bson:"resyncAt,omitempty" json:"resyncAt,omitzero"`

	// Attempts counts the errors since a claim of the present intent last ended
	// in anything else.
	Attempts  int        `bson:"attempts,omitempty" json:"attempts,omitempty"`
	LastError *LastError `bson:"lastError,omitempty" json:"lastError,omitempty"`

	// History holds the latest [HistoryLimit] transitions and checkpoints,
	// oldest first.
	History []HistoryEntry `bson:"history,omitempty" json:"history,omitempty"`

	CreatedAt time.Time `bson:"createdAt,omitempty" json:"createdAt,omitzero"`
	UpdatedAt time.Time `bson:"updatedAt,omitempty" json:"updatedAt,omitzero"`

	// Unreadable is set by a store on a document that it has claimed and cannot
	// read, because somebody has written into a field what it does not hold, and
	// says why. No step runs: the claim ends with this error, and it is tried
	// again. It is not stored.
	Unreadable string `bson:"-" json:"-"`
}

// Lifecycle makes every struct that embeds Meta a [Document].
func (m *Meta) Lifecycle() *Meta { return m }

// IntentChanged reports whether the intent differs from the one that the
// latest claim acted for.
func (m *Meta) IntentChanged() bool {
	return m.State != m.ObservedState || m.Generation != m.ObservedGeneration
}

// LastError is the latest error of a document's present intent.
type LastError struct {
	Step     string    `bson:"step" json:"step"`
	Message  string    `bson:"message" json:"message"`
	At       time.Time `bson:"at" json:"at"`
	Terminal bool      `bson:"terminal,omitempty" json:"terminal,omitempty"`
}

// HistoryLimit bounds the history kept on a document.
const HistoryLimit = 60

// HistoryEntry records a transition (From differs from To, Step empty) or a
// checkpoint within one (From equals To, Step names it).
type HistoryEntry struct {
	From Phase     `bson:"from" json:"from"`
	To   Phase     `bson:"to" json:"to"`
	Step string    `bson:"step,omitempty" json:"step,omitempty"`
	By   string    `bson:"by" json:"by"`
	At   time.Time `bson:"at" json:"at"`
	// Took is how long the phase or the step lasted, in milliseconds.
	Took int64 `bson:"took" json:"tookMs"`
}
