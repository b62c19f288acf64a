package shard

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Every shard has one owner, whatever order the members are in, and a member
// that leaves or joins moves no shard but its own.
func TestAssign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,8}-[0-9]`), 1, 12, rapid.ID[string]).Draw(t, "members")
		before := assign(members)
		shuffled := slices.Clone(members)
		slices.Reverse(shuffled)
		if assign(shuffled) != before {
			t.Fatal("the order of members decides")
		}
		gone := members[0]
		after := assign(members[1:])
		for s := range before {
			switch {
			case !slices.Contains(members, before[s]):
				t.Fatalf("shard %d is owned by %q", s, before[s])
			case before[s] != gone && after[s] != before[s]:
				t.Fatalf("shard %d moved from %s to %s when %s left", s, before[s], after[s], gone)
			case before[s] == gone && len(members) > 1 && after[s] == gone:
				t.Fatalf("shard %d stays with %s, which left", s, gone)
			}
		}
	})
}

// Shards and documents are spread evenly enough to be of use.
func TestSpread(t *testing.T) {
	owners := assign([]string{"lockstep-0", "lockstep-1", "lockstep-2"})
	held, documents := map[string]int{}, map[int]int{}
	for _, name := range owners {
		held[name]++
	}
	for name, n := range held {
		if n < Count/6 || n > Count/2 {
			t.Errorf("%s holds %d of %d shards", name, n, Count)
		}
	}
	const perShard = 1000
	for i := range Count * perShard {
		documents[Of(fmt.Sprintf("d%d", i))]++
	}
	for s, n := range documents {
		if n < perShard*8/10 || n > perShard*12/10 {
			t.Errorf("shard %d has %d of %d documents", s, n, Count*perShard)
		}
	}
}
