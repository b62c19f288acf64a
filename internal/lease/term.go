package lease

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// term is the time from winning a lease to giving it back.
type term struct {
	clock clock.Clock
	token int64
	// onEnd cancels the work.
	onEnd context.CancelCauseFunc

	mu sync.Mutex
	// until is when the trust runs out, on the holder's clock.
	until time.Time
	// over, if not nil, says why the term is over. It never comes back.
	over error
}

func newTerm(c clock.Clock, token int64, until time.Time) *term {
	return &term{clock: c, token: token, until: until, onEnd: func(error) {}}
}

// renewed extends the trust after a renewal that was sent so that it reaches
// until then.
func (t *term) renewed(until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over == nil && t.clock.Now().Before(t.until) && until.After(t.until) {
		t.until = until
	}
}

// left is how much longer the term is trusted; 0 or less once it is over.
func (t *term) left() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over != nil {
		return 0
	}
	return t.until.Sub(t.clock.Now())
}

// end ends the term and cancels the work.
func (t *term) end(why error) {
	t.mu.Lock()
	if t.over == nil {
		t.over = why
	}
	why = t.over
	t.mu.Unlock()
	t.onEnd(why)
}

// isOver reports whether the lease was lost, or the trust in it.
func (t *term) isOver() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over != nil
}

// check compares with the clock, rather than to wait for a timer to fire.
func (t *term) check() error {
	if left := t.left(); left <= 0 {
		t.end(fmt.Errorf("%w: it could not be renewed in time", ErrLost))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// termKey is the key of a work's term in its context.
type termKey struct{}

// Check returns an error if ctx has ended, or if it is that of work under a
// lease (or derived from it) which this replica cannot trust to hold any more:
// [ErrLost]. Work calls it right before each act that another holder must not
// see happen. For contexts that have nothing to do with a lease it is ctx.Err.
func Check(ctx context.Context) error {
	if t, ok := ctx.Value(termKey{}).(*term); ok {
		if err := t.check(); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
