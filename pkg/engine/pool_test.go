package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// targetAfter fills the pool as the fetcher does and empties it as the workers do,
// each document taking so long, and returns the target it arrives at.
func targetAfter(p pool[*Meta], workers int, each time.Duration, documents int) int {
	for range documents / workers {
		p.took(workers, time.Now())
		time.Sleep(each)
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
		p := newPool[*Meta](workers, batch, time.Now)
		for _, c := range []struct {
			each        time.Duration
			least, most int
		}{
			{time.Second, workers, workers},
			{10 * time.Millisecond, 10 * workers, 2 * batch},
			{time.Microsecond, 2 * batch, 2 * batch},
			{2 * time.Second, workers, workers},
		} {
			if got := targetAfter(p, workers, c.each, 4000); got < c.least || got > c.most {
				t.Errorf("with documents that take %s each, %d are held, want %d to %d", c.each, got, c.least, c.most)
			}
		}
	})
}

// Time in which there is nothing to do says nothing about how fast the work
// is. Fails if it is counted.
func TestPoolDoesNotCountIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, batch = 4, 100
		p := newPool[*Meta](workers, batch, time.Now)
		fast := targetAfter(p, workers, time.Microsecond, 1000)
		time.Sleep(time.Hour)
		if got := targetAfter(p, workers, time.Microsecond, 1000); got != fast {
			t.Errorf("%d are held after an idle hour, %d before", got, fast)
		}
	})
}

// Room is made for one write's claims at the most, and as soon as a worker
// has nothing to do.
func TestPoolRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool[*Meta](4, 100, time.Now)
		if n, ok := p.room(t.Context()); n != 4 || !ok {
			t.Errorf("room for %d, %t", n, ok)
		}
		p.took(4, time.Now())
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
		p.took(1, time.Now())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, ok := p.room(ctx); ok {
			t.Error("room after the end")
		}
		p.close()
	})
}
