package engine

import (
	"context"
	"sync"
	"time"
)

// Between these durations of a batch, the size of the next stays.
const (
	batchFast = 250 * time.Millisecond
	batchSlow = time.Second
)

// pool is the queue between the fetcher and the workers. It bounds how many
// documents are held: only as many as the workers will soon begin with,
// because a document that waits in the queue uses up its trust window. Where
// documents take little time that number grows, up to a batch.
type pool[D Document] struct {
	queue chan *claim[D]
	*poolState
}

type poolState struct {
	workers, most int

	mu     sync.Mutex
	target int // how many documents to hold at the most
	held   int
	filled time.Time // when the target was last reached; zero if it was not
	freed  chan struct{}
}

func newPool[D Document](workers, most int) pool[D] {
	return pool[D]{
		queue: make(chan *claim[D], most),
		poolState: &poolState{
			workers: workers, most: most, target: workers, freed: make(chan struct{}, 1),
		},
	}
}

// room waits until a worker has nothing to do, or at most half of the target is
// held, and returns how many documents may be claimed. It returns false when
// ctx ends.
func (p *pool[D]) room(ctx context.Context) (int, bool) {
	for {
		p.mu.Lock()
		room := 0
		if p.held < p.workers || p.held <= p.target/2 {
			room = p.target - p.held
		}
		p.mu.Unlock()
		if room > 0 {
			return room, ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return 0, false
		case <-p.freed:
		}
	}
}

// took notes that n documents were claimed by a write that began then, and
// adapts the target to how fast the batch before was worked off.
func (p *pool[D]) took(n int, began time.Time, now clock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.filled.IsZero() {
		switch took := began.Sub(p.filled); {
		case took < batchFast:
			p.target = min(p.target*2, p.most)
		case took > batchSlow:
			p.target = max(p.target/2, p.workers)
		}
	}
	p.held += n
	p.filled = time.Time{}
	if p.held >= p.target {
		p.filled = now()
	}
}

// done notes that a document is no longer held.
func (p *pool[D]) done() {
	p.mu.Lock()
	p.held--
	p.mu.Unlock()
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// close lets the workers end once the queue is empty.
func (p *pool[D]) close() { close(p.queue) }
