// Package shard divides the documents among the live replicas, to cut
// contention: each replica claims first what falls to it.
//
// A shard is a function of the document's id, computed by whoever claims; no
// document carries it, so there is nothing to fill in, and documents made by
// hand have one too. Which replica holds a shard is a function of the set of
// live replicas (rendezvous hashing), so a change of the set moves only the
// shards of who came or went, and replicas that see the same set agree without
// talking to each other. The set is known by heartbeats in MongoDB, on the
// database's time.
//
// Nothing rests on it but speed. Replicas that see different sets for a moment
// claim from one shard both, or neither: the lock keeps the one right, and the
// other is done by whoever sees it left over for a tick.
package shard
