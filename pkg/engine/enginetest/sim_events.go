package enginetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Event is something that users do, or that happens to a replica as a whole.
type Event struct {
	N    int // its number in the schedule
	At   time.Duration
	What string
}

func (e Event) String() string {
	return fmt.Sprintf("%9s  event %d: %s", e.At.Round(time.Millisecond), e.N, e.What)
}

// happen lets users act and machines fail, until the faulty time is over.
func (s *simulation) happen() {
	at := time.Duration(0)
	for n := 0; !s.over(); n++ {
		at += s.dice.between(100*time.Millisecond, 5*time.Second, rollEvent, n, 0)
		if at > s.Faulty {
			return
		}
		s.pass(at - time.Since(s.began))
		if s.over() || !s.only.event(n) {
			continue
		}
		what := s.event(n)
		s.result.Events = append(s.result.Events, Event{n, at, what})
	}
}

// event makes one thing happen, and says what.
func (s *simulation) event(n int) string {
	p := s.port(s.dice.among(s.Replicas, rollEvent, n, 1))
	document := s.dice.among(len(s.docs), rollEvent, n, 2)
	d := s.dice.between(time.Second, 15*time.Second, rollEvent, n, 3)
	if s.dice.part(rollEvent, n, 8) < 0.4 { // longer than a lock
		d = s.dice.between(31*time.Second, 80*time.Second, rollEvent, n, 3)
	}
	switch chance := s.dice.part(rollEvent, n, 4); {
	case chance < 0.60:
		return s.wish(n, document)
	case chance < 0.80:
		for range 3 {
			s.hint(p, s.docs[document])
		}
		return fmt.Sprintf("%s is told of %s, three times", p.name, s.docs[document])
	case chance < 0.87:
		p.freeze()
		s.later(d, p.unfreeze)
		return fmt.Sprintf("%s freezes for %s", p.name, d.Round(time.Second))
	case chance < 0.92:
		p.setCut(true)
		s.later(d, func() { p.setCut(false) })
		return fmt.Sprintf("%s is cut off for %s", p.name, d.Round(time.Second))
	case chance < 0.97:
		p.kill()
		s.later(d/2, func() { s.replace(p) })
		return fmt.Sprintf("%s dies, and is back after %s", p.name, (d / 2).Round(time.Second))
	default:
		p.stop()
		s.later(0, func() { p.wait(); s.replace(p) })
		return p.name + " is shut down, and replaced"
	}
}

// wish is a user's change of mind: by hand, which changes the state alone, or
// as the API does it; a replica may be told, or none.
func (s *simulation) wish(n, document int) string {
	id := s.docs[document]
	s.insert(document) // if it has gone
	states := []engine.State{simOn, simOn, simOff, simOff, simCycle, simCycle, simGone}
	state := states[s.dice.among(len(states), rollEvent, n, 5)]
	fields := map[string]any{"state": state}
	if s.dice.part(rollEvent, n, 6) < 0.5 {
		fields["generation"] = int64(1000 + n)
	}
	s.edit(id, "wants "+string(state), fields)
	if s.Without == LockOnPhases {
		s.resetPhases()
	}
	if p := s.dice.among(2*s.Replicas, rollEvent, n, 7); p < s.Replicas {
		s.hint(s.port(p), id)
	}
	return fmt.Sprintf("%s is to be %s", id, state)
}

// port is the process that is in a replica's place at the moment.
func (s *simulation) port(i int) *port {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ports[i]
}

func (s *simulation) hint(p *port, id string) {
	if p.gateOpen() {
		p.service.Hint(id)
	}
}

// later does something after a time, unless all is over before.
func (s *simulation) later(d time.Duration, do func()) {
	s.late.Go(func() {
		s.pass(d)
		do()
	})
}

// replace starts a process in the place of one that has ended or will.
func (s *simulation) replace(old *port) {
	s.mu.Lock()
	if s.ports[old.index] != old || s.over() || s.closed {
		s.mu.Unlock()
		return
	}
	p := newPort(s, old.index)
	p.start() // before others can see it
	s.ports[old.index], s.all = p, append(s.all, p)
	s.mu.Unlock()
}

// calm stops all faults: machines come back, and each document is wanted
// somewhere, one last time. No replica is told. The generation tells a wish
// that is the same as before from none, after a terminal error.
func (s *simulation) calm() {
	s.mu.Lock()
	s.quiet = true
	ports := slices.Clone(s.ports)
	s.mu.Unlock()
	if s.over() {
		return
	}
	for _, p := range ports {
		p.unfreeze()
		p.setCut(false)
	}
	for i, id := range s.docs {
		state := []engine.State{simOn, simOff, simGone}[s.dice.among(3, rollEvent, -1, i)]
		s.edit(id, "wants "+string(state)+" in the end", map[string]any{"state": state, "generation": int64(1 << 30)})
	}
}

// resetPhases is what happens without the lock: a write of many documents'
// phases that asks only for their states.
func (s *simulation) resetPhases() {
	for _, id := range s.docs {
		s.mu.Lock()
		m, ok := s.metas([]string{id})[id]
		off := ok && m.State == simOff && m.Phase != simDown
		s.mu.Unlock()
		if off {
			s.edit(id, "is set Down by a write of many", map[string]any{"phase": simDown})
		}
	}
}
