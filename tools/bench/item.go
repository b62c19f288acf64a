package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// item is the smallest kind: New, and after one step that does nothing, Done.
type item struct {
	engine.Meta `bson:",inline"`
}

const (
	wanted   engine.State = "Wanted"
	unwanted engine.State = "Unwanted"

	phaseNew  engine.Phase = "New"
	phaseDone engine.Phase = "Done"
)

// itemDefinition is the kind's lifecycle; done items are looked at again after
// resync, if it is not zero.
func itemDefinition(resync time.Duration) *engine.Definition[*item] {
	nothing := func(context.Context, *item) (engine.Outcome, error) { return engine.Done(), nil }
	return &engine.Definition[*item]{
		Kind: "Item", Initial: phaseNew,
		States:  []engine.State{wanted, unwanted},
		Phases:  []engine.Phase{phaseNew, phaseDone},
		Settled: []engine.Settled[*item]{{State: wanted, Phase: phaseDone, Resync: resync}},
		Transitions: []engine.Transition[*item]{
			{
				From: []engine.Phase{phaseNew}, When: []engine.State{wanted}, To: phaseDone,
				Steps: []engine.Step[*item]{{Name: "nothing", Run: nothing}},
			},
			{From: []engine.Phase{phaseNew, phaseDone}, When: []engine.State{unwanted}, To: engine.Purged},
		},
	}
}

// newItems makes a collection of n new items, with the indexes of their rules.
func newItems(ctx context.Context, db *mongo.Database, name string, n int) (*mongo.Collection, error) {
	coll := db.Collection(name)
	if err := mongostore.New[*item](coll).EnsureIndexes(ctx, itemDefinition(time.Hour).Rules()); err != nil {
		return nil, err
	}
	return coll, insertItems(ctx, coll, n, func(m *engine.Meta) {
		m.Phase, m.ObservedState, m.ObservedGeneration = phaseNew, "", 0
	})
}

// insertBatch is how many documents one insert carries.
const insertBatch = 5000

// insertItems inserts n items that are settled and have been worked at before,
// unless edit says otherwise.
func insertItems(ctx context.Context, coll *mongo.Collection, n int, edit func(*engine.Meta)) error {
	now := time.Now()
	for begin := 0; begin < n; begin += insertBatch {
		docs := make([]*item, min(insertBatch, n-begin))
		for i := range docs {
			docs[i] = &item{Meta: engine.Meta{
				ID: fmt.Sprintf("item-%07d", begin+i), State: wanted, Generation: 1, ObservedState: wanted, ObservedGeneration: 1,
				Phase: phaseDone, PhaseAt: now, LockedAt: engine.Epoch, CreatedAt: now, UpdatedAt: now,
			}}
			edit(&docs[i].Meta)
		}
		if _, err := coll.InsertMany(ctx, docs); err != nil {
			return fmt.Errorf("insert items: %w", err)
		}
	}
	return nil
}

// meter is a store whose claims are timed and counted. The replicas that share
// begin wait for each other before they ask for work.
type meter[D engine.Document] struct {
	engine.Store[D]
	claims *claims
	begin  *sync.WaitGroup
	begun  sync.Once
}

// Due asks for work, the first time once all replicas do.
func (m *meter[D]) Due(ctx context.Context, rules engine.Rules, limit int) ([]string, error) {
	m.begun.Do(func() { m.begin.Done(); m.begin.Wait() })
	return m.Store.Due(ctx, rules, limit)
}

// Claim times the claim, and counts what it asked for and what it got.
func (m *meter[D]) Claim(ctx context.Context, req engine.ClaimRequest) ([]D, error) {
	began := time.Now()
	docs, err := m.Store.Claim(ctx, req)
	m.claims.add(time.Since(began), len(req.IDs), len(docs))
	return docs, err
}

// claims are how long the claiming writes took, how many documents they asked
// for, and how many they got.
type claims struct {
	mu             sync.Mutex
	took           []time.Duration
	requested, got int
}

func (c *claims) add(took time.Duration, requested, got int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took = append(c.took, took)
	c.requested, c.got = c.requested+requested, c.got+got
}
