package main

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-io/lockstep/internal/testrecord"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// The model of one document's lock, as porcupine checks it: whatever happens
// at once on all replicas must be explained by some order in which
//
//   - each claim raises the token by one;
//   - a write is accepted if, and only if, it carries the newest token, the
//     claim has not ended, and a move finds the phase that it moves from;
//   - the phase changes by such moves only;
//   - a call that failed, or whose process was killed, was made or was not.

// lockState is a document.
type lockState struct {
	// known: a claim was seen. What a document began with is not known.
	known bool
	// gone: it was removed. It can be made again, with tokens of its own.
	gone  bool
	token int64
	live  bool
	phase engine.Phase
}

// lockOp is a call for one document.
type lockOp struct {
	op      string
	token   int64 // of the call; of a claim, the one it took
	from    engine.Phase
	to      engine.Phase // of a claim, the phase it found
	outcome outcome
	process string
}

func (o lockOp) String() string {
	outcomes := [...]string{"unknown", "accepted", "refused"}
	return fmt.Sprintf("%s token %d %s>%s %s (%s)", o.op, o.token, o.from, o.to, outcomes[o.outcome], o.process)
}

var lockModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{lockState{}} },
	Step: func(state, input, _ any) []any {
		s, op := state.(lockState), input.(lockOp) //nolint:forcetypeassert // the model's own
		var next []any
		for _, n := range s.after(op) {
			next = append(next, n)
		}
		return next
	},
}).ToModel()

// after returns what the document can be after the call; nothing if the call
// cannot have gone that way.
func (s lockState) after(op lockOp) []lockState {
	if op.op == testrecord.OpClaim {
		return s.afterClaim(op)
	}
	holds := s.holds(op)
	switch op.outcome {
	case refused:
		if holds && s.known {
			return nil
		}
		return []lockState{s}
	case accepted:
		if !holds {
			return nil
		}
		return []lockState{s.changed(op)}
	}
	if holds {
		return []lockState{s, s.changed(op)}
	}
	return []lockState{s}
}

func (s lockState) afterClaim(op lockOp) []lockState {
	if op.outcome == unknown {
		if !s.known || s.gone {
			return []lockState{s}
		}
		claimed := s
		claimed.token++
		claimed.live = true
		return []lockState{s, claimed}
	}
	claimed := lockState{known: true, token: op.token, live: true, phase: op.to}
	if s.known && !s.gone && (op.token != s.token+1 || op.to != s.phase) {
		return nil
	}
	return []lockState{claimed}
}

// holds reports whether a write may be made.
func (s lockState) holds(op lockOp) bool {
	return s.known && !s.gone && s.live && s.token == op.token && (op.op != string(engine.Move) || s.phase == op.from)
}

// changed is the document after a write.
func (s lockState) changed(op lockOp) lockState {
	switch kind := engine.ChangeKind(op.op); kind {
	case engine.Move:
		s.phase, s.live = op.to, false
	case engine.Purge:
		s.gone, s.live = true, false
	case engine.Relock, engine.Fail, engine.Rest, engine.Release:
		s.live = false
	case engine.Checkpoint, engine.Renew:
	}
	return s
}

// abandoned is how long after it began a call of which nothing was heard may
// still be made. Servers give up sooner when their client has gone.
const abandoned = time.Minute

// lockHistories sorts the calls by document.
func lockHistories(calls []*call, lock time.Duration, f *freezes) map[string][]porcupine.Operation {
	histories := map[string][]porcupine.Operation{}
	add := func(c *call, id string, op lockOp) {
		op.process = c.process
		until := c.At + abandoned.Nanoseconds()
		until += f.between(c.At, until).Nanoseconds()
		if op.outcome != unknown {
			until = c.end.At
		}
		key := c.Kind + "/" + id
		histories[key] = append(histories[key], porcupine.Operation{Input: op, Call: c.At, Return: until})
	}
	for _, c := range calls {
		switch c.Op {
		case testrecord.OpStep, testrecord.OpHTTP, testrecord.OpLost:
		case testrecord.OpClaim:
			addClaims(c, lock, add)
		default:
			for _, d := range c.Docs {
				add(c, d.ID, lockOp{op: c.Op, token: d.Token, from: engine.Phase(c.From), to: engine.Phase(c.To), outcome: c.outcome(d.ID)})
			}
		}
	}
	return histories
}

// addClaims adds a claim of several documents. One that took a document and
// could not tell, because it was stopped for so long that another had claimed
// it by then, is as good as unanswered.
func addClaims(c *call, lock time.Duration, add func(c *call, id string, op lockOp)) {
	taken := map[string]bool{}
	answered := c.end != nil && c.end.Error == ""
	if answered {
		for _, d := range c.end.Docs {
			taken[d.ID] = true
			add(c, d.ID, lockOp{op: testrecord.OpClaim, token: d.Token, to: d.Phase, outcome: accepted})
		}
	}
	for _, d := range c.Docs {
		if !taken[d.ID] && (!answered || c.end.At-c.At > lock.Nanoseconds()) {
			add(c, d.ID, lockOp{op: testrecord.OpClaim, outcome: unknown})
		}
	}
}
