package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"sync"
	"time"
)

// Defaults of [Options].
const (
	DefaultWorkers  = 8
	DefaultInterval = time.Second
	DefaultBatch    = 512
	DefaultGrace    = 60 * time.Second
)

// Options configure a [Service]. The zero value of each field is its default.
type Options struct {
	// Holder names this replica in lockedBy. It must be unique among replicas;
	// required.
	Holder string
	// Workers is how many documents are worked on at once.
	Workers int
	// Interval is the tick: how often the store is asked for work when no hint
	// comes.
	Interval time.Duration
	// Batch is the most documents claimed in one write. Batches are as small
	// as the pool of workers where documents take long, and grow up to this
	// where they take little.
	Batch int
	// Grace is how long work in flight may go on after the context of
	// [Service.Run] has ended.
	Grace time.Duration
	// Margin is how long before the lock's expiry the trust window closes; a
	// sixth of the lock timeout. It covers the drift between this replica's
	// monotonic clock and the database's over one lock timeout, and the time a
	// call on its way still needs to be refused or to arrive.
	Margin time.Duration
	// Mine, if not nil, says which documents fall to this replica: it claims
	// those first, and others only if they are still due a tick later. Hints
	// are followed in any case. Replicas may disagree about it for a while, or
	// for good: it cuts contention, and nothing rests on it.
	Mine     func(id string) bool
	Observer Observer
	Logger   *slog.Logger
	// Now reads the monotonic clock; [time.Now].
	Now func() time.Time
}

func (o Options) withDefaults(lockTimeout time.Duration) Options {
	o.Workers = cmp.Or(o.Workers, DefaultWorkers)
	o.Interval = cmp.Or(o.Interval, DefaultInterval)
	o.Batch = max(cmp.Or(o.Batch, DefaultBatch), o.Workers)
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	o.Margin = cmp.Or(o.Margin, lockTimeout/6)
	if o.Observer == nil {
		o.Observer = NoObserver{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Service is a task service: it moves the documents of one kind, on this
// replica. Any number of replicas may run one each on the same store.
type Service[D Document] struct {
	def    *Definition[D]
	store  Store[D]
	opts   Options
	rules  Rules
	window time.Duration // the trust window
	now    clock
	obs    Observer
	log    *slog.Logger
	onMove func(doc D, to Phase)

	applier *applier
	hints   hints
	share   share
	pool    pool[D]
}

// NewService returns a service that is started by [Service.Run].
func NewService[D Document](def *Definition[D], store Store[D], opts Options) *Service[D] {
	rules := def.Rules()
	opts = opts.withDefaults(rules.LockTimeout)
	s := &Service[D]{
		def: def, store: store, opts: opts, rules: rules,
		window: rules.LockTimeout - opts.Margin,
		now:    opts.Now, obs: opts.Observer, log: opts.Logger.With(slog.String("kind", def.Kind)),
		hints: newHints(), share: share{mine: opts.Mine}, pool: newPool[D](opts.Workers, opts.Batch),
	}
	s.applier = newApplier(s.now, s.applyObserved)
	return s
}

// OnMove calls f after each change of phase, and after a document was removed
// (with [Purged]), on the replica that made it. The document is as it was
// claimed, before the change. Use it to hint services whose documents wait for
// this one; it must return quickly. Call it before Run.
func (s *Service[D]) OnMove(f func(doc D, to Phase)) { s.onMove = f }

// Hint says that something has happened to documents, or to what they wait
// for: they are claimed at once if they can be. A hint that is lost costs
// time, nothing else. It never blocks.
func (s *Service[D]) Hint(ids ...string) { s.hints.add(ids...) }

// Run moves documents until ctx ends, then lets work in flight finish within
// the grace period, cancels what is left, unlocks what it can, and returns.
// It returns an error only if the definition or the options are wrong.
func (s *Service[D]) Run(ctx context.Context) error {
	if err := s.def.Validate(); err != nil {
		return err
	}
	if s.opts.Holder == "" {
		return fmt.Errorf("service of %s: Options.Holder is empty: name the replica", s.def.Kind)
	}
	if s.window <= 0 {
		return fmt.Errorf("service of %s: margin %s leaves no trust window in a lock timeout of %s",
			s.def.Kind, s.opts.Margin, s.rules.LockTimeout)
	}
	working, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)

	var workers sync.WaitGroup
	for range s.opts.Workers {
		workers.Go(func() { s.worker(ctx) })
	}
	s.fetch(ctx, working)

	finished := make(chan struct{})
	go func() { workers.Wait(); close(finished) }()
	s.pool.close()
	select {
	case <-finished:
	case <-time.After(s.opts.Grace):
		cancel(errors.New("shutting down: grace period is over"))
		<-finished
	}
	s.applier.wait()
	return nil
}

// fetch claims documents, at each tick and hint, until ctx ends. Only this
// goroutine asks the store for work; the workers do not.
func (s *Service[D]) fetch(ctx, working context.Context) {
	ticker := time.NewTicker(s.opts.Interval)
	defer ticker.Stop()
	offset := time.NewTimer(s.offset())
	defer offset.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-offset.C:
			ticker.Reset(s.opts.Interval)
			s.tick(ctx, working, ticker)
		case <-ticker.C:
			s.tick(ctx, working, ticker)
		case <-s.hints.wake:
			s.claimHinted(ctx, working)
		}
	}
}

// tick sweeps, and counts the ticks that pass meanwhile.
func (s *Service[D]) tick(ctx, working context.Context, ticker *time.Ticker) {
	began := s.now()
	s.sweep(ctx, working)
	if missed := int(s.now().Sub(began) / s.opts.Interval); missed > 0 {
		s.obs.TicksMissed(s.def.Kind, missed)
		select {
		case <-ticker.C: // one of those missed: not made up for
		default:
		}
	}
}

// offset spreads the replicas' ticks over the interval.
func (s *Service[D]) offset() time.Duration {
	h := fnv.New32a()
	h.Write([]byte(s.opts.Holder + "/" + s.def.Kind)) //nolint:errcheck // a hash never fails
	return time.Duration(h.Sum32()) % s.opts.Interval
}

// worker works on claimed documents until the pool is closed and empty.
func (s *Service[D]) worker(ctx context.Context) {
	for c := range s.pool.queue {
		s.carry(ctx, c)
	}
}

// carry works on one document and ends its claim. Once ctx has ended, it gives
// back what has not been begun.
func (s *Service[D]) carry(ctx context.Context, c *claim[D]) {
	m := c.doc.Lifecycle()
	switch {
	case c.lost():
		s.lockLost(c, "queue")
		s.release(c)
		return
	case ctx.Err() != nil || c.left(s.now) < s.window/2:
		// Shutting down, or claimed too long ago to begin with it.
		s.finish(c, s.change(m, Change{Kind: Release}))
		return
	}
	began := s.now()
	end, ok := s.work(c)
	s.pool.worked(s.now().Sub(began))
	if !ok {
		s.release(c)
		return
	}
	s.finish(c, end)
}

// finish makes the change that ends the claim. It does not wait for it: the
// worker goes on with the next document.
func (s *Service[D]) finish(c *claim[D], end Change) {
	c.end()
	s.applier.submit(end, write{ref: c.ref, done: func(_ time.Time, err error) {
		defer s.release(c)
		switch {
		case errors.Is(err, ErrLockLost):
			s.lockLost(c, "settle")
		case err != nil:
			s.log.Error("change not written; the lock will expire", slog.String("id", c.ref.ID),
				slog.String("change", string(end.Kind)), slog.Any("error", err))
		default:
			s.finished(c, end)
		}
	}})
}

// finished tells others of a change that was made, and goes on at once with a
// document that has moved.
func (s *Service[D]) finished(c *claim[D], end Change) {
	switch end.Kind {
	case Move:
		if _, rests := s.def.settled(c.doc.Lifecycle().State, end.To); !rests {
			s.Hint(c.ref.ID)
		}
		if s.onMove != nil {
			s.onMove(c.doc, end.To)
		}
	case Purge:
		if s.onMove != nil {
			s.onMove(c.doc, Purged)
		}
	}
}

// release gives the document's place in the pool to another.
func (s *Service[D]) release(c *claim[D]) {
	c.end()
	s.pool.done()
	s.hints.landed(c.ref.ID)
}

func (s *Service[D]) lockLost(c *claim[D], where string) {
	c.lose(where)
	if c.told.Swap(true) {
		return // a step and its renewal notice the same loss
	}
	s.obs.LockLost(s.def.Kind, where)
	s.log.Warn("lock lost", slog.String("id", c.ref.ID), slog.Int64("token", c.ref.Token), slog.String("where", where))
}

// applyObserved is the store's Apply, observed.
func (s *Service[D]) applyObserved(ctx context.Context, ch Change, refs []Ref) ([]string, error) {
	lost, err := s.store.Apply(ctx, ch, refs)
	if err != nil {
		s.obs.StoreFailed(s.def.Kind, "apply")
		s.log.Warn("store failed", slog.String("call", "apply"), slog.String("change", string(ch.Kind)),
			slog.Int("documents", len(refs)), slog.Any("error", err))
		return nil, err
	}
	s.obs.Changed(s.def.Kind, ch.Kind, len(refs)-len(lost))
	return lost, nil
}
