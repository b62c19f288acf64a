package api

import (
	"fmt"
	"slices"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// FindingSort says what sort of contradiction was found.
type FindingSort string

// The sorts.
const (
	// Contradiction: the document is there, but not as the gateway's phase
	// says that it is.
	Contradiction FindingSort = "contradiction"
	// Missing: the gateway's phase says that the document is there.
	Missing FindingSort = "missing"
	// Orphan: the gateway is gone, the document is not.
	Orphan FindingSort = "orphan"
)

// Finding is one document that contradicts its gateway's phase.
type Finding struct {
	Sort  FindingSort   `json:"sort" enum:"contradiction,missing,orphan"`
	Kind  resource.Kind `json:"kind"`
	ID    string        `json:"id"`
	State engine.State  `json:"state,omitempty"`
	Phase engine.Phase  `json:"phase,omitempty"`
	// Problem says what is the matter, Next what will move it and when, or
	// that nothing will, Fix what a person can do.
	Problem string `json:"problem" doc:"What is the matter."`
	Next    string `json:"next" doc:"What will move it and when, or that nothing will, and why."`
	Fix     string `json:"fix" doc:"What can be done about it."`
}

// findings are what contradicts the gateway's phase. While the gateway's own
// steps are at work its children are on their way, and contradict nothing.
func (f *family) findings() []Finding {
	found := []Finding{}
	switch {
	case f.gateway == nil || f.gateway.Phase == resource.PhaseDeleted:
		for _, c := range f.children {
			found = append(found, f.orphan(c))
		}
	case f.resting():
		for _, c := range f.children {
			if problem := f.contradiction(c); problem != "" {
				found = append(found, f.finding(c, problem))
			}
		}
		found = append(found, f.missing()...)
	}
	return found
}

// contradiction says what about a child does not fit the phase in which its
// gateway rests; empty if nothing.
func (f *family) contradiction(c child) string {
	serves := consequence[c.kind] != ""
	switch phase := f.gateway.Phase; {
	case serves && phase == resource.PhaseStopped && c.State == resource.Active:
		return fmt.Sprintf("%s %s is still wanted (state Active, phase %s) although its gateway is Stopped: %s.",
			c.kind, c.ID, c.Phase, consequence[c.kind])
	case serves && phase == resource.PhaseStopped && c.State == resource.Inactive && c.Phase == resource.PhaseCreated:
		return fmt.Sprintf("%s %s is still there (state Inactive, phase Created) although its gateway is Stopped: %s.",
			c.kind, c.ID, consequence[c.kind])
	case c.kind == resource.KindRuntimeDomain && phase == resource.PhaseStarted &&
		(c.State != resource.Active || c.Phase != resource.PhaseCreated):
		return fmt.Sprintf("RuntimeDomain %s is not there (state %s, phase %s) although its gateway is Started: it cannot be reached.",
			c.ID, c.State, c.Phase)
	case slices.Contains(madeBySteps, c.kind) && slices.Contains(standing, phase) && c.State == resource.Deleted:
		return fmt.Sprintf("%s %s is to be deleted (phase %s) although its gateway is %s and needs it.", c.kind, c.ID, c.Phase, phase)
	}
	return ""
}

// consequence is what it means that a child is left over, for the kinds that
// are turned off while their gateway is stopped.
var consequence = map[resource.Kind]string{
	resource.KindRuntimeDomain: "its routes lead to pods that are gone",
	resource.KindStage:         "its routes lead to pods that are gone",
	resource.KindCronTrigger:   "it calls a function that nobody serves",
}

// madeBySteps are the kinds that the gateway's own steps make and remove.
var madeBySteps = []resource.Kind{
	resource.KindRuntimeDomain, resource.KindDatabase, resource.KindEnvironment, resource.KindStage,
}

// standing are the phases in which all that the steps make is there.
var standing = []engine.Phase{resource.PhaseCreated, resource.PhaseStarted, resource.PhaseStopped}

func (f *family) finding(c child, problem string) Finding {
	return Finding{
		Sort: Contradiction, Kind: c.kind, ID: c.ID, State: c.State, Phase: c.Phase,
		Problem: problem, Next: f.next(c), Fix: f.fix(c),
	}
}

// next says what will move a child, or that nothing will.
func (f *family) next(c child) string {
	own := fmt.Sprintf("Itself: %s", c.explanation.Summary)
	if c.explanation.Condition == engine.IsSettled {
		own = fmt.Sprintf("It rests: its own state %s is fulfilled, so its task service leaves it as it is.", c.State)
	}
	switch {
	case f.own.Condition != engine.IsSettled:
		return own + " Its gateway is stuck: " + f.own.Summary
	case f.own.NextAt.IsZero():
		return own + fmt.Sprintf(" Its gateway rests too: state %s is fulfilled in phase %s, so none of its steps runs. Nothing will move it.",
			f.gateway.State, f.gateway.Phase)
	}
	return own + fmt.Sprintf(" Its gateway rests in phase %s and is looked at again at %s: that look puts right what it covers, and nothing else does.",
		f.gateway.Phase, f.own.NextAt.UTC().Format("15:04:05 MST"))
}

// fix says what a person can do about a child.
func (f *family) fix(c child) string {
	wanted := resource.Inactive
	if f.gateway.Phase != resource.PhaseStopped {
		wanted = resource.Active
	}
	if c.State == resource.Deleted {
		return "It cannot be brought back: delete the gateway, or make what is missing by hand once it is gone."
	}
	if c.State == wanted {
		return fmt.Sprintf("Look at the log of %s's task service; its state is already %s.", c.kind, wanted)
	}
	return fmt.Sprintf("Set its state: db.%s.updateOne({_id: '%s'}, {$set: {state: '%s'}}). "+
		"Or take the gateway through its steps again: set its state to %s, and then back to %s.",
		c.kind, c.ID, wanted, otherState(f.gateway.State), f.gateway.State)
}

func otherState(state engine.State) engine.State {
	if state == resource.Stopped {
		return resource.Running
	}
	return resource.Stopped
}

func (f *family) orphan(c child) Finding {
	finding := Finding{
		Sort: Orphan, Kind: c.kind, ID: c.ID, State: c.State, Phase: c.Phase,
		Problem: fmt.Sprintf("%s %s is left (state %s, phase %s), but its gateway %s is gone.", c.kind, c.ID, c.State, c.Phase, f.id),
		Next:    "Itself: " + c.explanation.Summary + " No gateway will ever set its state again; the sweeper of orphans reports it.",
	}
	finding.Fix = fmt.Sprintf("Set its state: db.%s.updateOne({_id: '%s'}, {$set: {state: 'Deleted'}}); its task service then removes it.", c.kind, c.ID)
	if c.explanation.Condition == engine.IsUnhandled {
		finding.Fix = fmt.Sprintf("See that what it stands for is gone, then remove it: db.%s.deleteOne({_id: '%s'}).", c.kind, c.ID)
	}
	return finding
}

// missing are the documents that the gateway's phase says are there.
func (f *family) missing() []Finding {
	var found []Finding
	if !slices.Contains(standing, f.gateway.Phase) {
		return nil
	}
	expect := func(kind resource.Kind, id string) {
		if slices.ContainsFunc(f.children, func(c child) bool { return c.kind == kind && c.ID == id }) {
			return
		}
		found = append(found, Finding{
			Sort: Missing, Kind: kind, ID: id,
			Problem: fmt.Sprintf("%s %s is missing although its gateway is %s.", kind, id, f.gateway.Phase),
			Next: fmt.Sprintf("Only the steps of Creating make it, and its gateway has left that phase: it rests in %s. Nothing will make it, unless a resync does.",
				f.gateway.Phase),
			Fix: "Restore it from a backup, or delete the gateway and make a new one.",
		})
	}
	expect(resource.KindRuntimeDomain, f.id)
	expect(resource.KindDatabase, f.id)
	for _, name := range resource.Environments {
		expect(resource.KindEnvironment, resource.EnvironmentName(f.id, name))
		expect(resource.KindStage, resource.EnvironmentName(f.id, name))
	}
	return found
}
