package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testrecord"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// result is what a run has shown.
type result struct {
	mu         sync.Mutex
	violations map[string][]string

	settled, deleted              time.Duration
	unsettled, documents, orphans []string

	calls, unanswered, processes int
	claims, renewals, writes     int
	refusals, steps, requests    int
	lost                         map[string]int
	histories, undecided         int
	takeovers                    []time.Duration
	latest                       time.Duration
}

// violate records a violation of one of the properties.
func (r *result) violate(property, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.violations == nil {
		r.violations = map[string][]string{}
	}
	r.violations[property] = append(r.violations[property], text)
}

// check decides from the records.
func (w *world) check() {
	calls, err := readRecords(w.o.folder)
	if err != nil {
		w.result.violate("record", err.Error())
		return
	}
	say("checking %d recorded calls", len(calls))
	w.count(calls)
	w.checkLocks(calls)
	w.checkEdges(calls)
	w.checkExclusion(calls)
	w.checkTrust(calls)
	w.checkRemovals(calls)
	w.audit.mu.Lock()
	defer w.audit.mu.Unlock()
	for _, v := range w.audit.violations {
		w.result.violate("objects", v)
	}
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	for _, v := range w.history.violations {
		w.result.violate("phases", v)
	}
}

func (w *world) count(calls []*call) {
	r := &w.result
	r.lost = map[string]int{}
	processes := map[string]bool{}
	for _, c := range calls {
		processes[c.process] = true
		switch c.Op {
		case testrecord.OpLost:
			r.lost[c.Name]++
			continue
		case testrecord.OpClaim:
			if c.end != nil {
				r.claims += len(c.end.Docs)
			}
		case string(engine.Renew):
			r.renewals += len(c.Docs)
		case testrecord.OpStep:
			r.steps++
		case testrecord.OpHTTP:
			r.requests++
		case testrecord.OpVerify:
		default:
			r.writes += len(c.Docs)
		}
		r.calls++
		if c.end == nil || c.end.Error != "" {
			r.unanswered++
		}
		if c.end != nil && c.Op != testrecord.OpClaim {
			r.refusals += len(c.end.Lost)
			if c.end.LockLost && c.Op != testrecord.OpStep {
				r.refusals++
			}
		}
	}
	r.processes = len(processes)
}

// checkLocks has porcupine look for an order that explains each document's
// history.
func (w *world) checkLocks(calls []*call) {
	for key, history := range lockHistories(calls, w.o.lock, w.freezes) {
		w.result.histories++
		switch porcupine.CheckOperationsTimeout(lockModel, history, 20*time.Second) {
		case porcupine.Illegal:
			w.result.violate("locks", fmt.Sprintf("the history of %s cannot be explained: %s", key, describe(history)))
		case porcupine.Unknown:
			w.result.undecided++
		case porcupine.Ok:
		}
	}
}

// describe finds the shortest beginning of a history that is wrong, and shows
// its end.
func describe(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Return - b.Return) })
	wrong := len(history)
	for n := 1; n < len(history); n++ {
		if porcupine.CheckOperationsTimeout(lockModel, history[:n], time.Second) == porcupine.Illegal {
			wrong = n
			break
		}
	}
	text := ""
	for _, op := range history[max(0, wrong-8):wrong] {
		text += fmt.Sprintf("\n      %d..%d %s", op.Call/1e6, op.Return/1e6, op.Input)
	}
	return text
}

// checkEdges looks at each move that was accepted.
func (w *world) checkEdges(calls []*call) {
	for _, c := range calls {
		if c.Op != string(engine.Move) {
			continue
		}
		life := lifecycles[resource.Kind(c.Kind)]
		for _, d := range c.Docs {
			if c.outcome(d.ID) == accepted && !life.edges[edge{engine.Phase(c.From), engine.Phase(c.To)}] {
				w.result.violate("phases", fmt.Sprintf("%s %s was moved from %s to %s by %s, which is no edge", c.Kind, d.ID, c.From, c.To, c.process))
			}
		}
	}
}

// held is what a holder knows of its claim.
type held struct {
	process string
	granted []grant // the claim, and each renewal
	ended   bool    // by a write that was, or may have been, accepted
}

// grant is a claim or a renewal: sent, and answered.
type grant struct{ sent, answered int64 }

// claimKey is one claim on one document.
type claimKey struct {
	kind, id string
	token    int64
}

// keyOf is the claim that a step or a request is made under.
func keyOf(c *call) claimKey { return claimKey{c.Kind, c.Docs[0].ID, c.Docs[0].Token} }

// claimsOf collects the claims that were answered.
func claimsOf(calls []*call) map[claimKey]*held {
	claims := map[claimKey]*held{}
	for _, c := range calls {
		if c.Op == testrecord.OpClaim {
			if c.end == nil {
				continue
			}
			for _, d := range c.end.Docs {
				claims[claimKey{c.Kind, d.ID, d.Token}] = &held{process: c.process, granted: []grant{{c.At, c.end.At}}}
			}
			continue
		}
		for _, d := range c.Docs {
			h := claims[claimKey{c.Kind, d.ID, d.Token}]
			kind := engine.ChangeKind(c.Op)
			switch {
			case h == nil || h.process != c.process || c.outcome(d.ID) == refused:
			case kind == engine.Checkpoint || kind == engine.Renew:
				if c.outcome(d.ID) == accepted {
					h.granted = append(h.granted, grant{c.At, c.end.At})
				}
			case slices.Contains(ending, kind):
				h.ended = true
			}
		}
	}
	return claims
}

var ending = []engine.ChangeKind{engine.Move, engine.Relock, engine.Fail, engine.Rest, engine.Release, engine.Purge}

// checkExclusion looks whether anybody was given a document before the lock of
// its last holder had expired, by the machine's monotonic clock. It also
// measures how long a document waited for its next holder when the last one
// had not ended its claim.
func (w *world) checkExclusion(calls []*call) {
	claims := claimsOf(calls)
	for key, h := range claims {
		next := claims[claimKey{key.kind, key.id, key.token + 1}]
		if h.ended || next == nil {
			continue
		}
		// The write that granted the lock was made after it was sent.
		from := slices.MaxFunc(h.granted, func(a, b grant) int { return int(a.sent - b.sent) }).sent
		waited := time.Duration(next.granted[0].answered - from)
		if waited < w.o.lock-5*time.Millisecond {
			w.result.violate("exclusion", fmt.Sprintf("%s %s was claimed by %s (token %d) %s after %s was sure of it", key.kind, key.id, next.process, key.token+1, waited, h.process))
		}
		if w.faults.killed[h.process] {
			w.result.takeovers = append(w.result.takeovers, waited)
		}
	}
}

// trustSlack is how much later than the end of its trust window a holder that
// runs may still be seen at work: two busy processors are slow to wake it up.
const trustSlack = 1500 * time.Millisecond

// tookBack is what the Kubernetes driver's errors begin with where an object was
// created under a claim that proved to be lost. It then looks at the object, and
// removes it unless somebody else has taken it on: its step takes as long as that,
// on a line that may be slow.
const tookBack = "after creating "

// checkTrust looks whether steps, and the requests they make, were under way
// after the trust window of their claim had closed; the time for which their
// process was stopped does not count. Removals may come later, and their step
// with them: of what was made under a claim that proved to be lost.
func (w *world) checkTrust(calls []*call) {
	claims := claimsOf(calls)
	window := (w.o.lock - w.o.lock/6).Nanoseconds()
	removal := map[claimKey]int64{} // the latest one begun
	for _, c := range calls {
		if c.Op == testrecord.OpHTTP && c.Method == http.MethodDelete {
			removal[keyOf(c)] = c.At
		}
	}
	for _, c := range calls {
		var at int64
		switch {
		case c.Op == testrecord.OpStep && c.end != nil:
			at = c.end.At
		case c.Op == testrecord.OpHTTP && c.Method != http.MethodDelete:
			at = c.At
		default:
			continue
		}
		h := claims[keyOf(c)]
		if h == nil || h.process != c.process {
			continue
		}
		var until int64
		for _, g := range h.granted {
			if g.answered <= at {
				until = max(until, g.sent+window)
			}
		}
		if c.Op == testrecord.OpStep && (removal[keyOf(c)] > until || strings.HasPrefix(c.end.Error, tookBack)) {
			continue
		}
		late := time.Duration(at - until - w.stopped(c.process, until, at))
		w.result.latest = max(w.result.latest, late)
		if late > trustSlack {
			w.result.violate("trust", fmt.Sprintf("%s was at %s %s of %s %s (token %d) %s after its trust window", c.process, c.Op, c.Name+c.Method+" "+c.Path, c.Kind, c.Docs[0].ID, c.Docs[0].Token, late))
		}
	}
}

// stopped is for how long a process was stopped between two times, by itself
// or with all others.
func (w *world) stopped(process string, from, to int64) int64 {
	sum := w.freezes.between(from, to).Nanoseconds()
	for _, p := range w.replicas.pauses {
		if p.process == process {
			sum += max(0, min(to, p.to)-max(from, p.from))
		}
	}
	return sum
}

// checkRemovals looks whether an object was removed by a claim older than the
// one that had written it last.
func (w *world) checkRemovals(calls []*call) {
	for _, c := range calls {
		if c.Op != testrecord.OpHTTP || c.Method != http.MethodDelete || c.end == nil || c.end.Status/100 != 2 || c.UID == "" {
			continue
		}
		owner, token, ok := w.audit.removed(c.UID)
		if ok && owner == c.Kind+"/"+c.Docs[0].ID && token > c.Docs[0].Token {
			w.result.violate("objects", fmt.Sprintf("%s was removed under token %d of %s, after token %d had written it", c.Path, c.Docs[0].Token, owner, token))
		}
	}
}
