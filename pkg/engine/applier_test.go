package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// flight is one write that the applier made.
type flight struct {
	change Change
	ids    []string
	at     time.Time
}

// bench drives an applier whose store answers after a second.
type bench struct {
	*applier
	began time.Time

	mu      sync.Mutex
	flights []flight
	answers map[string][]string // what became of each document
	fail    func(ch Change, refs []Ref, n int) ([]string, error)
}

func newBench() *bench {
	b := &bench{began: time.Now(), answers: map[string][]string{}}
	b.applier = newApplier(time.Now, func(_ context.Context, ch Change, refs []Ref) ([]string, error) {
		b.mu.Lock()
		b.flights = append(b.flights, flight{ch, idsOf(refs), time.Now()})
		n, fail := len(b.flights), b.fail
		b.mu.Unlock()
		time.Sleep(time.Second)
		if fail != nil {
			return fail(ch, refs, n)
		}
		return nil, nil
	})
	return b
}

func idsOf(refs []Ref) (ids []string) {
	for _, r := range refs {
		ids = append(ids, r.ID)
	}
	return ids
}

func (b *bench) hand(ch Change, ids ...string) {
	for _, id := range ids {
		b.submit(ch, write{ref: Ref{ID: id}, done: func(sent time.Time, err error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.answers[id] = append(b.answers[id], fmt.Sprintf("%v", err))
		}})
	}
}

func numbered(prefix string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint(prefix, i))
	}
	return ids
}

// With little to do a change is made at once; equal changes that come while
// writes are under way are made together, in one write, and in the order in
// which the first of each came.
func TestApplierCommitsInGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		move, relock := Change{Kind: Move, To: "B"}, Change{Kind: Relock, Reason: "x"}
		for i := range applyFlights {
			b.hand(Change{Kind: Move, To: Phase(fmt.Sprint(i))}, fmt.Sprint("first", i))
		}
		synctest.Wait()
		if n := len(b.flights); n != applyFlights {
			t.Fatalf("%d writes under way, want %d", n, applyFlights)
		}
		b.hand(move, numbered("a", 50)...)
		b.hand(relock, numbered("w", 30)...)
		b.hand(move, numbered("b", 50)...)
		b.wait()
		groups := b.flights[applyFlights:]
		if len(groups) != 2 {
			t.Fatalf("%d writes for two changes", len(groups))
		}
		slices.SortFunc(groups, func(a, b flight) int { return len(b.ids) - len(a.ids) })
		if len(groups[0].ids) != 100 || groups[0].change != move || len(groups[1].ids) != 30 {
			t.Errorf("groups of %d and %d", len(groups[0].ids), len(groups[1].ids))
		}
		if took := time.Since(b.began); took != 2*time.Second {
			t.Errorf("all took %s, want two writes' time", took)
		}
		for id, answers := range b.answers {
			if !slices.Equal(answers, []string{"<nil>"}) {
				t.Errorf("%s was answered %v", id, answers)
			}
		}
	})
}

// A write is no larger than a server takes, whatever has piled up.
func TestApplierBoundsWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		for i := range applyFlights {
			b.hand(Change{Kind: Move, To: Phase(fmt.Sprint(i))}, fmt.Sprint("first", i))
		}
		b.hand(Change{Kind: Release}, numbered("a", 2*applyMost+1)...)
		b.wait()
		var sizes []int
		for _, f := range b.flights[applyFlights:] {
			sizes = append(sizes, len(f.ids))
		}
		if !slices.Equal(sizes, []int{applyMost, applyMost, 1}) {
			t.Errorf("writes of %v documents", sizes)
		}
	})
}

// Those that were lost are told so; the others of the same write are not.
func TestApplierTellsTheLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.fail = func(_ Change, refs []Ref, _ int) ([]string, error) { return []string{"a1"}, nil }
		for i := range applyFlights {
			b.hand(Change{Kind: Move, To: Phase(fmt.Sprint(i))}, fmt.Sprint("first", i))
		}
		b.hand(Change{Kind: Release}, numbered("a", 3)...)
		b.wait()
		for id, want := range map[string]string{"a0": "<nil>", "a1": "lock lost", "a2": "<nil>"} {
			if got := b.answers[id]; !slices.Equal(got, []string{want}) {
				t.Errorf("%s was answered %v, want %s", id, got, want)
			}
		}
	})
}

// A change that ends a claim is tried again while the store fails, for a time;
// one that keeps it is the holder's to try again.
func TestApplierTriesAgain(t *testing.T) {
	down := errors.New("down")
	for _, c := range []struct {
		change   Change
		failures int
		writes   int
		answer   string
	}{
		{Change{Kind: Move}, 2, 3, "<nil>"},
		{Change{Kind: Release}, applyAttempts, applyAttempts, "down"},
		{Change{Kind: Renew}, 1, 1, "down"},
		{Change{Kind: Checkpoint}, 1, 1, "down"},
	} {
		t.Run(fmt.Sprint(c.change.Kind, c.failures), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench()
				b.fail = func(_ Change, _ []Ref, n int) ([]string, error) {
					if n <= c.failures {
						return nil, down
					}
					return nil, nil
				}
				b.hand(c.change, "a")
				b.wait()
				if len(b.flights) != c.writes || !slices.Equal(b.answers["a"], []string{c.answer}) {
					t.Errorf("%d writes, answered %v; want %d, %s", len(b.flights), b.answers["a"], c.writes, c.answer)
				}
				for i := 1; i < len(b.flights); i++ {
					if pause := b.flights[i].at.Sub(b.flights[i-1].at) - time.Second; pause < applyPause {
						t.Errorf("a pause of %s before try %d", pause, i+1)
					}
				}
			})
		})
	}
}

// What is told as sent is when the write that was answered was sent, not one
// before it: the trust window counts from there.
func TestApplierTellsWhenItSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		for i := range applyFlights {
			b.hand(Change{Kind: Move, To: Phase(fmt.Sprint(i))}, fmt.Sprint("first", i))
		}
		var sent time.Time
		b.submit(Change{Kind: Renew}, write{ref: Ref{ID: "a"}, done: func(at time.Time, _ error) { sent = at }})
		b.wait()
		if after := sent.Sub(b.began); after != time.Second {
			t.Errorf("sent after %s, want a second: it had to wait for a place", after)
		}
	})
}
