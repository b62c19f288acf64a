package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// SimDocument is the document of the simulation.
type SimDocument struct {
	engine.Meta `bson:",inline"`
	Note        string `bson:"note,omitempty"`
}

const (
	simOn    engine.State = "On"
	simOff   engine.State = "Off"
	simCycle engine.State = "Cycle" // a one-shot: up once more, and On
	simGone  engine.State = "Gone"

	simFresh    engine.Phase = "Fresh"
	simUp       engine.Phase = "Up"
	simDown     engine.Phase = "Down"
	simStarting engine.Phase = "Starting"
	simLeaving  engine.Phase = "Leaving"
)

// The steps of the transitions that have some, in order.
var simSteps = [][]string{{"place", "wire", "start"}, {"renew"}, {"drain", "remove"}}

// simWorld is what the documents stand for: things outside of the store. Like
// an object in Kubernetes, each carries the token of the claim that touched it
// last, and refuses an older one.
type simWorld struct {
	sim     *simulation
	effects map[effect]bool
	fence   map[life]int64
	plans   map[effect]*plan
	active  map[string][]*activeStep
	edges   []engine.Transition[*SimDocument]
}

// effect is what a step has done for a document, in one stay in a phase.
type effect struct {
	id    string
	epoch int
	step  string
}

// life is one life of a document: another of the same name may follow.
type life struct {
	id   string
	born int
}

// activeStep is one step that runs.
type activeStep struct {
	claim *simClaim
	step  string
	ctx   context.Context //nolint:containedctx // to see whether the step is still trusted
}

func newSimWorld(s *simulation) *simWorld {
	w := &simWorld{
		sim: s, effects: map[effect]bool{}, fence: map[life]int64{},
		plans: map[effect]*plan{}, active: map[string][]*activeStep{},
	}
	w.edges = w.definition(nil).Transitions
	return w
}

// definition is the kind, as one replica runs it.
func (w *simWorld) definition(p *port) *engine.Definition[*SimDocument] {
	steps := func(names []string) (steps []engine.Step[*SimDocument]) {
		for i, name := range names {
			steps = append(steps, w.step(p, name, names[:i]))
		}
		return steps
	}
	return &engine.Definition[*SimDocument]{
		Kind: "sim", Initial: simFresh,
		States: []engine.State{simOn, simOff, simCycle, simGone},
		Phases: []engine.Phase{simFresh, simUp, simDown, simStarting, simLeaving},
		Settled: []engine.Settled[*SimDocument]{
			{State: simOn, Phase: simUp, Resync: 20 * time.Second, Steps: steps([]string{"look"})},
			{State: simOff, Phase: simDown},
		},
		Transitions: []engine.Transition[*SimDocument]{
			{From: []engine.Phase{simFresh, simUp, simDown, simStarting}, When: []engine.State{simGone}, To: simLeaving},
			{
				From: []engine.Phase{simFresh, simStarting}, When: []engine.State{simOn, simCycle}, To: simUp,
				Steps: steps(simSteps[0]), Completes: &engine.OneShot{From: simCycle, To: simOn},
			},
			{From: []engine.Phase{simFresh, simUp, simStarting}, When: []engine.State{simOff}, To: simDown},
			{From: []engine.Phase{simDown}, When: []engine.State{simOn, simCycle}, To: simStarting},
			{From: []engine.Phase{simUp}, When: []engine.State{simCycle}, To: simStarting, Steps: steps(simSteps[1])},
			{
				From: []engine.Phase{simLeaving}, When: []engine.State{simOn, simOff, simCycle, simGone},
				To: engine.Purged, Steps: steps(simSteps[2]),
			},
		},
	}
}

// step looks whether its effect is there, and if not goes by its plan: takes
// its time, fails, waits, writes a note, and in the end acts.
func (w *simWorld) step(p *port, name string, before []string) engine.Step[*SimDocument] {
	return engine.Step[*SimDocument]{Name: name, Timeout: 2 * time.Minute, Run: func(ctx context.Context, doc *SimDocument) (engine.Outcome, error) {
		claim := engine.ClaimOf(ctx)
		_, _, latency := w.sim.travel(p, opStep, slices.Index(w.sim.docs, doc.ID))
		time.Sleep(latency)
		if err := p.gate(); err != nil {
			return engine.Done(), err
		}
		a, plan, there := w.enter(ctx, claim.Ref, name, before)
		defer w.leave(a)
		if there {
			return engine.Done(), p.spend(ctx, time.Millisecond, false)
		}
		if err := p.spend(ctx, plan.length, plan.deaf); err != nil {
			return engine.Done(), err
		}
		if err := w.fails(plan); err != nil {
			return engine.Done(), err
		}
		if time.Since(plan.began) < plan.wait {
			if w.sim.Without == StepLooks {
				return engine.Done(), nil
			}
			return engine.Wait("its time"), nil
		}
		if plan.deaf {
			ctx = context.WithoutCancel(ctx)
		}
		if plan.note {
			if err := claim.Update(ctx, map[string]any{"note": fmt.Sprint(doc.LockToken)}); err != nil {
				return engine.Done(), err
			}
		}
		return engine.Done(), errors.Join(p.gate(), w.act(a, before))
	}}
}

// enter notes that a step runs.
func (w *simWorld) enter(ctx context.Context, ref engine.Ref, name string, before []string) (*activeStep, *plan, bool) {
	w.sim.mu.Lock()
	defer w.sim.mu.Unlock()
	w.sim.result.Steps++
	claim := w.sim.judge.claims[ref]
	a := &activeStep{claim: claim, step: name, ctx: ctx}
	w.active[ref.ID] = append(w.active[ref.ID], a)
	w.sim.judge.entered(a, before)
	e := effect{ref.ID, claim.epoch, name}
	if w.plans[e] == nil {
		w.plans[e] = w.sim.plan(e)
	}
	return a, w.plans[e], w.effects[e] && name != "look"
}

func (w *simWorld) leave(a *activeStep) {
	w.sim.mu.Lock()
	defer w.sim.mu.Unlock()
	id := a.claim.ref.ID
	w.active[id] = slices.DeleteFunc(w.active[id], func(o *activeStep) bool { return o == a })
}

// act makes the step's effect, unless the thing has a newer token.
func (w *simWorld) act(a *activeStep, before []string) error {
	w.sim.mu.Lock()
	defer w.sim.mu.Unlock()
	c := a.claim
	newest := w.fence[c.life]
	if newest > c.ref.Token && w.sim.Without != ObjectFence {
		return engine.ErrLockLost
	}
	w.sim.judge.acted(a, before, newest)
	w.fence[c.life] = max(newest, c.ref.Token)
	w.effects[effect{c.ref.ID, c.epoch, a.step}] = true
	return nil
}
