package lease_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/lockstep-io/lockstep/internal/lease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds how long a test waits for what must happen.
const patience = 60 * time.Second

var errBoom = errors.New("boom")

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for began := time.Now(); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// link is a replica's connection to the store. Tests hold its requests, as a
// partition or a pause would, and lose its answers.
type link struct {
	mu    sync.Mutex
	gate  chan struct{} // closed when requests may pass; nil if they may
	asked atomic.Int64  // requests begun
	held  atomic.Int64  // requests waiting at the gate
	// lose, once set, lets the next write through and loses its answer.
	lose atomic.Bool
	// afterLoss, if set, is called when that has happened.
	afterLoss func()
}

// loses reports, once, that the answer to a write is to be lost.
func (l *link) loses() bool {
	if !l.lose.CompareAndSwap(true, false) {
		return false
	}
	if l.afterLoss != nil {
		l.afterLoss()
	}
	return true
}

func (l *link) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gate = make(chan struct{})
}

func (l *link) letGo() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gate != nil {
		close(l.gate)
		l.gate = nil
	}
}

// before is called with each request about a lease.
func (l *link) before(ctx context.Context) {
	l.asked.Add(1)
	l.mu.Lock()
	gate := l.gate
	l.mu.Unlock()
	if gate == nil {
		return
	}
	l.held.Add(1)
	defer l.held.Add(-1)
	select {
	case <-gate:
	case <-ctx.Done():
	}
}

// replica is an elector with a link and, if fake, a clock of the test's.
type replica struct {
	*lease.Elector
	link  *link
	clock *clocktesting.FakeClock
}

// A clocked replica has the usual lease, on a clock that stands still until it
// is stepped.
func (h *harness) clocked(t *testing.T) replica {
	return h.onClock(t, lease.Options{Holder: "clocked"})
}

// A frozen replica's lease is so short that it expires while the test waits.
// Its clock stands still: its timers do not fire, as those of a stopped process
// do not.
func (h *harness) frozen(t *testing.T) replica {
	return h.onClock(t, lease.Options{
		Holder: "frozen", LeaseDuration: 2 * time.Second, RenewDeadline: time.Second, RetryPeriod: 100 * time.Millisecond,
	})
}

func (h *harness) onClock(t *testing.T, opts lease.Options) replica {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Now().Add(-24 * time.Hour))
	opts.Clock = clock
	r := h.replica(t, opts)
	r.clock = clock
	return r
}

// An eager replica has the usual lease, and looks often.
func (h *harness) eager(t *testing.T) replica {
	return h.replica(t, lease.Options{Holder: "eager", RetryPeriod: 20 * time.Millisecond})
}

func (h *harness) replica(t *testing.T, opts lease.Options) replica {
	t.Helper()
	store, l := h.connect(t)
	t.Cleanup(l.letGo)
	opts.Log = zaptest.NewLogger(t)
	elector, err := lease.New(store, opts)
	if err != nil {
		t.Fatal(err)
	}
	return replica{Elector: elector, link: l}
}

// campaign is a Run under way, with a work that lasts until it is told to end.
type campaign struct {
	t      *testing.T
	begun  chan begun
	finish chan error
	// linger, if not nil, keeps the work from ending with its context.
	linger chan struct{}
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
}

type begun struct {
	ctx   context.Context
	token int64
}

func (r replica) run(t *testing.T, name string) *campaign { return r.lingering(t, name, nil) }

func (r replica) lingering(t *testing.T, name string, linger chan struct{}) *campaign {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &campaign{
		t: t, begun: make(chan begun, 100), finish: make(chan error), linger: linger, cancel: cancel, ended: make(chan struct{}),
	}
	go func() {
		defer close(c.ended)
		c.err = r.Run(ctx, name, c.work)
	}()
	t.Cleanup(c.stop)
	return c
}

func (c *campaign) work(ctx context.Context, token int64) error {
	c.begun <- begun{ctx, token}
	select {
	case err := <-c.finish:
		return err
	case <-ctx.Done():
	}
	if c.linger != nil {
		<-c.linger
	}
	return ctx.Err()
}

// wait waits until the work begins.
func (c *campaign) wait() begun {
	c.t.Helper()
	select {
	case b := <-c.begun:
		return b
	case <-time.After(patience):
		c.t.Fatal("the work did not begin")
		return begun{}
	}
}

// none fails if the work has begun.
func (c *campaign) none(when string) {
	c.t.Helper()
	select {
	case b := <-c.begun:
		c.t.Errorf("%s: work began, under token %d", when, b.token)
	default:
	}
}

// stop is a shutdown: it returns when Run has.
func (c *campaign) stop() {
	c.cancel()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Error("Run did not end")
	}
}
