package engine_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

// recorder is an observer that counts.
type recorder struct {
	engine.NoObserver
	mu     sync.Mutex
	counts map[string]int
}

var _ engine.Observer = (*recorder)(nil)

func newRecorder() *recorder { return &recorder{counts: map[string]int{}} }

func (r *recorder) add(what string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what] += n
}

// count is how often something was observed.
func (r *recorder) count(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[what]
}

func (r *recorder) Claimed(_ string, requested, got int) {
	r.add("requested", requested)
	r.add("claimed", got)
}

func (r *recorder) StepRan(_, step, result string, _ time.Duration) { r.add(step+" "+result, 1) }

func (r *recorder) Changed(_ string, change engine.ChangeKind, n int) { r.add(string(change), n) }

func (r *recorder) LockLost(_, where string) { r.add("lost: "+where, 1) }

func (r *recorder) Overdue(string, engine.Phase) { r.add("overdue", 1) }

func (r *recorder) TicksMissed(_ string, n int) { r.add("missed", n) }

func (r *recorder) StoreFailed(_, call string) { r.add("failed: "+call, 1) }

// journal is a list of what happened when, written from many goroutines.
type journal struct {
	mu      sync.Mutex
	entries []entry
}

type entry struct {
	what string
	at   time.Time
}

func (j *journal) note(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry{what, time.Now()})
}

func (j *journal) all() []entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

// times are when something happened.
func (j *journal) times(what string) []time.Time {
	var times []time.Time
	for _, e := range j.all() {
		if e.what == what {
			times = append(times, e.at)
		}
	}
	return times
}

func (j *journal) count(what string) int { return len(j.times(what)) }

// cable is a replica's connection to the store. What it does to an operation
// is a function that the test may change at any time.
type cable struct {
	mu            sync.Mutex
	before, after func(ctx context.Context, op enginetest.Op) error
}

// to is the store at the other end.
func (c *cable) to(store engine.Store[*thing]) engine.Store[*thing] {
	return enginetest.WithHooks(store, enginetest.Hooks{
		Before: func(ctx context.Context, op enginetest.Op) error { return c.hook(&c.before, ctx, op) },
		After:  func(ctx context.Context, op enginetest.Op) error { return c.hook(&c.after, ctx, op) },
	})
}

func (c *cable) hook(which *func(context.Context, enginetest.Op) error, ctx context.Context, op enginetest.Op) error {
	c.mu.Lock()
	hook := *which
	c.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(ctx, op)
}

func (c *cable) onBefore(hook func(context.Context, enginetest.Op) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = hook
}

func (c *cable) onAfter(hook func(context.Context, enginetest.Op) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after = hook
}

// cut lets nothing through any more; mend lets all through again.
func (c *cable) cut()  { c.onBefore(func(context.Context, enginetest.Op) error { return errCut }) }
func (c *cable) mend() { c.onBefore(nil); c.onAfter(nil) }
