package enginetest

import (
	"fmt"
	"time"
)

// dice decide what happens. Each decision is a function of the seed and of
// what it is about (which replica, which operation, which document, which time
// it is made), not of the order in which decisions are asked for: leaving out
// one fault leaves the others as they were, as far as can be.
type dice struct{ seed uint64 }

// What decisions are about.
const (
	rollDrift = iota + 1
	rollSkew
	rollFault
	rollDelay
	rollLatency
	rollEvent
	rollPlan
	rollSpread
	rollSize
)

// roll is a number that all bits of what it is about have a part in.
func (d dice) roll(about ...int) uint64 {
	h := mix(d.seed)
	for _, a := range about {
		h = mix(h ^ uint64(a)) //nolint:gosec // all bits count
	}
	return h
}

// mix is the finalizer of splitmix64.
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// part is a number in [0, 1).
func (d dice) part(about ...int) float64 { return float64(d.roll(about...)>>11) / (1 << 53) }

// among is a number in [0, n).
func (d dice) among(n int, about ...int) int { return int(d.roll(about...) % uint64(n)) } //nolint:gosec // n is small

// between is a duration between two.
func (d dice) between(least, most time.Duration, about ...int) time.Duration {
	return least + time.Duration(d.part(about...)*float64(most-least))
}

// opCode numbers the operations of a store.
type opCode int

const (
	opDue opCode = iota
	opClaim
	opApply
	opUpdate
	opVerify
	opStep
	opUser
)

func (o opCode) String() string {
	return [...]string{"due", "claim", "apply", "update", "verify", "step", "user"}[o]
}

// Mishap is what goes wrong with one operation.
type Mishap int

// The mishaps. A late operation is made long after its caller gave up; a slow
// one may be, too.
const (
	None Mishap = iota
	Refused
	AnswerLost
	Late
	Slow
)

func (m Mishap) String() string {
	return [...]string{"goes well", "is refused", "is made, but its answer is lost", "arrives late", "is slow"}[m]
}

// Fault is one mishap: of the nth operation of its sort, of that replica, on
// that document (-1: on none in particular).
type Fault struct {
	Replica  int
	Op       string
	Document int
	N        int
	Mishap   Mishap
	Delay    time.Duration
	At       time.Duration
}

func (f Fault) String() string {
	what := fmt.Sprintf("%9s  %s %d of replica %d", f.At.Round(time.Millisecond), f.Op, f.N, f.Replica)
	if f.Document >= 0 {
		what += fmt.Sprintf(" on d%d", f.Document)
	}
	if f.Mishap == Late || f.Mishap == Slow {
		return fmt.Sprintf("%s %s, by %s", what, f.Mishap, f.Delay.Round(time.Millisecond))
	}
	return what + " " + f.Mishap.String()
}

// mishap decides about one operation. Of a hundred, eight go wrong.
func (d dice) mishap(replica int, op opCode, document, n int) (Mishap, time.Duration) {
	about := []int{rollFault, replica, int(op), document, n}
	switch p := d.part(about...); {
	case p < 0.02:
		return Refused, 0
	case p < 0.04:
		return AnswerLost, 0
	case p < 0.06:
		return Late, d.between(10*time.Second, 90*time.Second, append(about, rollDelay)...)
	case p < 0.08:
		return Slow, d.between(500*time.Millisecond, 20*time.Second, append(about, rollDelay)...)
	}
	return None, 0
}
