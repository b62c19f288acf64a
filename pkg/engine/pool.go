package engine

import (
	"context"
	"sync"
	"time"
)

// ahead is how much work is held: what the workers do in that time.
const ahead = 250 * time.Millisecond

// sample is the least number of documents by which their work is judged.
const sample = 8

// pool is the queue between the fetcher and the workers. It bounds how many
// documents are held: only as many as the workers will soon begin with,
// because a document that waits in the queue uses up its trust window. Where
// documents take little time that number grows, up to two batches: one is
// being settled while the next is claimed.
//
// The time that claims and settling take does not count: where the store is
// slow, large batches are what helps.
type pool[D Document] struct {
	queue chan *claim[D]
	*poolState
}

type poolState struct {
	workers, batch int
	freed          chan struct{}

	mu     sync.Mutex
	target int // how many documents to hold at the most
	held   int
	// What was worked on since the target was set.
	documents int
	spent     time.Duration
}

func newPool[D Document](workers, batch int) pool[D] {
	return pool[D]{
		queue: make(chan *claim[D], 2*batch),
		poolState: &poolState{
			workers: workers, batch: batch, target: workers, freed: make(chan struct{}, 1),
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

// took notes that n documents are held.
func (p *poolState) took(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held += n
}

// worked notes how long the work on a document took, and sets the target by
// it.
func (p *poolState) worked(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.documents++
	p.spent += took
	if p.documents < max(p.workers, sample) {
		return
	}
	fits := float64(ahead) * float64(p.workers*p.documents) / float64(max(1, p.spent))
	p.target = min(max(int(fits), p.workers), 2*p.batch)
	p.documents, p.spent = 0, 0
}

// done notes that a document is no longer held.
func (p *poolState) done() {
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
