package engine_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// The table of the specification: relock(waited).
func TestRelockDelay(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, row := range []struct{ waited, delay time.Duration }{
		{0, 0}, {s, 100 * ms}, {10 * s, s}, {30 * s, 3 * s}, {60 * s, 6 * s}, {120 * s, 12 * s},
		{120*s + 1, 30 * s}, {180 * s, 30 * s}, {time.Hour, 30 * s},
		{-s, 0}, {1, ms}, {ms, ms}, {10 * ms, ms}, {10*ms + 1, 2 * ms}, {11 * ms, 2 * ms},
	} {
		if got := engine.RelockDelay(row.waited, 30*s); got != row.delay {
			t.Errorf("after %s the delay is %s, want %s", row.waited, got, row.delay)
		}
	}
}

// A longer wait is never looked at sooner, and none later than the lock
// timeout (as long as that is no shorter than the progressive part).
func TestRelockDelayGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waited := rapid.Int64Range(0, int64(time.Hour))
		a, b := time.Duration(waited.Draw(t, "a")), time.Duration(waited.Draw(t, "b"))
		short, long := engine.RelockDelay(min(a, b), 30*time.Second), engine.RelockDelay(max(a, b), 30*time.Second)
		if short > long || long > 30*time.Second {
			t.Fatalf("after %s: %s, after %s: %s", min(a, b), short, max(a, b), long)
		}
	})
}

func TestErrorDelay(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for n, want := range map[int]time.Duration{
		-1: 500 * ms, 0: 500 * ms, 1: 500 * ms, 2: s, 3: 2 * s, 5: 8 * s, 10: 256 * s, 11: 300 * s, 21: 300 * s, 1 << 40: 300 * s,
	} {
		if got := engine.ErrorDelay(n, 0); got != want {
			t.Errorf("after error %d the delay is %s, want %s", n, got, want)
		}
		if got := engine.ErrorDelay(n, 0.5); got != want-want/8 {
			t.Errorf("after error %d, spread by a half, the delay is %s, want %s", n, got, want-want/8)
		}
	}
}
