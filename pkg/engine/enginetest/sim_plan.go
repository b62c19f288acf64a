package enginetest

import (
	"errors"
	"slices"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// plan is how one step goes for one document.
type plan struct {
	sim      *simulation
	began    time.Time
	length   time.Duration // of each run
	wait     time.Duration // until it can be done
	errors   int           // of so many runs
	terminal bool          // the first of them
	panics   bool          // they are no errors but worse
	deaf     bool          // it does not look at its context
	note     bool          // it writes to the document
}

var errPlanned = errors.New("it was not to be")

// plan draws a plan. Most steps are quick; some are longer than the lock.
func (s *simulation) plan(e effect) *plan {
	about := func(what int) []int {
		return []int{rollPlan, slices.Index(s.docs, e.id), e.epoch, int(mix(uint64(len(e.step)))), what} //nolint:gosec // bits
	}
	p := &plan{sim: s, began: time.Now()}
	p.length = s.dice.between(time.Millisecond, 300*time.Millisecond, about(1)...)
	switch chance := s.dice.part(about(2)...); {
	case chance < 0.08:
		p.length = s.dice.between(31*time.Second, 80*time.Second, about(3)...)
	case chance < 0.20:
		p.length = s.dice.between(2*time.Second, 20*time.Second, about(3)...)
	}
	if chance := s.dice.part(about(4)...); chance < 0.25 {
		p.wait = s.dice.between(0, 40*time.Second, about(5)...)
	}
	if chance := s.dice.part(about(6)...); chance < 0.2 {
		p.errors = 1 + s.dice.among(3, about(7)...)
		p.terminal, p.panics = chance < 0.02, chance > 0.17
	}
	p.deaf = s.dice.part(about(8)...) < 0.25
	p.note = s.dice.part(about(9)...) < 0.3
	return p
}

// fails is the error of this run, if it has one.
func (w *simWorld) fails(p *plan) error {
	w.sim.mu.Lock()
	defer w.sim.mu.Unlock()
	if w.sim.quiet || p.errors == 0 {
		return nil
	}
	p.errors--
	switch {
	case p.terminal:
		p.terminal = false
		return engine.Terminal(errPlanned)
	case p.panics:
		panic(errPlanned)
	}
	return errPlanned
}
