package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Bounds of the applier.
const (
	applyFlights  = 4                // writes under way at once
	applyTimeout  = 10 * time.Second // of one write
	applyAttempts = 5                // of one write, while the store fails
	applyPause    = 100 * time.Millisecond
	applyMost     = 1000 // documents in one write
)

// applier makes the changes to claimed documents. Changes that are equal and
// come while earlier writes are under way are made together, in one write:
// with little to do a change is made at once, and with much to do the writes
// grow, as in a database's group commit.
type applier struct {
	store func(ctx context.Context, ch Change, refs []Ref) (lost []string, err error)
	now   clock

	mu      sync.Mutex
	waiting map[Change][]write
	order   []Change
	flights int
	wg      sync.WaitGroup
}

// write is one document's part in a change. done is called once, with when the
// write was sent and nil, [ErrLockLost], or the store's error.
type write struct {
	ref  Ref
	done func(sent time.Time, err error)
}

func newApplier(now clock, store func(context.Context, Change, []Ref) ([]string, error)) *applier {
	return &applier{store: store, now: now, waiting: map[Change][]write{}}
}

// submit hands over a change of one document.
func (a *applier) submit(ch Change, w write) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting[ch]) == 0 {
		a.order = append(a.order, ch)
	}
	a.waiting[ch] = append(a.waiting[ch], w)
	if a.flights < applyFlights {
		a.flights++
		a.wg.Go(a.fly)
	}
}

// wait returns once all changes handed over have been made or given up.
func (a *applier) wait() { a.wg.Wait() }

// fly makes changes until none is waiting.
func (a *applier) fly() {
	for {
		ch, writes, ok := a.next()
		if !ok {
			return
		}
		for part := range slices.Chunk(writes, applyMost) {
			a.write(ch, part)
		}
	}
}

func (a *applier) next() (Change, []write, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.order) == 0 {
		a.flights--
		return Change{}, nil, false
	}
	ch := a.order[0]
	a.order = a.order[1:]
	writes := a.waiting[ch]
	delete(a.waiting, ch)
	return ch, writes, true
}

// write makes one change, trying again while the store fails: it is safe to
// repeat, because the claim's end or token is matched by every write.
func (a *applier) write(ch Change, writes []write) {
	refs := make([]Ref, len(writes))
	for i, w := range writes {
		refs[i] = w.ref
	}
	var lost []string
	var sent time.Time
	err := errors.New("not tried")
	for attempt := 1; err != nil && attempt <= applyAttempts; attempt++ {
		if attempt > 1 {
			<-time.After(applyPause << attempt)
		}
		sent = a.now()
		ctx, cancel := context.WithTimeout(context.Background(), applyTimeout)
		lost, err = a.store(ctx, ch, refs)
		cancel()
		if !ch.Kind.Ends() {
			break // the holder decides whether to try again
		}
	}
	for _, w := range writes {
		switch {
		case err != nil:
			w.done(sent, err)
		case slices.Contains(lost, w.ref.ID):
			w.done(sent, ErrLockLost)
		default:
			w.done(sent, nil)
		}
	}
}
