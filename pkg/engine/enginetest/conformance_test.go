package enginetest_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMemStoreConformance runs the suite on clocks that a real server might
// have: one that agrees with this machine's, one that stands still, and a
// skewed one that goes on by much between any two operations.
func TestMemStoreConformance(t *testing.T) {
	past := time.Date(2001, 2, 3, 4, 5, 6, 789_123_456, time.UTC)
	for name, clock := range map[string]func() func() time.Time{
		"Real":  func() func() time.Time { return time.Now },
		"Still": func() func() time.Time { return func() time.Time { return past } },
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Conformance(t, func(*testing.T) enginetest.Harness {
				store := enginetest.NewMemStore[*enginetest.Widget](clock())
				return enginetest.Harness{Store: store, Users: store}
			})
		})
	}
}
