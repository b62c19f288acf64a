package lease_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/lockstep-io/lockstep/internal/lease"
)

func TestMongo(t *testing.T)      { conformance(t, mongoHarness(t)) }
func TestKubernetes(t *testing.T) { conformance(t, kubernetesHarness(t)) }

// conformance is what both stores must pass. Each test says what it guards.
func conformance(t *testing.T, h *harness) {
	for name, test := range map[string]func(*testing.T, *harness){
		"OneWinnerOfANewLease":         oneWinnerOfANewLease,
		"OneAtATimeTokensRise":         oneAtATimeTokensRise,
		"ReleasedWhenWorkHasEnded":     releasedWhenWorkHasEnded,
		"ReleasedAtShutdown":           releasedAtShutdown,
		"NotReleasedBeforeTheEnd":      notReleasedBeforeTheEnd,
		"LivesAsLongAsRenewed":         livesAsLongAsRenewed,
		"CrashedHolderIsFollowed":      crashedHolderIsFollowed,
		"TimeOfDayDoesNotMatter":       timeOfDayDoesNotMatter,
		"StopsWhenItCannotRenew":       stopsWhenItCannotRenew,
		"TrustCountsFromTheSending":    trustCountsFromTheSending,
		"WaitsForItsWorkToEnd":         waitsForItsWorkToEnd,
		"PausedHolderDoesNoHarm":       pausedHolderDoesNoHarm,
		"LossIsNoticedByRenewing":      lossIsNoticedByRenewing,
		"LateReleaseFreesNothing":      lateReleaseFreesNothing,
		"LateRenewalExtendsNothing":    lateRenewalExtendsNothing,
		"LostAnswerIsNoLostLease":      lostAnswerIsNoLostLease,
		"BrokenOffAttemptIsReleased":   brokenOffAttemptIsReleased,
		"SameNameIsNotTheSameHolder":   sameNameIsNotTheSameHolder,
		"RemovedByHandEndsTheTerm":     removedByHandEndsTheTerm,
		"WorksOwnErrorIsReturned":      worksOwnErrorIsReturned,
		"UnreachableStoreStartsNobody": unreachableStoreStartsNobody,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, h) })
	}
}

// lock is a campaign's side of a lease without an elector, for what an elector
// would not do.
func (h *harness) lock(t *testing.T, name, identity string, duration time.Duration) lease.Lock {
	store, _ := h.connect(t)
	return store.Lock(name, lease.Campaign{Identity: identity, Duration: duration, Clock: clock.RealClock{}})
}

func acquire(t *testing.T, l lease.Lock) int64 {
	t.Helper()
	token, held, err := l.Acquire(t.Context())
	if err != nil || !held {
		t.Fatalf("acquire: held %v, %v", held, err)
	}
	return token
}

// Guards against upserts as locks: of many who create one lease, one has it.
func oneWinnerOfANewLease(t *testing.T, h *harness) {
	const rivals, rounds = 12, 8
	stores := make([]lease.Store, rivals)
	for i := range stores {
		stores[i], _ = h.connect(t)
		// Connected before the race begins.
		_, _, _ = stores[i].Lock(leaseName(t), campaignOf(i)).Acquire(t.Context())
	}
	for range rounds {
		name := leaseName(t)
		var winners atomic.Int64
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for i, store := range stores {
			wg.Go(func() {
				<-begin
				if wins(t, store.Lock(name, campaignOf(i))) {
					winners.Add(1)
				}
			})
		}
		close(begin)
		wg.Wait()
		if n := winners.Load(); n != 1 {
			t.Fatalf("%d of %d have the lease", n, rivals)
		}
	}
}

func campaignOf(i int) lease.Campaign {
	return lease.Campaign{Identity: string(rune('a' + i)), Duration: time.Minute, Clock: clock.RealClock{}}
}

// wins asks until there is an answer: servers break off writes that deadlock.
func wins(t *testing.T, l lease.Lock) bool {
	for range 50 {
		_, held, err := l.Acquire(t.Context())
		if err == nil {
			return held
		}
	}
	t.Error("no answer")
	return false
}

// Guards the lease itself: many rivals, many terms, never two works at once,
// and each term with a higher token than the one before.
func oneAtATimeTokensRise(t *testing.T, h *harness) {
	name := leaseName(t)
	const rivals, terms = 4, 5
	var working atomic.Int64
	var mu sync.Mutex
	var tokens []int64
	var wg sync.WaitGroup
	for range rivals {
		r := h.eager(t)
		wg.Go(func() {
			for range terms {
				err := r.Run(t.Context(), name, func(_ context.Context, token int64) error {
					if working.Add(1) != 1 {
						t.Error("two at once")
					}
					mu.Lock()
					tokens = append(tokens, token)
					mu.Unlock()
					time.Sleep(2 * time.Millisecond)
					working.Add(-1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := 1; i < len(tokens); i++ {
		if tokens[i] <= tokens[i-1] {
			t.Fatalf("tokens do not rise: %v", tokens)
		}
	}
}

// Guards against a holder that goes on working although it is alone: the same
// lease is won by the same replica again, under a higher token.
func releasedWhenWorkHasEnded(t *testing.T, h *harness) {
	name, r := leaseName(t), h.eager(t)
	var last int64
	for range 3 {
		err := r.Run(t.Context(), name, func(_ context.Context, token int64) error {
			if token <= last {
				t.Errorf("token %d after %d", token, last)
			}
			last = token
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Guards recovery at a rolling update: what shuts down does not leave its
// lease to expire.
func releasedAtShutdown(t *testing.T, h *harness) {
	name := leaseName(t)
	first, second := h.eager(t).run(t, name), h.eager(t)
	first.wait()
	rival := second.run(t, name)
	asked := second.link.asked.Load()
	eventually(t, "the rival asks", func() bool { return second.link.asked.Load() > asked+3 })
	rival.none("while the first holds the lease")

	began := time.Now()
	first.stop()
	rival.wait()
	if took := time.Since(began); took > lease.DefaultLeaseDuration/2 {
		t.Errorf("the rival began after %s: that is expiry, not release", took)
	}
}

// Guards against overlap at shutdown: the lease is kept, and renewed, until
// work that was told to stop has stopped.
func notReleasedBeforeTheEnd(t *testing.T, h *harness) {
	name, linger := leaseName(t), make(chan struct{})
	r := h.eager(t)
	first := r.lingering(t, name, linger)
	term := first.wait()
	second := h.eager(t)
	rival := second.run(t, name)

	first.cancel()
	<-term.ctx.Done()
	asked, renewed := second.link.asked.Load(), r.link.asked.Load()
	eventually(t, "the rival asks, the holder renews", func() bool {
		return second.link.asked.Load() > asked+5 && r.link.asked.Load() > renewed+2
	})
	rival.none("while the first one's work is ending")
	close(linger)
	rival.wait()
}

// Guards against a lease that ends under a healthy holder: renewals count.
func livesAsLongAsRenewed(t *testing.T, h *harness) {
	name := leaseName(t)
	l := h.lock(t, name, "holder", 2*time.Second)
	acquire(t, l)
	rival := h.lock(t, name, "rival", time.Minute)
	for range 15 {
		time.Sleep(200 * time.Millisecond)
		sent := time.Now()
		if err := l.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, held, err := rival.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if held && time.Since(sent) < 2*time.Second {
			t.Fatal("a lease that is being renewed was taken")
		}
	}
}

// Guards both bounds of expiry: a lease that nobody renews is taken over, but
// not before its duration has passed.
func crashedHolderIsFollowed(t *testing.T, h *harness) {
	name := leaseName(t)
	const duration = 2 * time.Second
	rival := h.eager(t)
	sent := time.Now()
	token := acquire(t, h.lock(t, name, "crashed", duration))
	next := rival.run(t, name).wait()
	if took := time.Since(sent); took < duration {
		t.Errorf("taken over after %s, before its %s were over", took, duration)
	}
	if next.token <= token {
		t.Errorf("token %d after %d", next.token, token)
	}
}

// Guards against comparing one machine's time of day with another's: rivals
// whose clocks are an hour ahead or behind leave a live lease alone.
func timeOfDayDoesNotMatter(t *testing.T, h *harness) {
	name := leaseName(t)
	h.eager(t).run(t, name).wait()
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		store, _ := h.connect(t)
		rival := store.Lock(name, lease.Campaign{
			Identity: "rival", Duration: time.Minute, Clock: clocktesting.NewFakeClock(time.Now().Add(off)),
		})
		for range 3 {
			if _, held, err := rival.Acquire(t.Context()); held || err != nil {
				t.Errorf("clock off by %s: held %v, %v", off, held, err)
			}
		}
	}
}

// Guards against new owners of errors: what a work returns by itself is Run's
// result, and the lease is free again.
func worksOwnErrorIsReturned(t *testing.T, h *harness) {
	name, r := leaseName(t), h.eager(t)
	err := r.Run(t.Context(), name, func(context.Context, int64) error { return errBoom })
	if !errors.Is(err, errBoom) {
		t.Errorf("err = %v", err)
	}
	acquire(t, h.lock(t, name, "next", time.Minute))
}
