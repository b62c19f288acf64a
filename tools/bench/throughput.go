package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/tools/bench/internal/chart"
)

// throughput measures (a): how fast documents go through a transition of one
// step that does nothing, against the same done by hand.
func throughput(ctx context.Context, env *environment) (*result, error) {
	backlog, rounds := size(env, 5000, 1000), size(env, 3, 2)
	found := &result{
		about: fmt.Sprintf("%s new documents wait; each is claimed and completed. By hand: one sorted `findOneAndUpdate` and one `updateOne` a document, "+
			"and in sets of %d by one fetcher, without tokens, history or errors. Engine: a service with that many workers, and a step that does nothing. "+
			"Documents per second, median of %d rounds by turns; each ratio is the median of the rounds' ratios.", thousands(int64(backlog)), setSize, rounds),
		head:  []string{"workers", "by hand, one by one", "by hand, in sets", "engine", "engine / one by one", "engine / in sets"},
		chart: chart.Chart{Title: "Documents per second", Series: []string{"by hand, one by one", "by hand, in sets", "engine"}},
	}
	for _, workers := range []int{1, 8, 32} {
		var single, sets, service []float64
		for round := range rounds {
			s, err := throughputRound(ctx, env, backlog, workers, round)
			if err != nil {
				return nil, err
			}
			single, sets, service = append(single, s[0]), append(sets, s[1]), append(service, s[2])
		}
		gain := median(ratios(service, single))
		found.rows = append(found.rows, []string{
			strconv.Itoa(workers), number(median(single)), number(median(sets)), number(median(service)), times(gain), times(median(ratios(service, sets))),
		})
		found.chart.Add(strconv.Itoa(workers)+" workers", median(single), median(sets), median(service))
		if workers == 8 {
			found.reaches = append(found.reaches, reach{what: "engine against one by one, 8 workers", got: gain, want: 8, unit: " x"})
		}
	}
	return found, nil
}

// throughputRound returns the documents per second one by one, in sets and by
// the engine, measured one after the other, in an order that changes by round.
func throughputRound(ctx context.Context, env *environment, backlog, workers, round int) ([3]float64, error) {
	var rates [3]float64
	contenders := [3]struct {
		claimers int
		way      func(context.Context, *contest) error
	}{
		{workers, byHand},
		{1, inSets},
		{1, byEngine(engine.Options{Workers: workers}, false)},
	}
	for i := range contenders {
		i := (i + round) % len(contenders)
		c := &contest{claimers: contenders[i].claimers, backlog: backlog, limit: throughputLimit}
		if err := c.run(ctx, env, contenders[i].way); err != nil {
			return rates, err
		}
		if c.done < backlog {
			return rates, fmt.Errorf("%d of %d documents were completed within %s", c.done, backlog, throughputLimit)
		}
		rates[i] = c.rate()
	}
	return rates, nil
}

// throughputLimit bounds one contender's work.
const throughputLimit = 3 * time.Minute

// ratios are the quotients of what was measured in the same round.
func ratios(a, b []float64) []float64 {
	all := slices.Clone(a)
	for i := range all {
		all[i] /= b[i]
	}
	return all
}
