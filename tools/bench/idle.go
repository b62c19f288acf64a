package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
	"github.com/lockstep-io/lockstep/tools/bench/internal/chart"
)

// sweepLimit is how many documents the engine asks for in one read.
const sweepLimit = 5000

// idle measures (b): what a tick costs that finds nothing to do, by how many
// documents are settled.
func idle(ctx context.Context, env *environment) (*result, error) {
	sizes := size(env, []int{1_000, 100_000, 1_000_000}, []int{1_000, 5_000, 25_000})
	rounds := size(env, 400, 100)
	found := &result{
		about: fmt.Sprintf("Nothing is due: all documents are settled. A tick is then one `Due`; milliseconds, median (and 99th percentile) of %d for each size, by turns. "+
			"With resync: the same documents are to be looked at again in an hour, and the tick asks for those too.", rounds),
		head:  []string{"settled documents", "without resync, ms", "p99", "with resync, ms", "p99"},
		chart: chart.Chart{Title: "Milliseconds of an idle tick, median", Series: []string{"without resync", "with resync"}, Format: number},
	}
	err := env.database(ctx, func(db *mongo.Database) error {
		ticks := make([]*idleTicks, len(sizes))
		for i, n := range sizes {
			began := time.Now()
			var err error
			if ticks[i], err = settledItems(ctx, db, n); err != nil {
				return err
			}
			fmt.Printf("  %s settled documents inserted in %s\n", thousands(int64(n)), time.Since(began).Round(time.Second/10))
		}
		for range rounds {
			for _, t := range ticks {
				if err := t.measure(ctx); err != nil {
					return err
				}
			}
		}
		for i, t := range ticks {
			found.rows = append(found.rows, t.row(sizes[i]))
			found.chart.Add(thousands(int64(sizes[i])), millis(quantile(t.plain, .5)), millis(quantile(t.resync, .5)))
		}
		found.reaches = growth(ticks[0], ticks[len(ticks)-1])
		return nil
	})
	return found, err
}

func growth(smallest, largest *idleTicks) []reach {
	ratio := func(what string, few, many []time.Duration) reach {
		return reach{
			what: "largest against smallest, " + what, want: 1.2, atMost: true, unit: " x",
			got: float64(quantile(many, .5)) / float64(quantile(few, .5)),
		}
	}
	return []reach{ratio("without resync", smallest.plain, largest.plain), ratio("with resync", smallest.resync, largest.resync)}
}

// idleTicks are the ticks of a collection.
type idleTicks struct {
	store         *mongostore.Store[*item]
	plain, resync []time.Duration
}

var (
	plainRules  = itemDefinition(0).Rules()
	resyncRules = itemDefinition(time.Hour).Rules()
)

// settledItems makes a collection of n settled items that are to be looked at
// again in an hour.
func settledItems(ctx context.Context, db *mongo.Database, n int) (*idleTicks, error) {
	coll := db.Collection("Settled" + strconv.Itoa(n))
	store := mongostore.New[*item](coll)
	if err := store.EnsureIndexes(ctx, resyncRules); err != nil {
		return nil, err
	}
	later := time.Now().Add(time.Hour)
	err := insertItems(ctx, coll, n, func(m *engine.Meta) { m.ResyncAt = later })
	return &idleTicks{store: store}, err
}

// measure does one tick without and one with resync.
func (t *idleTicks) measure(ctx context.Context) error {
	for _, side := range []struct {
		rules engine.Rules
		took  *[]time.Duration
	}{{plainRules, &t.plain}, {resyncRules, &t.resync}} {
		began := time.Now()
		ids, err := t.store.Due(ctx, side.rules, sweepLimit)
		*side.took = append(*side.took, time.Since(began))
		if err != nil || len(ids) > 0 {
			return fmt.Errorf("an idle tick found %d documents: %w", len(ids), err)
		}
	}
	return nil
}

func (t *idleTicks) row(n int) []string {
	cells := []string{thousands(int64(n))}
	for _, took := range [][]time.Duration{t.plain, t.resync} {
		cells = append(cells, number(millis(quantile(took, .5))), number(millis(quantile(took, .99))))
	}
	return cells
}
