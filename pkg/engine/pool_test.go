package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// targetAfter fills the pool as the fetcher does and empties it as the workers
// do, each document and its settling taking so long, and returns the target that
// it arrives at.
func targetAfter(p pool[*Meta], workers int, each, settling time.Duration, documents int) int {
	for range documents / workers {
		p.took(workers)
		time.Sleep(each)
		for range workers {
			p.worked(each)
		}
		time.Sleep(settling)
		for range workers {
			p.done()
		}
	}
	return p.target
}

// Where documents take little time more are held, up to two batches; where
// they take long, no more than there are workers; and it follows when that
// changes.
func TestPoolAdapts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, batch = 4, 100
		p := newPool[*Meta](workers, batch)
		for _, c := range []struct {
			each        time.Duration
			least, most int
		}{
			{time.Second, workers, workers},
			{10 * time.Millisecond, 10 * workers, 2 * batch},
			{time.Microsecond, 2 * batch, 2 * batch},
			{2 * time.Second, workers, workers},
		} {
			if got := targetAfter(p, workers, c.each, 0, 4000); got < c.least || got > c.most {
				t.Errorf("with documents that take %s each, %d are held, want %d to %d", c.each, got, c.least, c.most)
			}
		}
	})
}

// A slow store says nothing about how fast the work is. Fails if its time is
// counted: batches would be small where they are needed most.
func TestPoolDoesNotCountTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, batch = 4, 100
		p := newPool[*Meta](workers, batch)
		if got := targetAfter(p, workers, time.Microsecond, time.Second, 100); got != 2*batch {
			t.Errorf("%d are held where settling takes a second, want %d", got, 2*batch)
		}
	})
}

// Room is made for one write's claims at the most, and as soon as a worker
// has nothing to do.
func TestPoolRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool[*Meta](4, 100)
		if n, ok := p.room(t.Context()); n != 4 || !ok {
			t.Errorf("room for %d, %t", n, ok)
		}
		p.took(4)
		came := make(chan int)
		go func() { n, _ := p.room(t.Context()); came <- n }()
		synctest.Wait()
		select {
		case n := <-came:
			t.Fatalf("room for %d while all are busy", n)
		default:
		}
		p.done()
		if n := <-came; n != 1 {
			t.Errorf("room for %d once one was free", n)
		}
		p.took(1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, ok := p.room(ctx); ok {
			t.Error("room after the end")
		}
		p.close()
	})
}
