package engine

import (
	"context"
	"slices"
	"time"
)

// Defaults of a [Definition].
const (
	DefaultLockTimeout = 30 * time.Second
	DefaultStepTimeout = 20 * time.Second
)

// Definition describes a kind of document as data: its states and phases, the
// transitions between phases, and the pairs of state and phase at which it
// rests. A definition should read like the kind's state diagram, which
// [Definition.Diagram] draws from it.
type Definition[D Document] struct {
	// Kind names the documents, in logs, metrics and messages. By convention
	// it is the name of their collection.
	Kind string
	// Initial is the phase of a new document.
	Initial Phase
	States  []State
	Phases  []Phase
	// Settled lists where documents rest. Every reachable pair of state and
	// phase must either be settled or have a transition.
	Settled []Settled[D]
	// Transitions are tried in order: the first whose From and When match
	// moves the document.
	Transitions []Transition[D]
	// LockTimeout is how long a claim lasts unless it is renewed;
	// [DefaultLockTimeout] if zero.
	LockTimeout time.Duration
}

// Settled is a pair of state and phase at which nothing is left to do.
type Settled[D Document] struct {
	State State
	Phase Phase
	// Resync, if not zero, is how often a settled document is looked at again:
	// Steps then run as those of a transition do, and put right what has
	// drifted. The phase does not change.
	Resync time.Duration
	Steps  []Step[D]
}

// Transition is an edge of the state diagram.
type Transition[D Document] struct {
	// From and When are the phases and states in which the transition applies.
	From []Phase
	When []State
	// To is the phase reached once all steps are done, or [Purged].
	To Phase
	// Steps run in order, each time from the first, up to the first that is
	// not done.
	Steps []Step[D]
	// Within is the deadline, counted from when the phase was entered; zero is
	// none. A missed deadline changes neither state nor phase: the document is
	// reported as stuck, in words, and goes on trying.
	Within time.Duration
	// Completes ends a one-shot intent as the transition ends: the state From
	// becomes To, only if it and the generation are still those that the claim
	// saw. It is the one write of state that the engine makes.
	Completes *OneShot
}

// OneShot is an intent that is used up once fulfilled, such as Restarting,
// which becomes Running.
type OneShot struct{ From, To State }

// Step is one idempotent notch of a transition.
type Step[D Document] struct {
	// Name is shown to people, in history, metrics and explanations.
	Name string
	// Run looks before it acts, so that it can always be run again, and says
	// whether what it is for has been observed. It must not write the
	// document's phase or lock fields; other fields it writes by [Update].
	// The document is the claim's own copy.
	Run func(ctx context.Context, doc D) (Outcome, error)
	// Timeout bounds one run; [DefaultStepTimeout] if zero.
	Timeout time.Duration
}

// transition returns the transition that moves a document in the given pair.
func (d *Definition[D]) transition(state State, phase Phase) (*Transition[D], bool) {
	for i := range d.Transitions {
		t := &d.Transitions[i]
		if slices.Contains(t.From, phase) && slices.Contains(t.When, state) {
			return t, true
		}
	}
	return nil, false
}

// settled returns the settled pair, if the given one is.
func (d *Definition[D]) settled(state State, phase Phase) (*Settled[D], bool) {
	for i := range d.Settled {
		if s := &d.Settled[i]; s.State == state && s.Phase == phase {
			return s, true
		}
	}
	return nil, false
}

func (d *Definition[D]) lockTimeout() time.Duration {
	if d.LockTimeout > 0 {
		return d.LockTimeout
	}
	return DefaultLockTimeout
}

func (s *Step[D]) timeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return DefaultStepTimeout
}
