package enginetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// shrinkRuns bounds how often a failing simulation is run again.
const shrinkRuns = 400

// Check runs the simulation, and fails the test if a property does not hold:
// with the seed, the shortest schedule that was found to violate the same
// property, and what was done with the document then.
func (c Sim) Check(t *testing.T) SimResult {
	t.Helper()
	r := c.Run(t)
	if r.Violation != nil {
		small, last := c.Shrink(t, r)
		t.Error(small.report(last))
	}
	return r
}

// schedule names what is let happen.
type schedule struct {
	faults map[faultKey]bool
	events map[int]bool
}

// faultKey is a fault, whatever the time and the consequences.
type faultKey struct {
	replica, document, n int
	op                   string
}

func (f Fault) key() faultKey { return faultKey{f.Replica, f.Document, f.N, f.Op} }

func (s *schedule) fault(f Fault) bool { return s == nil || s.faults[f.key()] }
func (s *schedule) event(n int) bool   { return s == nil || s.events[n] }

// happening is a fault or an event.
type happening struct {
	fault *Fault
	event *Event
}

func (h happening) at() time.Duration {
	if h.fault != nil {
		return h.fault.At
	}
	return h.event.At
}

func (h happening) String() string {
	if h.fault != nil {
		return h.fault.String()
	}
	return h.event.String()
}

// happenings are all faults and events of a run, in order.
func (r SimResult) happenings() (all []happening) {
	for i := range r.Faults {
		all = append(all, happening{fault: &r.Faults[i]})
	}
	for i := range r.Events {
		all = append(all, happening{event: &r.Events[i]})
	}
	slices.SortStableFunc(all, func(a, b happening) int { return cmp.Compare(a.at(), b.at()) })
	return all
}

// with is the simulation of some happenings only.
func (c Sim) with(some []happening) Sim {
	c.only = &schedule{faults: map[faultKey]bool{}, events: map[int]bool{}}
	for _, h := range some {
		if h.fault != nil {
			c.only.faults[h.fault.key()] = true
		} else {
			c.only.events[h.event.N] = true
		}
	}
	return c
}

// Shrink looks for a shorter simulation that violates the property that failed
// did: in less time, and with as few faults and events as can be. It returns
// the shortest, and its run.
func (c Sim) Shrink(t *testing.T, failed SimResult) (Sim, SimResult) {
	t.Helper()
	s := shrinker{t: t, property: failed.Violation.Property, best: c, run: failed}
	if failed.Violation.At < c.Faulty || c.Faulty == 0 && failed.Violation.At < simFaulty {
		shorter := c
		shorter.Faulty = failed.Violation.At
		s.try(shorter)
	}
	s.minimise()
	return s.best, s.run
}

type shrinker struct {
	t        *testing.T
	property Property
	best     Sim
	run      SimResult
	runs     int
}

// try runs a simulation, and keeps it if it fails as it should.
func (s *shrinker) try(c Sim) bool {
	s.runs++
	r := c.Run(s.t)
	if r.Violation == nil || r.Violation.Property != s.property {
		return false
	}
	s.best, s.run = c, r
	return true
}

// minimise leaves out happenings: halves first, then ever smaller parts.
func (s *shrinker) minimise() {
	all := s.run.happenings()
	for part := (len(all) + 1) / 2; part > 0; {
		left := false
		for at := 0; at < len(all) && s.runs < shrinkRuns; {
			rest := slices.Concat(all[:at], all[min(len(all), at+part):])
			if s.try(s.best.with(rest)) {
				all, left = s.run.happenings(), true
			} else {
				at += part
			}
		}
		switch {
		case s.runs >= shrinkRuns:
			return
		case !left || part > 1:
			part /= 2
		}
	}
}

// report is what a failed test says.
func (c Sim) report(r SimResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s\n\nThe shortest schedule found:\n", c.Seed, r.Violation)
	for _, h := range r.happenings() {
		fmt.Fprintf(&b, "%s\n", h)
	}
	fmt.Fprintf(&b, "\nWhat became of %s:\n", r.Violation.Document)
	var lines []string
	for _, l := range r.Trace {
		if strings.Contains(l, " "+r.Violation.Document+" ") {
			lines = append(lines, l)
		}
	}
	for _, l := range lines[max(0, len(lines)-40):] {
		fmt.Fprintf(&b, "%s\n", l)
	}
	fmt.Fprintf(&b, "\nRun it again: go test ./pkg/engine/enginetest -run 'TestSimulation$' -sim.seed=%d", c.Seed)
	if c.Without != "" {
		fmt.Fprintf(&b, " -sim.without=%q", c.Without)
	}
	return b.String()
}
