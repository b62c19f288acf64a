package resource_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
)

func TestSuperseded(t *testing.T) {
	for _, tc := range []struct {
		name   string
		size   int
		before int
		kept   int
	}{
		{"the first", 10, 0, 1},
		{"some", 10, 5, 6},
		{"too many", 10, 30, resource.MaxVersions},
		{"too large together", resource.MaxVersionBytes / 4, 10, 4},
		{"too large alone", resource.MaxCode, 3, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fn := &resource.CloudFunction{Version: 1, Code: strings.Repeat("x", tc.size)}
			for range tc.before {
				fn.Versions = fn.Superseded(time.Time{})
				fn.Version++
			}
			kept := fn.Superseded(time.Time{})
			if len(kept) != tc.kept || kept[len(kept)-1].Version != fn.Version {
				t.Fatalf("%d kept, the last of version %d; want %d, of version %d", len(kept), kept[len(kept)-1].Version, tc.kept, fn.Version)
			}
		})
	}
}
