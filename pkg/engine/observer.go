package engine

import "time"

// Observer is told what the engine does: for metrics, or for a record that a
// checker reads. Its methods are called concurrently, on the engine's own
// goroutines, and must return quickly. Embed [NoObserver] to implement a part.
type Observer interface {
	// Claimed: of requested documents, got were claimed; the others had been
	// taken or settled meanwhile (wasted attempts).
	Claimed(kind string, requested, got int)
	// Queued is how long a claimed document had been due.
	Queued(kind string, age time.Duration)
	// StepRan tells the result of one run of a step: "done", "wait", "error",
	// "terminal" or "lost".
	StepRan(kind, step, result string, took time.Duration)
	// Waited is how long a document had waited at a step when it went on.
	Waited(kind, step string, waited time.Duration)
	// Changed: n documents were changed in one write.
	Changed(kind string, change ChangeKind, n int)
	// LockLost: a claim's lock was lost; where says what noticed it first
	// ("queue", "step NAME", "checkpoint", "renew", "settle").
	LockLost(kind, where string)
	// Overdue: a document was seen past its transition's deadline.
	Overdue(kind string, phase Phase)
	// TicksMissed: n ticks passed while a sweep was still under way.
	TicksMissed(kind string, n int)
	// StoreFailed: a call to the store failed.
	StoreFailed(kind, call string)
}

// NoObserver observes nothing.
type NoObserver struct{}

var _ Observer = NoObserver{}

func (NoObserver) Claimed(string, int, int)                      {}
func (NoObserver) Queued(string, time.Duration)                  {}
func (NoObserver) StepRan(string, string, string, time.Duration) {}
func (NoObserver) Waited(string, string, time.Duration)          {}
func (NoObserver) Changed(string, ChangeKind, int)               {}
func (NoObserver) LockLost(string, string)                       {}
func (NoObserver) Overdue(string, Phase)                         {}
func (NoObserver) TicksMissed(string, int)                       {}
func (NoObserver) StoreFailed(string, string)                    {}
