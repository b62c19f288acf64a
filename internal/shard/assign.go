package shard

import (
	"hash/fnv"
	"strconv"
)

// Count is the number of shards: enough to divide evenly among tens of
// replicas, few enough to look at.
const Count = 64

// Of is the shard of a document.
func Of(id string) int { return int(hash(id) % Count) }

// owner is the member that holds a shard: the one with the highest weight for
// it (rendezvous hashing). It is empty if there are no members.
func owner(shard int, members []string) string {
	var best string
	var most uint64
	for _, m := range members {
		weight := hash(m + "/" + strconv.Itoa(shard))
		if best == "" || weight > most || weight == most && m < best {
			best, most = m, weight
		}
	}
	return best
}

// assign returns the owner of each shard.
func assign(members []string) [Count]string {
	var owners [Count]string
	for s := range owners {
		owners[s] = owner(s, members)
	}
	return owners
}

// hash is FNV-1a with a final mix: FNV alone spreads short, similar texts
// badly over the high bits, which rendezvous hashing compares.
func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text)) //nolint:errcheck // a hash never fails
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
