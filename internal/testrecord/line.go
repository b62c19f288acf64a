package testrecord

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// The operations beside "claim", "update", "verify" and the kinds of change
// ([engine.ChangeKind]).
const (
	OpClaim  = "claim"
	OpUpdate = "update"
	OpVerify = "verify"
	// OpStep is a run of a step, and OpHTTP a writing request to a cluster.
	OpStep = "step"
	OpHTTP = "http"
	// OpLost is a lock that the engine gave up.
	OpLost = "lost"
)

// Line is one line of a record: the beginning of a call, or its end.
type Line struct {
	// At is when, by [Now]; Wall is what the machine's clock showed then.
	At   int64     `json:"at"`
	Wall time.Time `json:"wall"`
	// Call is the call's number within the record.
	Call int64 `json:"call"`
	// End tells the end of a call from its beginning.
	End bool `json:"end,omitempty"`

	// Of the beginning.

	Op   string `json:"op,omitempty"`
	Kind string `json:"kind,omitempty"`
	// Docs are the documents of the call: with the tokens it is made under, or
	// without for a claim. At the end of a claim they are those taken.
	Docs []Doc `json:"docs,omitempty"`
	// From and To are a move's phases.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Name is a step's name, or where a lock was found lost.
	Name string `json:"name,omitempty"`
	// Method, Path and UID are a request's; UID is the one a delete is bound to.
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	UID    string `json:"uid,omitempty"`

	// Of the end.

	// Lost are the documents that the call did not change.
	Lost []string `json:"lost,omitempty"`
	// LockLost: the call was refused because the claim is not the latest.
	LockLost bool `json:"lockLost,omitempty"`
	// Error says that the call failed: whether it was made is not known.
	Error string `json:"error,omitempty"`
	// Status is a request's.
	Status int `json:"status,omitempty"`
}

// Doc is a document in a call.
type Doc struct {
	ID    string       `json:"id"`
	Token int64        `json:"token,omitempty"`
	Phase engine.Phase `json:"phase,omitempty"`
	// LockedAt is the database's time of a claim.
	LockedAt time.Time `json:"lockedAt,omitzero"`
}

// Now reads the machine's monotonic clock, in nanoseconds.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("testrecord: no monotonic clock: " + err.Error())
	}
	return t.Nano()
}
