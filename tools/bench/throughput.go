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
	workers := []int{1, 8, 32}
	rates := make([]throughputRates, len(workers))
	began := time.Now()
	for round := range rounds {
		if round > 0 && time.Since(began) > throughputBudget {
			rounds = round
			break
		}
		for i, n := range workers {
			if err := rates[i].round(ctx, env, backlog, n, round); err != nil {
				return nil, err
			}
		}
	}
	found := &result{
		about: fmt.Sprintf("%s new documents wait; each is claimed and completed. By hand: one sorted `findOneAndUpdate` and one `updateOne` a document, "+
			"and in sets of %d by one fetcher, without tokens, history or errors. Engine: a service with that many workers, and a step that does nothing. "+
			"Documents per second, median of %d rounds by turns; each ratio is the median of the rounds' ratios.", thousands(int64(backlog)), setSize, rounds),
		head:  []string{"workers", "by hand, one by one", "by hand, in sets", "engine", "engine / one by one", "engine / in sets"},
		chart: chart.Chart{Title: "Documents per second", Series: []string{"by hand, one by one", "by hand, in sets", "engine"}},
	}
	for i, n := range workers {
		single, sets, service := rates[i][0], rates[i][1], rates[i][2]
		gain := median(ratios(service, single))
		found.rows = append(found.rows, []string{
			strconv.Itoa(n), number(median(single)), number(median(sets)), number(median(service)), times(gain), times(median(ratios(service, sets))),
		})
		found.chart.Add(strconv.Itoa(n)+" workers", median(single), median(sets), median(service))
		if n == 8 {
			found.reaches = append(found.reaches, reach{what: "engine against one by one, 8 workers", got: gain, want: 8, unit: " x"})
		}
	}
	return found, nil
}

const (
	// throughputBudget is the time after which no round is begun: the server, or
	// the machine, is slow.
	throughputBudget = 100 * time.Second
	// throughputLimit bounds one contender's work.
	throughputLimit = 3 * time.Minute
)

// throughputRates are the documents per second one by one, in sets and by the
// engine, of each round.
type throughputRates [3][]float64

// round measures the three one after the other, in an order that changes by
// round.
func (r *throughputRates) round(ctx context.Context, env *environment, backlog, workers, round int) error {
	contenders := [len(r)]struct {
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
			return err
		}
		if c.done < backlog {
			return fmt.Errorf("%d of %d documents were completed within %s", c.done, backlog, throughputLimit)
		}
		r[i] = append(r[i], c.rate())
	}
	return nil
}

// ratios are the quotients of what was measured in the same round.
func ratios(a, b []float64) []float64 {
	all := slices.Clone(a)
	for i := range all {
		all[i] /= b[i]
	}
	return all
}
