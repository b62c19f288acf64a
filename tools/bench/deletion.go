package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/tools/bench/internal/chart"
)

// plainTick is the interval of the plain pattern's handlers, as of the engine.
const plainTick = engine.DefaultInterval

// deletion measures (d): gateways with all that is below them deleted by the
// engine, against the plain pattern.
func deletion(ctx context.Context, env *environment) (*result, error) {
	many, few := size(env, 1000, 100), size(env, 12, 2)
	var plainTook, engineTook time.Duration
	var ticks int
	for _, run := range []func(*family) error{
		func(f *family) (err error) {
			ticks, plainTook, err = deleteByPlainPattern(ctx, f, few)
			return err
		},
		func(f *family) (err error) {
			engineTook, err = deleteByEngine(ctx, f, many)
			return err
		},
	} {
		err := env.database(ctx, func(db *mongo.Database) error {
			f, err := newFamily(ctx, db)
			if err != nil {
				return err
			}
			return run(f)
		})
		if err != nil {
			return nil, err
		}
	}
	slow, fast := perSecond(few*documentsEach, plainTook), perSecond(many*documentsEach, engineTook)
	found := &result{
		about: fmt.Sprintf("Started gateways, each with %d documents in all, are deleted by the platform's kinds, on drivers that answer at once; one replica. "+
			"Plain pattern: each handler takes one document a tick (%s) and does all its steps that can be done, by the same kinds. Its rate is set by the ticks, not by how many "+
			"documents there are, so it is measured on %d gateways, over the %d ticks that these took; the engine deletes %s.",
			documentsEach, plainTick, few, ticks, thousands(int64(many))),
		head: []string{"", "gateways", "documents", "seconds", "documents/s"},
		rows: [][]string{
			{"plain pattern", thousands(int64(few)), thousands(int64(few * documentsEach)), number(plainTook.Seconds()), number(slow)},
			{"engine", thousands(int64(many)), thousands(int64(many * documentsEach)), number(engineTook.Seconds()), number(fast)},
		},
		reaches: []reach{{what: "engine against the plain pattern, documents/s", got: fast / slow, want: 50, unit: " x"}},
		chart:   chart.Chart{Title: "Documents deleted per second", Series: []string{"documents/s"}, Format: number},
	}
	found.chart.Add("plain pattern", slow)
	found.chart.Add("engine", fast)
	return found, nil
}

// deleteByEngine deletes n gateways by the task services.
func deleteByEngine(ctx context.Context, f *family, n int) (time.Duration, error) {
	if err := f.insert(ctx, n); err != nil {
		return 0, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var gone atomic.Int64
	var began, ended time.Time
	f.moved = func(_ string, to engine.Phase) {
		if to == engine.Purged && int(gone.Add(1)) == n {
			ended = time.Now()
			stop()
		}
	}
	began = time.Now()
	if err := f.deleteAll(ctx); err != nil {
		return 0, err
	}
	if err := f.run(running); err != nil {
		return 0, err
	}
	left, err := f.left(ctx)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d documents were left over", left)
	}
	return ended.Sub(began), err
}

// deleteByPlainPattern deletes n gateways by the plain pattern's handlers, and
// returns how many ticks that took.
func deleteByPlainPattern(ctx context.Context, f *family, n int) (ticks int, took time.Duration, err error) {
	if err := f.insert(ctx, n); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := f.deleteAll(ctx); err != nil {
		return 0, 0, err
	}
	ticker := time.NewTicker(plainTick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case <-ticker.C:
		}
		ticks++
		next := make(chan handler, len(f.handlers))
		for _, h := range f.handlers {
			next <- h
		}
		if err := together(len(f.handlers), func() error { return (<-next)(ctx) }); err != nil {
			return 0, 0, err
		}
		left, err := f.left(ctx)
		if err != nil || left == 0 {
			return ticks, time.Since(began), err
		}
	}
}
