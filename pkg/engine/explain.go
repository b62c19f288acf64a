package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Condition says in one word how it stands with a document.
type Condition string

// The conditions.
const (
	IsSettled   Condition = "settled"    // nothing to do
	IsMoving    Condition = "moving"     // due: any replica will claim it
	IsLocked    Condition = "locked"     // a replica is working on it
	IsWaiting   Condition = "waiting"    // for something outside
	IsBacking   Condition = "backingOff" // after an error
	IsFailed    Condition = "failed"     // terminally, until the intent changes
	IsOverdue   Condition = "overdue"    // waiting, and past its deadline
	IsUnhandled Condition = "noHandler"  // no transition and not settled: stuck
)

// Explanation says of a document what it is, what it waits for, and what will
// move it next and when.
type Explanation struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	State     State     `json:"state"`
	Phase     Phase     `json:"phase"`
	Condition Condition `json:"condition"`
	// Summary is the whole explanation in a sentence or two.
	Summary string `json:"summary"`
	// Transition is what moves the document next ("Starting -> Started"), Step
	// the step that it is at, and Steps all of that transition's, in order.
	Transition string   `json:"transition,omitempty"`
	Step       string   `json:"step,omitempty"`
	Steps      []string `json:"steps,omitempty"`
	// WaitingFor and WaitingSince describe the wait, if it waits.
	WaitingFor   string    `json:"waitingFor,omitempty"`
	WaitingSince time.Time `json:"waitingSince,omitzero"`
	// NextAt is when it can be claimed next at the latest without a hint; zero
	// if never.
	NextAt time.Time `json:"nextAt,omitzero"`
	// Deadline is when the present phase should have been left.
	Deadline  time.Time  `json:"deadline,omitzero"`
	LockedBy  string     `json:"lockedBy,omitempty"`
	LockedAt  time.Time  `json:"lockedAt,omitzero"`
	LastError *LastError `json:"lastError,omitempty"`
}

// Explain explains a document at the given time of the database.
func (d *Definition[D]) Explain(m *Meta, now time.Time) Explanation {
	e := Explanation{ID: m.ID, Kind: d.Kind, State: m.State, Phase: m.Phase, LastError: m.LastError}
	t, moves := d.transition(m.State, m.Phase)
	rest, rests := d.settled(m.State, m.Phase)
	if moves {
		e.describe(string(m.Phase)+" -> "+string(t.To), stepNames(t.Steps), m)
		if t.Within > 0 && !m.PhaseAt.IsZero() {
			e.Deadline = m.PhaseAt.Add(t.Within)
		}
	}
	expiry := m.LockedAt.Add(d.lockTimeout())
	locked := m.LockedBy != "" && expiry.After(now)
	switch {
	case locked:
		e.Condition, e.NextAt, e.LockedBy, e.LockedAt = IsLocked, expiry, m.LockedBy, m.LockedAt
		e.Summary = fmt.Sprintf("%s has been working on it since %s ago%s; its lock lasts another %s unless renewed.",
			m.LockedBy, short(now.Sub(m.LockedAt)), atStep(m), short(expiry.Sub(now)))
	case !moves && !rests:
		e.Condition = IsUnhandled
		e.Summary = d.unhandled(m)
	case m.LastError != nil && m.LastError.Terminal && !m.IntentChanged():
		e.Condition = IsFailed
		e.Summary = fmt.Sprintf("Step %q failed for good: %s. Nothing will be tried again until state or settings change.",
			m.LastError.Step, m.LastError.Message)
	case rests && (rest.Resync == 0 || m.WaitingFor == "" && m.LastError == nil):
		// Without a resync nobody looks at what an intent before has left.
		e.settled(d, rest.Resync, m, expiry, now)
	default:
		e.pending(m, expiry, now)
	}
	return e
}

func (e *Explanation) describe(transition string, steps []string, m *Meta) {
	e.Transition, e.Steps = transition, steps
	switch {
	case slices.Contains(steps, m.Step):
		e.Step = m.Step
	case len(steps) > 0: // none, or that of another transition
		e.Step = steps[0]
	}
}

// settled explains a document at rest.
func (e *Explanation) settled(d interface{ wishes(Phase) string }, resync time.Duration, m *Meta, expiry, now time.Time) {
	e.Condition = IsSettled
	e.Summary = fmt.Sprintf("Settled: state %s is fulfilled in phase %s. %s", m.State, m.Phase, d.wishes(m.Phase))
	if resync > 0 {
		// A document that has never been looked at has no resyncAt: it is due.
		e.NextAt = now
		for _, at := range []time.Time{m.ResyncAt, expiry} {
			if at.After(e.NextAt) {
				e.NextAt = at
			}
		}
		e.Summary += fmt.Sprintf(" It is looked at again every %s, next in %s.", period(resync), short(e.NextAt.Sub(now)))
	}
}

// pending explains a document that has something to do and is not locked.
func (e *Explanation) pending(m *Meta, due, now time.Time) {
	if m.IntentChanged() {
		due = now // no wait or backoff delays a new intent
	}
	e.NextAt = due
	when := "it is due now, and will be claimed by the next tick of any replica"
	if due.After(now) {
		when = fmt.Sprintf("the next look is due in %s, or at once when a hint comes", short(due.Sub(now)))
	}
	what := "Next: " + e.Transition
	if e.Transition == "" {
		what = "Settled, but its resync found something to put right"
	}
	switch {
	case m.LastError != nil && !m.IntentChanged():
		e.Condition = IsBacking
		when = strings.Replace(when, ", or at once when a hint comes", "", 1)
		e.Summary = fmt.Sprintf("%s. Step %q failed (attempt %d): %s; %s.", what, m.LastError.Step, m.Attempts, m.LastError.Message, when)
	case m.WaitingFor != "" && !m.IntentChanged():
		e.Condition, e.WaitingFor, e.WaitingSince = IsWaiting, m.WaitingFor, m.WaitingSince
		e.Summary = fmt.Sprintf("%s. Step %q has waited %s for: %s; %s.", what, m.Step, short(now.Sub(m.WaitingSince)), m.WaitingFor, when)
	default:
		e.Condition = IsMoving
		e.Summary = fmt.Sprintf("%s; %s.", what, when)
	}
	if !e.Deadline.IsZero() && now.After(e.Deadline) {
		e.Condition = IsOverdue
		e.Summary += fmt.Sprintf(" Overdue: phase %s should have been left %s ago. It goes on trying; change the state to leave it.",
			m.Phase, short(now.Sub(e.Deadline)))
	}
}

// unhandled explains a pair that no transition moves and that is no place to
// rest: a state or phase that the kind does not have.
func (d *Definition[D]) unhandled(m *Meta) string {
	what := fmt.Sprintf("no transition of %s handles state %q in phase %q, and it is not settled", d.Kind, m.State, m.Phase)
	switch {
	case !slices.Contains(d.States, m.State):
		what = fmt.Sprintf("%q is not a state of %s (they are %s)", m.State, d.Kind, list(d.States))
	case !slices.Contains(d.Phases, m.Phase):
		what = fmt.Sprintf("%q is not a phase of %s (they are %s)", m.Phase, d.Kind, list(d.Phases))
	}
	return "Stuck: " + what + ". Nothing will move it until its state is set to one that is handled."
}

// wishes says what the user could ask of a document in the phase.
func (d *Definition[D]) wishes(phase Phase) string {
	var can []string
	for _, s := range d.States {
		if t, ok := d.transition(s, phase); ok {
			can = append(can, fmt.Sprintf("%s (%s -> %s)", s, phase, t.To))
		}
	}
	if len(can) == 0 {
		return "No state would move it."
	}
	return "These states would move it: " + strings.Join(can, ", ") + "."
}

func stepNames[D Document](steps []Step[D]) []string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.Name
	}
	return names
}

func atStep(m *Meta) string {
	if m.Step == "" {
		return ""
	}
	return fmt.Sprintf(" (step %q)", m.Step)
}

func list[S ~string](names []S) string {
	s := make([]string, len(names))
	for i, n := range names {
		s[i] = string(n)
	}
	return strings.Join(s, ", ")
}

// short writes a duration as people do: 0.3s, 12s, 4m10s.
func short(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return period(d.Round(time.Second))
}
