package engine

import (
	"slices"
	"strings"
	"testing"
)

// Hole: all replicas try the same documents. Each claims its own first, and
// what others have left for a tick; nothing is left for longer.
func TestShare(t *testing.T) {
	s := share{mine: func(id string) bool { return strings.HasPrefix(id, "m") }}
	sweep := func(due ...string) []string { s.begin(); return s.pick(due) }

	for i, step := range []struct{ due, want []string }{
		{[]string{"o1", "m1", "o2", "m2"}, []string{"m1", "m2"}},
		{[]string{"o1", "m3", "o3"}, []string{"m3", "o1"}},
		{[]string{"o1", "o3"}, []string{"o1", "o3"}},
		{nil, nil},
		{[]string{"o3"}, nil},
	} {
		if got := sweep(step.due...); !slices.Equal(got, step.want) {
			t.Errorf("sweep %d: picked %v, want %v", i, got, step.want)
		}
	}
	alone := share{}
	alone.begin()
	if got := alone.pick([]string{"a", "b"}); len(got) != 2 {
		t.Errorf("without shares: %v", got)
	}
}
