package enginetest_test

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMemStoreConformance runs the suite on clocks that a real server might
// have: one like this machine's, one that stands still within a millisecond,
// and one that is years off and goes on by much between any two operations.
func TestMemStoreConformance(t *testing.T) {
	past := time.Date(2001, 2, 3, 4, 5, 6, 789_123_456, time.UTC)
	var reads atomic.Int64
	for name, clock := range map[string]func() time.Time{
		"Real":  time.Now,
		"Still": func() time.Time { return past },
		"Slow":  func() time.Time { return past.Add(time.Duration(reads.Add(1)) * 40 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Conformance(t, func(*testing.T) enginetest.Harness {
				store := enginetest.NewMemStore[*enginetest.Widget](clock)
				return enginetest.Harness{Store: store, Users: store}
			})
		})
	}
}

// TestHookedStoreConformance checks that hooks which do nothing change nothing.
func TestHookedStoreConformance(t *testing.T) {
	enginetest.Conformance(t, func(*testing.T) enginetest.Harness {
		store := enginetest.NewMemStore[*enginetest.Widget](time.Now)
		return enginetest.Harness{Store: enginetest.WithHooks(store, enginetest.Hooks{}), Users: store}
	})
}
