package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/tools/bench/internal/chart"
)

// contention measures (e): many claimers on one collection, each a replica.
func contention(ctx context.Context, env *environment) (*result, error) {
	backlog, limit := size(env, 5000, 1000), size(env, 10*time.Second, 2*time.Second)
	found := &result{
		about: fmt.Sprintf("%s new documents wait, and are claimed and completed by so many replicas at once, for at most %s. By hand: each replica is a loop of one sorted `findOneAndUpdate` "+
			"and one `updateOne`. Without batches: a service with one worker that claims one document at a time. With batches: a service with its defaults. "+
			"With shards: the same, and each replica claims its own share first. p99 is of one claiming write, of however many documents. "+
			"Wasted is the part of the attempts that found the document taken, or nothing, or were broken off by the server.",
			thousands(int64(backlog)), limit),
		head: []string{"claimers", "how", "documents/s", "claims/write", "p99 of a claim, ms", "wasted"},
		chart: chart.Chart{
			Title:  "Documents per second, by claimers on one collection",
			Series: []string{"by hand", "without batches", "with batches", "with batches and shards"},
		},
	}
	ways := []func(context.Context, *contest) error{
		byHand,
		byEngine(engine.Options{Workers: 1, Batch: 1}, false),
		byEngine(engine.Options{}, false),
		byEngine(engine.Options{}, true),
	}
	for _, claimers := range size(env, []int{1, 4, 16, 64}, []int{1, 16}) {
		var rates []float64
		for i, way := range ways {
			c := &contest{claimers: claimers, backlog: backlog, limit: limit}
			if err := c.run(ctx, env, way); err != nil {
				return nil, err
			}
			rates = append(rates, c.rate())
			found.rows = append(found.rows, append([]string{strconv.Itoa(claimers), found.chart.Series[i]}, c.cells()...))
		}
		found.chart.Add(strconv.Itoa(claimers)+" claimers", rates...)
	}
	return found, nil
}
