package enginetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Property is what must hold in every simulation. The model of the protocol
// (docs/model) uses the same names.
type Property string

// The properties.
const (
	// OneTrustedHolder: whoever works on a document under a claim that they
	// trust is the only one, and nobody has claimed it since.
	OneTrustedHolder Property = "OneTrustedHolder"
	// NewestToken: every accepted write is made by the newest claim.
	NewestToken Property = "NewestToken"
	// SettledOnce: a claim that has ended writes nothing more.
	SettledOnce Property = "SettledOnce"
	// TokenGrows: each claim raises the token by one.
	TokenGrows Property = "TokenGrows"
	// NoClaimUnderLock: nobody claims under a live lock.
	NoClaimUnderLock Property = "NoClaimUnderLock"
	// NoMoveUnderLock: a phase is moved by the holder of the live claim only,
	// along an edge of the definition for the intent it claimed for.
	NoMoveUnderLock Property = "NoMoveUnderLock"
	// StepsInOrder: a step acts when those before it have, and is recorded
	// after they are.
	StepsInOrder Property = "StepsInOrder"
	// NoStaleEffect: nothing outside is touched by a claim older than one that
	// has touched it.
	NoStaleEffect Property = "NoStaleEffect"
	// IntentIsTheUsers: no state is written but by users, and by the end of a
	// one-shot intent that has not changed since the claim.
	IntentIsTheUsers Property = "IntentIsTheUsers"
	// WaitsBackOff: who waits, or has failed, is not claimed before its time,
	// but for a hint (a wait's) or a new intent; and errors are counted.
	WaitsBackOff Property = "WaitsBackOff"
	// NobodyStarves: what is due is claimed, as long as some replica is well.
	NobodyStarves Property = "NobodyStarves"
	// EverythingSettles: once faults stop, all documents come to rest.
	EverythingSettles Property = "EverythingSettles"
)

// simStarve is how long a document may be due while a replica is well.
const simStarve = 4 * time.Minute

// Violation is a property that did not hold.
type Violation struct {
	Property Property
	Document string
	At       time.Duration
	What     string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s of %s violated at %s: %s", v.Property, v.Document, v.At.Round(time.Millisecond), v.What)
}

// simClaim is one claim that the store granted.
type simClaim struct {
	ref    engine.Ref
	life   life
	port   *port
	intent engine.State
	epoch  int // counts the phases that the document has been in
	ended  bool
}

// judge watches all that the store does. It keeps an account of its own of who
// has claimed what, and believes none of the store's fields.
type judge struct {
	sim       *simulation
	claims    map[engine.Ref]*simClaim
	latest    map[string]*simClaim
	epochs    map[string]int
	lives     map[string]int
	notBefore map[string]time.Time // by the database's clock
	due       map[string]time.Time // since when, by the true clock
	ill       time.Time            // when some replica was last not well
}

func newJudge(s *simulation) judge {
	return judge{
		sim: s, claims: map[engine.Ref]*simClaim{}, latest: map[string]*simClaim{},
		epochs: map[string]int{}, lives: map[string]int{},
		notBefore: map[string]time.Time{}, due: map[string]time.Time{},
	}
}

// violated ends the simulation, the first time.
func (j *judge) violated(p Property, id, format string, args ...any) {
	if j.sim.result.Violation != nil {
		return
	}
	v := &Violation{p, id, time.Since(j.sim.began), fmt.Sprintf(format, args...)}
	j.sim.note(nil, id, "VIOLATION of "+string(p)+": "+v.What, 0)
	j.sim.result.Violation = v
	close(j.sim.ended)
}

func (j *judge) inserted(id string) {
	j.lives[id]++
	j.epochs[id]++
	delete(j.latest, id)
	delete(j.notBefore, id)
	delete(j.due, id)
}

// live reports whether a document is under a lock that has not expired.
func (j *judge) live(m *engine.Meta) bool {
	return m.LockedBy != "" && !m.LockedAt.Before(j.sim.truth().Add(-engine.DefaultLockTimeout))
}

func (j *judge) claimed(p *port, req engine.ClaimRequest, before, after *engine.Meta) {
	id := after.ID
	if j.live(before) {
		j.violated(NoClaimUnderLock, id, "%s claimed it from %s, %s after its lock began",
			p.name, before.LockedBy, j.sim.truth().Sub(before.LockedAt))
	}
	if after.LockToken != before.LockToken+1 {
		j.violated(TokenGrows, id, "from %d to %d", before.LockToken, after.LockToken)
	}
	for _, a := range j.sim.world.active[id] {
		if a.ctx.Err() == nil && !a.claim.port.isDead() {
			j.violated(OneTrustedHolder, id, "%s claims it (token %d) while %s trusts token %d in step %s",
				p.name, after.LockToken, a.claim.port.name, a.claim.ref.Token, a.step)
		}
	}
	bypass := before.IntentChanged() || req.Hinted && before.Attempts == 0
	if early := j.notBefore[id].Sub(j.sim.truth()); early > 0 && !bypass {
		j.violated(WaitsBackOff, id, "%s claimed it %s before its time (attempts %d, waiting for %q)",
			p.name, early, before.Attempts, before.WaitingFor)
	}
	c := &simClaim{
		ref: engine.RefOf(after), port: p, intent: after.State,
		epoch: j.epochs[id], life: life{id, j.lives[id]},
	}
	j.claims[c.ref], j.latest[id] = c, c
	delete(j.notBefore, id)
	delete(j.due, id)
	j.sim.note(p, id, "claims it", c.ref.Token)
}

// wrote judges any accepted write.
func (j *judge) wrote(p *port, op opCode, ref engine.Ref) {
	switch newest := j.latest[ref.ID]; {
	case newest == nil || newest.ref != ref:
		j.violated(NewestToken, ref.ID, "%s of %s accepted with token %d, which is not the newest", op, p.name, ref.Token)
	case newest.ended:
		j.violated(SettledOnce, ref.ID, "%s of %s accepted with token %d, whose claim has ended", op, p.name, ref.Token)
	}
}

// changed judges an accepted change.
func (j *judge) changed(p *port, ch engine.Change, ref engine.Ref, before, after *engine.Meta) {
	j.sim.note(p, ref.ID, describe(ch), ref.Token)
	j.wrote(p, opApply, ref)
	claim := j.claims[ref]
	if ch.Kind.Ends() {
		claim.ended = true
	}
	switch ch.Kind {
	case engine.Move, engine.Purge:
		j.moved(claim, ch, before)
	case engine.Checkpoint:
		j.recorded(ch, before)
	case engine.Relock:
		j.waits(ref.ID, after, after.WaitingSince)
	case engine.Fail:
		j.failed(ref.ID, ch, before, after)
	}
	if after != nil {
		j.intent(ch, before, after)
	}
}

func (j *judge) moved(c *simClaim, ch engine.Change, before *engine.Meta) {
	id := c.ref.ID
	to := ch.To
	if ch.Kind == engine.Purge {
		to = engine.Purged
	}
	t := func(t engine.Transition[*SimDocument]) bool {
		return slices.Contains(t.From, before.Phase) && slices.Contains(t.When, c.intent) && t.To == to
	}
	if !slices.ContainsFunc(j.sim.world.edges, t) {
		j.violated(NoMoveUnderLock, id, "moved from %s to %s for intent %s: no such edge", before.Phase, to, c.intent)
	}
	if before.LockedBy != c.port.name {
		j.violated(NoMoveUnderLock, id, "%s moved it to %s while %s held it", c.port.name, to, before.LockedBy)
	}
	j.epochs[id]++
	delete(j.notBefore, id)
}
