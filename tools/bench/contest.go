package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/internal/shard"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// contest is a backlog of new items, who completes it, and what they came to.
type contest struct {
	claimers, backlog int
	limit             time.Duration
	coll              *mongo.Collection

	done   int
	took   time.Duration
	claims claims
}

func (c *contest) rate() float64 { return perSecond(c.done, c.took) }

func (c *contest) cells() []string {
	wasted := 100 * float64(c.claims.requested-c.claims.got) / float64(max(1, c.claims.requested))
	return []string{
		number(c.rate()), number(float64(c.claims.got) / float64(max(1, len(c.claims.took)))),
		number(millis(quantile(c.claims.took, .99))), number(wasted) + " %",
	}
}

// run lets the claimers complete the items of a new collection.
func (c *contest) run(ctx context.Context, env *environment, way func(context.Context, *contest) error) error {
	return env.database(ctx, func(db *mongo.Database) (err error) {
		if c.coll, err = newItems(ctx, db, "Item", c.backlog); err != nil {
			return err
		}
		if err := warm(ctx, c.coll, 2*c.claimers); err != nil {
			return err
		}
		return way(ctx, c)
	})
}

// warm makes as many connections as will be needed, on both sides: what they
// cost is not what is measured.
func warm(ctx context.Context, coll *mongo.Collection, connections int) error {
	const requests = 5
	return together(connections, func() error {
		for range requests {
			if err := coll.FindOne(ctx, bson.D{}).Err(); err != nil {
				return fmt.Errorf("warm up: %w", err)
			}
		}
		return nil
	})
}

// byHand lets loops contend that claim one document at a time.
func byHand(ctx context.Context, c *contest) error {
	var done atomic.Int64
	began := time.Now()
	err := together(c.claimers, func() error {
		for int(done.Load()) < c.backlog && time.Since(began) < c.limit {
			claimed := time.Now()
			id, err := claimOne(ctx, c.coll)
			if err != nil {
				return err
			}
			if id == "" {
				c.claims.add(time.Since(claimed), 1, 0)
				continue
			}
			c.claims.add(time.Since(claimed), 1, 1)
			done.Add(1)
			if err := completeOne(ctx, c.coll, id); err != nil {
				return err
			}
		}
		return nil
	})
	c.done, c.took = int(done.Load()), time.Since(began)
	return err
}

// byEngine lets replicas of a service contend, which all begin at once.
func byEngine(options engine.Options, sharded bool) func(context.Context, *contest) error {
	return func(ctx context.Context, c *contest) error { return c.services(ctx, options, sharded) }
}

func (c *contest) services(ctx context.Context, options engine.Options, sharded bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var done atomic.Int64
	finished := make(chan struct{})
	var begin, running sync.WaitGroup
	begin.Add(c.claimers)
	errs := make([]error, c.claimers)
	for i := range c.claimers {
		options.Holder = "replica-" + strconv.Itoa(i)
		if sharded {
			options.Mine = func(id string) bool { return shard.Of(id)%c.claimers == i }
		}
		store := &meter[*item]{Store: mongostore.New[*item](c.coll), begin: &begin, claims: &c.claims}
		s := engine.NewService(itemDefinition(0), store, options)
		s.OnMove(func(*item, engine.Phase) {
			if int(done.Add(1)) == c.backlog {
				close(finished)
			}
		})
		running.Go(func() { errs[i] = s.Run(ctx) })
	}
	begin.Wait()
	began := time.Now()
	select {
	case <-finished:
	case <-time.After(c.limit):
	case <-ctx.Done():
	}
	c.done, c.took = int(done.Load()), time.Since(began)
	stop()
	running.Wait()
	return errors.Join(errs...)
}
