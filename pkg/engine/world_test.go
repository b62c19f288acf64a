package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

// thing is the document of these tests.
type thing struct {
	engine.Meta `bson:",inline"`
	Note        string `bson:"note,omitempty"`
}

type (
	step       = engine.Step[*thing]
	definition = engine.Definition[*thing]
	transition = engine.Transition[*thing]
	settled    = engine.Settled[*thing]
)

const (
	on    engine.State = "On"
	off   engine.State = "Off"
	cycle engine.State = "Cycle" // a one-shot: goes down, up, and becomes On
	gone  engine.State = "Gone"

	fresh   engine.Phase = "Fresh"
	up      engine.Phase = "Up"
	down    engine.Phase = "Down"
	leaving engine.Phase = "Leaving"
)

// The parameters that the tests rely on: the engine's defaults.
const (
	lockTimeout = engine.DefaultLockTimeout
	margin      = lockTimeout / 6
	window      = lockTimeout - margin
	tick        = engine.DefaultInterval
)

// things is the kind of these tests. The given steps bring a thing up.
func things(steps ...step) *definition {
	return &definition{
		Kind: "Thing", Initial: fresh,
		States:  []engine.State{on, off, cycle, gone},
		Phases:  []engine.Phase{fresh, up, down, leaving},
		Settled: []settled{{State: on, Phase: up}, {State: off, Phase: down}},
		Transitions: []transition{
			{
				From: []engine.Phase{fresh, down}, When: []engine.State{on, cycle}, To: up,
				Steps: steps, Completes: &engine.OneShot{From: cycle, To: on},
			},
			{From: []engine.Phase{fresh, up}, When: []engine.State{off}, To: down},
			{From: []engine.Phase{up}, When: []engine.State{cycle}, To: down},
			{From: []engine.Phase{fresh, up, down}, When: []engine.State{gone}, To: leaving},
			{From: []engine.Phase{leaving}, When: []engine.State{on, off, cycle, gone}, To: engine.Purged},
		},
	}
}

// does is a step.
func does(name string, run func(ctx context.Context, doc *thing) (engine.Outcome, error)) step {
	return step{Name: name, Run: run}
}

// takes is a step that lasts so long and is then done.
func takes(name string, d time.Duration) step {
	return within(d+lockTimeout, does(name, func(ctx context.Context, _ *thing) (engine.Outcome, error) {
		return engine.Done(), rest(ctx, d)
	}))
}

// within gives a step another timeout.
func within(timeout time.Duration, s step) step {
	s.Timeout = timeout
	return s
}

// rest returns after d, or earlier with the cause if ctx ends.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// world is a database with replicas, in virtual time.
type world struct {
	*testing.T
	store *enginetest.MemStore[*thing]
}

// inWorld runs f in a bubble of virtual time. Replicas that f started are
// stopped at its end.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		f(&world{T: t, store: enginetest.NewMemStore[*thing](time.Now)})
	})
}

// insert adds new things that are to be On.
func (w *world) insert(ids ...string) {
	w.Helper()
	for _, id := range ids {
		w.add(&thing{Meta: engine.Meta{ID: id, State: on, Generation: 1, Phase: fresh}})
	}
}

func (w *world) add(doc *thing) {
	w.Helper()
	if err := w.store.Insert(context.Background(), doc); err != nil {
		w.Fatal(err)
	}
}

func (w *world) get(id string) *thing {
	w.Helper()
	doc, err := w.store.Get(context.Background(), id)
	if err != nil {
		w.Fatal(err)
	}
	return doc
}

func (w *world) exists(id string) bool {
	w.Helper()
	_, err := w.store.Get(context.Background(), id)
	if err != nil && !errors.Is(err, enginetest.ErrNotFound) {
		w.Fatal(err)
	}
	return err == nil
}

// wants changes the intent as a person in mongosh does: state, nothing else.
func (w *world) wants(id string, state engine.State) {
	w.Helper()
	if err := w.store.SetState(context.Background(), id, state); err != nil {
		w.Fatal(err)
	}
}

func (w *world) set(id, field string, value any) {
	w.Helper()
	if err := w.store.SetFields(context.Background(), id, map[string]any{field: value}); err != nil {
		w.Fatal(err)
	}
}

// pass lets virtual time pass, and all that happens in it happen.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// inPhase checks where a document is.
func (w *world) inPhase(id string, phase engine.Phase) {
	w.Helper()
	if m := w.get(id); m.Phase != phase {
		w.Fatalf("%s is in phase %s, want %s: %+v", id, m.Phase, phase, m.Meta)
	}
}

// replica is a service of these tests, running.
type replica struct {
	*engine.Service[*thing]
	seen *recorder
	// stop ends the service gracefully, and returns when it has ended.
	stop func()
}

// run starts a replica on the world's store.
func (w *world) run(name string, def *definition, options ...func(*engine.Options)) *replica {
	return w.runOn(w.store, name, def, options...)
}

// runOn starts a replica on a store of its own choice.
func (w *world) runOn(store engine.Store[*thing], name string, def *definition, options ...func(*engine.Options)) *replica {
	r := &replica{seen: newRecorder()}
	opts := engine.Options{Holder: name, Observer: r.seen}
	for _, change := range options {
		change(&opts)
	}
	r.Service = engine.NewService(def, store, opts)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.Run(ctx); err != nil {
			w.Error(err)
		}
	}()
	r.stop = func() { cancel(); <-ended }
	w.Cleanup(r.stop)
	return r
}

// names are n ids.
func names(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("t%05d", i)
	}
	return ids
}
