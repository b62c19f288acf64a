package enginetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Sim is a simulation of replicas that share a store: real services, in
// virtual time, on a database and a network that do what they should not.
// Everything that happens follows from the seed. The properties that are
// checked, after every operation on the store, are the [Property] constants.
type Sim struct {
	Seed      uint64
	Replicas  int           // by the seed: 2 to 5
	Documents int           // by the seed: 1 to 8
	Faulty    time.Duration // how long things go wrong; 5 minutes
	// Without is a protection to take out, so as to see that it is missed.
	Without Protection
	// only leaves out all that it does not name of what the seed would let
	// happen; nil leaves out nothing.
	only *schedule
}

// Defaults of a [Sim].
const (
	simFaulty = 5 * time.Minute
	// simSettle is how long everything may take to settle once faults stop.
	simSettle = 15 * time.Minute
)

// SimResult is what a simulation found.
type SimResult struct {
	// Steps counts operations on the store, and runs of a kind's steps.
	Steps int
	// Virtual is how much time passed in the simulation.
	Virtual time.Duration
	// Violation is the first property that did not hold; nil if all did.
	Violation *Violation
	// Faults and Events are what was let happen, in order.
	Faults []Fault
	Events []Event
	// Trace tells the latest operations.
	Trace []string
}

// simulation is one run.
type simulation struct {
	Sim
	dice  dice
	began time.Time
	rate  float64 // of the database's clock
	docs  []string
	store engine.Store[*SimDocument] // what replicas reach, in the end
	mem   *MemStore[*SimDocument]
	world *simWorld
	late  sync.WaitGroup // writes that arrive after their caller has gone
	ended chan struct{}  // closed by the first violation

	mu     sync.Mutex // one operation at a time
	caller *port      // who makes it
	quiet  bool       // no more faults
	closed bool       // no more processes
	counts map[count]int
	result SimResult
	trace  ring
	judge  judge
	ports  []*port // the process of each replica
	all    []*port // and those that were before
}

// Run runs the simulation in a bubble of virtual time.
func (c Sim) Run(t *testing.T) SimResult {
	t.Helper()
	if c.Replicas == 0 {
		c.Replicas = 2 + dice{c.Seed}.among(4, rollSize, 0)
	}
	if c.Documents == 0 {
		c.Documents = 1 + dice{c.Seed}.among(8, rollSize, 1)
	}
	if c.Faulty == 0 {
		c.Faulty = simFaulty
	}
	var result SimResult
	synctest.Test(t, func(*testing.T) { result = newSimulation(c).run() })
	return result
}

func newSimulation(c Sim) *simulation {
	s := &simulation{Sim: c, dice: dice{c.Seed}, began: time.Now(), ended: make(chan struct{}), counts: map[count]int{}}
	// The database's clock is years away from that of the replicas, and goes
	// faster or slower than theirs by up to a tenth: the margin allows for it.
	s.rate = 0.9 + 0.2*s.dice.part(rollDrift)
	s.mem = NewMemStore[*SimDocument](s.clock)
	s.store = s.mem
	if c.Without != "" {
		s.store = &unprotected{MemStore: s.mem, sim: s}
	}
	s.world = newSimWorld(s)
	s.judge = newJudge(s)
	for i := range c.Documents {
		s.docs = append(s.docs, fmt.Sprintf("d%d", i))
	}
	return s
}

// clock is the database's.
func (s *simulation) clock() time.Time {
	now := s.began.AddDate(7, 0, 0).Add(time.Duration(float64(time.Since(s.began)) * s.rate))
	if s.Without == DatabaseTime && s.caller != nil {
		now = now.Add(s.caller.skew)
	}
	return now
}

// truth is the database's clock, whatever protection is out.
func (s *simulation) truth() time.Time {
	caller := s.caller
	s.caller = nil
	defer func() { s.caller = caller }()
	return s.mem.clock()
}

// run lets things happen, then stops all faults and waits for everything to
// settle.
func (s *simulation) run() SimResult {
	for i := range s.docs {
		s.insert(i)
	}
	for i := range s.Replicas {
		p := newPort(s, i)
		s.mu.Lock()
		p.start() // before others can see it
		s.ports, s.all = append(s.ports, p), append(s.all, p)
		s.mu.Unlock()
	}
	s.happen()
	s.calm()
	for end := time.Now().Add(simSettle); !s.over() && !s.settled(); s.pass(time.Second) {
		if time.Now().After(end) {
			s.mu.Lock()
			s.judge.unsettled()
			s.mu.Unlock()
		}
	}
	s.mu.Lock()
	s.closed = true
	all := s.all
	s.mu.Unlock()
	for _, p := range all {
		p.kill()
		p.wait()
	}
	s.late.Wait()
	s.result.Virtual = time.Since(s.began)
	s.result.Trace = s.trace.strings()
	return s.result
}

// over reports whether a property has been violated.
func (s *simulation) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// pass waits, or returns at once when it is over.
func (s *simulation) pass(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ended:
	}
}

// count is what is counted: operations of one sort, of one replica, on one
// document.
type count struct {
	replica  int
	op       opCode
	document int
}

// count returns the number of the operation. The caller holds the lock.
func (s *simulation) count(replica int, op opCode, document int) int {
	c := count{replica, op, document}
	s.counts[c]++
	return s.counts[c]
}

// atStore makes one operation on the store on behalf of a replica: alone, and
// counted.
func atStore[T any](s *simulation, p *port, do func(ctx context.Context) (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Steps++
	s.caller = p
	defer func() { s.caller = nil }()
	return do(context.Background())
}
