package engine

import (
	"context"
	"sync"
	"time"
)

// ahead is how much work is held: what the workers do in that time.
const ahead = 250 * time.Millisecond

// pool is the queue between the fetcher and the workers. It bounds how many
// documents are held: only as many as the workers will soon begin with,
// because a document that waits in the queue uses up its trust window. Where
// documents take little time that number grows, up to two batches: one is
// being settled while the next is claimed.
type pool[D Document] struct {
	queue chan *claim[D]
	*poolState
}

type poolState struct {
	workers, batch int
	now            clock
	freed          chan struct{}

	mu       sync.Mutex
	target   int // how many documents to hold at the most
	held     int
	finished int // since then, but for the time in which none was held
	since    time.Time
	idle     time.Time // from when none is held; zero if one is
}

func newPool[D Document](workers, batch int, now clock) pool[D] {
	return pool[D]{
		queue: make(chan *claim[D], 2*batch),
		poolState: &poolState{
			workers: workers, batch: batch, now: now, freed: make(chan struct{}, 1),
			target: workers, since: now(), idle: now(),
		},
	}
}

// room waits until a worker has nothing to do, or at most half of the target is
// held, and returns how many documents may be claimed in one write. It returns
// false when ctx ends.
func (p *poolState) room(ctx context.Context) (int, bool) {
	for {
		p.mu.Lock()
		room := 0
		if p.held < p.workers || p.held <= p.target/2 {
			room = min(p.target-p.held, p.batch)
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

// took notes that n documents are held, which were claimed by a write that
// began then.
func (p *poolState) took(n int, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.idle.IsZero() && n > 0 {
		p.since = p.since.Add(max(0, began.Sub(p.idle)))
		p.idle = time.Time{}
	}
	p.held += n
}

// done notes that a document is no longer held.
func (p *poolState) done() {
	p.mu.Lock()
	p.held--
	p.finished++
	// After so many, each worker has had its turn: no luck of one counts.
	if p.finished >= p.target {
		p.adapt()
	}
	if p.held == 0 {
		p.idle = p.now()
	}
	p.mu.Unlock()
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// adapt sets the target by how fast documents are finished.
func (p *poolState) adapt() {
	now := p.now()
	fits := float64(p.finished) * float64(ahead) / float64(max(1, now.Sub(p.since)))
	p.target = min(max(int(fits), p.workers), 2*p.batch)
	p.finished, p.since = 0, now
}

// close lets the workers end once the queue is empty.
func (p *pool[D]) close() { close(p.queue) }
