package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"go.uber.org/zap"
)

// Work is what runs under a lease. It ends when its context does, and is run
// again when the lease is won again; what it returns by itself ends [Elector.Run].
// The token is higher than that of all terms before this one.
type Work func(ctx context.Context, token int64) error

// Run runs work while, and only while, this replica holds the lease of that
// name. If the lease is lost it ends the work's context, waits for the work to
// end, and tries to win the lease again. It returns nil when ctx has ended, and
// otherwise what the work returned by itself; the lease has been released then.
func (e *Elector) Run(ctx context.Context, name string, work Work) error {
	lock := e.store.Lock(name, Campaign{
		Identity: identity(e.opts.Holder), Duration: e.opts.LeaseDuration, Clock: e.opts.Clock,
	})
	log := e.opts.Log.With(zap.String("lease", name))
	for ctx.Err() == nil {
		t := e.win(ctx, lock, log)
		if t == nil {
			return nil
		}
		e.opts.OnChange(name, true)
		log.Info("lease won", zap.Int64("token", t.token))
		err := e.hold(ctx, lock, t, work, log)
		e.opts.OnChange(name, false)
		log.Info("lease given up", zap.Int64("token", t.token), zap.Bool("lost", t.isOver()))
		if ctx.Err() == nil && !t.isOver() {
			return err
		}
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, ErrLost) {
			log.Warn("work under the lease failed as it ended", zap.Error(err))
		}
	}
	return nil
}

// identity is a campaign's: a replica that starts again under the same name is
// another one, and must neither renew nor release what is not its own.
func identity(holder string) string { return holder + "_" + strings.ToLower(rand.Text()[:10]) }

// win tries until the lease is won, or ctx has ended: then it returns nil.
func (e *Elector) win(ctx context.Context, lock Lock, log *zap.Logger) *term {
	last := ""
	for {
		t, unknown, err := e.try(ctx, lock)
		if t != nil || ctx.Err() != nil {
			if t == nil && unknown {
				// The attempt that was broken off may have won.
				e.release(ctx, lock, log)
			}
			return t
		}
		if err != nil && err.Error() != last {
			last = err.Error()
			log.Warn("cannot ask for the lease; trying again", zap.Error(err))
		}
		e.pause(ctx)
	}
}

// try asks for the lease once. unknown says that the answer is not known: the
// lease may have been won.
func (e *Elector) try(ctx context.Context, lock Lock) (t *term, unknown bool, err error) {
	attempt, cancel := e.attempt(ctx)
	defer cancel()
	sent := e.opts.Clock.Now()
	token, held, err := lock.Acquire(attempt)
	if err != nil || !held {
		return nil, err != nil, err
	}
	t = newTerm(e.opts.Clock, token, sent.Add(e.opts.RenewDeadline))
	if t.check() != nil {
		// The answer took so long that the term is over before it began. The
		// lease is ours still: the next attempt takes it anew.
		return nil, true, nil
	}
	return t, false, nil
}

// attempt bounds one request, so that another fits within the deadline.
func (e *Elector) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, e.opts.RenewDeadline/2)
}

// pause waits for about a retry period; longer by up to a fifth, so that rivals
// do not all ask at once.
func (e *Elector) pause(ctx context.Context) {
	timer := e.opts.Clock.NewTimer(jittered(e.opts.RetryPeriod))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

func jittered(d time.Duration) time.Duration {
	return d + time.Duration(math.Round(mathrand.Float64()*float64(d)/5)) //nolint:gosec // spreads requests
}

// hold runs the work of a term, and releases the lease when it has ended. It
// returns what the work returned.
func (e *Elector) hold(ctx context.Context, lock Lock, t *term, work Work, log *zap.Logger) error {
	workCtx, cancel := context.WithCancelCause(context.WithValue(ctx, termKey{}, t))
	t.onEnd = cancel
	stop := e.keep(ctx, lock, t, log)
	defer func() {
		stop()
		cancel(nil)
		// Also of a lease that may be lost: only our own would be released.
		e.release(ctx, lock, log)
	}()
	return work(workCtx, t.token)
}

// release gives the lease back, also when ctx has ended. Failing costs time
// only: the lease expires.
func (e *Elector) release(ctx context.Context, lock Lock, log *zap.Logger) {
	attempt, cancel := e.attempt(context.WithoutCancel(ctx))
	defer cancel()
	if err := lock.Release(attempt); err != nil {
		log.Warn("lease not released; it expires by itself", zap.Error(err))
	}
}
