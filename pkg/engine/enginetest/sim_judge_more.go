package enginetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// recorded judges a checkpoint: it is of the step in hand, or of the first.
func (j *judge) recorded(ch engine.Change, before *engine.Meta) {
	steps := simSteps[slices.IndexFunc(simSteps, func(s []string) bool { return slices.Contains(s, ch.Step) })]
	at := max(0, slices.Index(steps, before.Step))
	if steps[at] != ch.Step || at+1 == len(steps) || steps[at+1] != ch.Next {
		j.violated(StepsInOrder, before.ID, "%s recorded as done and %s as next, while at %q", ch.Step, ch.Next, before.Step)
	}
}

// waits judges what is made of a wait, and notes until when it lasts.
func (j *judge) waits(id string, after *engine.Meta, since time.Time) {
	now := j.sim.truth()
	until := now.Add(engine.RelockDelay(now.Sub(since), engine.DefaultLockTimeout))
	j.notBefore[id] = until
}

// failed judges what is made of an error, and notes how long it backs off.
func (j *judge) failed(id string, ch engine.Change, before, after *engine.Meta) {
	if after.Attempts != before.Attempts+1 || after.LastError == nil || after.LastError.Terminal != ch.Terminal {
		j.violated(WaitsBackOff, id, "an error was not counted: attempts %d, then %d", before.Attempts, after.Attempts)
	}
	j.notBefore[id] = j.sim.truth().Add(ch.Delay)
	if ch.Terminal {
		j.notBefore[id] = engine.Never
	}
}

// intent judges what a change does to the state.
func (j *judge) intent(ch engine.Change, before, after *engine.Meta) {
	allowed := ch.Kind == engine.Move && before.State == ch.OneShot.From && after.State == ch.OneShot.To && !before.IntentChanged()
	if after.State != before.State && !allowed || after.Generation != before.Generation {
		j.violated(IntentIsTheUsers, before.ID, "a %s made state %s of %s, which the user had asked for since", ch.Kind, after.State, before.State)
	}
}

// edited judges what others than the engine do.
func (j *judge) edited(before, after *engine.Meta) {
	if after.Phase != before.Phase && j.live(before) {
		j.violated(NoMoveUnderLock, before.ID, "phase %s became %s under the live lock of %s", before.Phase, after.Phase, before.LockedBy)
	}
}

// entered judges a step that begins to run.
func (j *judge) entered(a *activeStep, before []string) {
	id := a.claim.ref.ID
	if a.ctx.Err() != nil || a.claim.port.isDead() {
		return
	}
	if newest := j.latest[id]; newest != a.claim && newest != nil && newest.life == a.claim.life {
		j.violated(OneTrustedHolder, id, "%s begins step %s with token %d while the newest is %d",
			a.claim.port.name, a.step, a.claim.ref.Token, newest.ref.Token)
	}
	for _, o := range j.sim.world.active[id] {
		if o != a && o.ctx.Err() == nil && !o.claim.port.isDead() {
			j.violated(OneTrustedHolder, id, "%s begins step %s while %s trusts token %d in step %s",
				a.claim.port.name, a.step, o.claim.port.name, o.claim.ref.Token, o.step)
		}
	}
	j.inOrder(a, before)
	j.sim.note(a.claim.port, id, "runs "+a.step, a.claim.ref.Token)
}

// inOrder judges that the steps before have had their effect.
func (j *judge) inOrder(a *activeStep, before []string) {
	for _, step := range before {
		if !j.sim.world.effects[effect{a.claim.ref.ID, a.claim.epoch, step}] {
			j.violated(StepsInOrder, a.claim.ref.ID, "%s at %s before %s was done", a.claim.port.name, a.step, step)
		}
	}
}

// acted judges an effect on things outside, which the claim with the given
// token has touched last.
func (j *judge) acted(a *activeStep, before []string, newest int64) {
	id := a.claim.ref.ID
	if newest > a.claim.ref.Token {
		j.violated(NoStaleEffect, id, "%s did %s with token %d after token %d had", a.claim.port.name, a.step, a.claim.ref.Token, newest)
	}
	j.inOrder(a, before)
	j.sim.note(a.claim.port, id, "has done "+a.step, a.claim.ref.Token)
}

// starved judges how long documents have been due. It is called before each
// read for due documents.
func (j *judge) starved(rules engine.Rules) {
	now := time.Now()
	if !slices.ContainsFunc(j.sim.ports, (*port).healthy) {
		j.ill = now
	}
	for id, r := range j.sim.mem.records {
		if !claimable(&r.meta, rules, j.sim.truth()) {
			delete(j.due, id)
			continue
		}
		since, known := j.due[id]
		if !known {
			since, j.due[id] = now, now
		}
		if since.Before(j.ill) {
			since = j.ill
		}
		if now.Sub(since) > simStarve {
			j.violated(NobodyStarves, id, "due for %s while a replica was well", now.Sub(since))
		}
	}
}

// unsettled judges that not everything has come to rest.
func (j *judge) unsettled() {
	for _, id := range j.sim.docs {
		if r, ok := j.sim.mem.records[id]; ok && !rests(&r.meta) {
			j.violated(EverythingSettles, id, "%s after the last fault it is still (%s, %s): %s", simSettle, r.meta.State, r.meta.Phase, stands(&r.meta))
		}
	}
}

// rests reports whether a document is where its intent wants it, with nothing
// left of an intent before. Where it rests without a resync nobody looks at it
// any more, and what it observed last may be an older intent.
func rests(m *engine.Meta) bool {
	switch {
	case m.Attempts > 0 || m.WaitingFor != "":
		return false
	case m.State == simOn && m.Phase == simUp:
		return !m.IntentChanged()
	}
	return m.State == simOff && m.Phase == simDown
}

// stands says how it stands with a document, in a line.
func stands(m *engine.Meta) string {
	s := fmt.Sprintf("observed (%s, %d of %d), attempts %d, locked at %s", m.ObservedState, m.ObservedGeneration,
		m.Generation, m.Attempts, m.LockedAt.Format(time.RFC3339))
	if m.LockedBy != "" {
		s += " by " + m.LockedBy
	}
	if m.WaitingFor != "" {
		s += ", waiting for " + m.WaitingFor
	}
	return s
}

// settled reports whether all documents are.
func (s *simulation) settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.mem.records {
		if !rests(&r.meta) {
			return false
		}
	}
	return true
}
