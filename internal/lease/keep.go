package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"
)

// keep renews the lease and watches over the trust in it until stop is called,
// which returns when both have ended. The end of ctx does not end it: a holder
// that shuts down renews for as long as its work takes to end.
func (e *Elector) keep(ctx context.Context, lock Lock, t *term, log *zap.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { e.renew(ctx, lock, t, log) })
	wg.Go(func() { e.watch(ctx, t) })
	return func() { cancel(); wg.Wait() }
}

// renew renews every retry period until the lease is known to be lost. That the
// trust has run out does not end it: while the lease is not someone else's yet,
// renewing keeps others out until the work has ended.
func (e *Elector) renew(ctx context.Context, lock Lock, t *term, log *zap.Logger) {
	for {
		if !e.sleep(ctx, e.opts.RetryPeriod) {
			return
		}
		sent := e.opts.Clock.Now()
		attempt, cancel := e.attempt(ctx)
		err := lock.Renew(attempt)
		cancel()
		switch {
		case err == nil:
			t.renewed(sent.Add(e.opts.RenewDeadline))
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrLost):
			log.Warn("lease lost to another, or removed", zap.Error(err))
			t.end(err)
			return
		default:
			log.Warn("lease not renewed", zap.Error(err), zap.Duration("trusted for", t.left()))
		}
	}
}

// watch ends the term when the trust in it runs out.
func (e *Elector) watch(ctx context.Context, t *term) {
	for {
		if t.check() != nil || !e.sleep(ctx, t.left()) {
			return
		}
	}
}

// sleep reports whether it slept to the end.
func (e *Elector) sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := e.opts.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}
