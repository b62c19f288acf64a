package main

import (
	"context"
	"sync"
	"time"

	"github.com/lockstep-io/lockstep/internal/testrecord"
)

// freezes are the times for which the whole run stood still, because the
// machine did, or because somebody stopped all of it. Nobody's clock was wrong
// then, and nothing was late: they do not count.
type freezes struct {
	wg sync.WaitGroup

	mu  sync.Mutex
	all []pause
}

const (
	freezeTick  = 100 * time.Millisecond
	freezeLeast = time.Second // less is a busy machine
)

// watch watches itself: a tick that comes late is a freeze.
func (f *freezes) watch(ctx context.Context) {
	f.wg.Go(func() {
		for last := testrecord.Now(); ctx.Err() == nil; {
			time.Sleep(freezeTick)
			now := testrecord.Now()
			if now-last > freezeLeast.Nanoseconds() {
				f.mu.Lock()
				// Not all processes stop and go on at the same moment.
				f.all = append(f.all, pause{from: last - freezeLeast.Nanoseconds(), to: now + freezeLeast.Nanoseconds()})
				f.mu.Unlock()
			}
			last = now
		}
	})
}

func (f *freezes) wait() { f.wg.Wait() }

// between is for how long the run stood still between two times.
func (f *freezes) between(from, to int64) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var sum int64
	for _, p := range f.all {
		sum += max(0, min(to, p.to)-max(from, p.from))
	}
	return time.Duration(sum)
}

// stopwatch measures how long the run has been going on since it was made.
type stopwatch struct {
	f     *freezes
	began int64
}

func (f *freezes) start() stopwatch { return stopwatch{f, testrecord.Now()} }

func (s stopwatch) read() time.Duration {
	now := testrecord.Now()
	return max(0, time.Duration(now-s.began)-s.f.between(s.began, now))
}
