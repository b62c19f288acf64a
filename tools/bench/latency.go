package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/tools/bench/internal/chart"
)

// latency measures (c): the time from a change of intent to the first step.
func latency(ctx context.Context, env *environment) (*result, error) {
	gateways := size(env, 200, 20)
	found := &result{
		about: fmt.Sprintf("%d gateways at rest are stopped and started in turn; milliseconds from before the request is sent to when the first step of the transition runs. "+
			"In between are the API's reads and write, a claim, a move (Started to Stopping, or Stopped to Starting) and a second claim. One replica, HTTP on loopback, tick %s.",
			gateways, engine.DefaultInterval),
		head:  []string{"", "samples", "p50, ms", "p99, ms"},
		chart: chart.Chart{Title: "Milliseconds from the change to the first step", Series: []string{"p50", "p99"}, Format: number},
	}
	err := env.database(ctx, func(db *mongo.Database) error {
		w, err := newWatched(ctx, db, gateways)
		if err != nil {
			return err
		}
		defer w.close()
		for _, way := range []struct {
			name          string
			hints         bool
			samples, most int // in all, and at once
			change        func(context.Context, string, engine.State) error
		}{
			{"PATCH", true, size(env, 600, 60), 1, w.patch},
			{"PATCH, without hints", false, size(env, 100, 20), 10, w.patch},
			{"updateOne, as in mongosh", false, size(env, 100, 20), 10, w.updateOne},
		} {
			w.hints.Store(way.hints)
			took, err := w.sample(ctx, way.samples, way.most, way.change)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			p50, p99 := millis(quantile(took, .5)), millis(quantile(took, .99))
			found.rows = append(found.rows, []string{way.name, strconv.Itoa(len(took)), number(p50), number(p99)})
			found.chart.Add(way.name, p50, p99)
			if way.hints {
				found.reaches = append(found.reaches, reach{what: "p50 of " + way.name, got: p50, want: 30, atMost: true, unit: " ms"})
			}
		}
		return nil
	})
	return found, err
}

// watched are gateways whose services run, behind an API, and whose first
// steps are waited for.
type watched struct {
	*family
	api   *served
	hints atomic.Bool // whether the API wakes the services
	end   func() error

	mu      sync.Mutex
	waiting map[string]*waiter
	idle    chan string // gateways at rest
}

// waiter waits for a gateway's first step towards a state, and for its rest.
type waiter struct {
	state   engine.State
	stepped chan time.Time
}

func newWatched(ctx context.Context, db *mongo.Database, gateways int) (*watched, error) {
	f, err := newFamily(ctx, db)
	if err != nil {
		return nil, err
	}
	if err := f.insert(ctx, gateways); err != nil {
		return nil, err
	}
	w := &watched{family: f, waiting: map[string]*waiter{}, idle: make(chan string, gateways)}
	for i := range gateways {
		w.idle <- gatewayID(i)
	}
	f.stepped, f.moved = w.firstStep, w.atRest
	f.docs.OnIntent(func(kind resource.Kind, id string) {
		if w.hints.Load() {
			f.hint(kind, id)
		}
	})
	if w.api, err = serve(ctx, f.docs); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.run(running) }()
	w.end = func() error { stop(); return <-ended }
	return w, nil
}

func (w *watched) close() {
	w.api.close()
	_ = w.end()
}

// firstStep notes the first step towards the state that is waited for.
func (w *watched) firstStep(gw *resource.ApiGateway) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if waiter := w.waiting[gw.ID]; waiter != nil && waiter.state == gw.State {
		select {
		case waiter.stepped <- time.Now():
		default: // not the first
		}
	}
}

// atRest gives a gateway back that has come to rest.
func (w *watched) atRest(id string, to engine.Phase) {
	if to == resource.PhaseStarted || to == resource.PhaseStopped {
		w.idle <- id
	}
}

// sample changes the state of n gateways, some at once, and returns how long
// each took to its first step.
func (w *watched) sample(ctx context.Context, n, atOnce int, change func(context.Context, string, engine.State) error) ([]time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	left := atomic.Int64{}
	left.Store(int64(n))
	err := together(atOnce, func() error {
		for left.Add(-1) >= 0 {
			took, err := w.one(ctx, change)
			if err != nil {
				return err
			}
			mu.Lock()
			all = append(all, took)
			mu.Unlock()
		}
		return nil
	})
	return all, err
}

// firstStepWithin bounds the wait for a step.
const firstStepWithin = time.Minute

// one changes one gateway's state, at a random moment between two ticks.
func (w *watched) one(ctx context.Context, change func(context.Context, string, engine.State) error) (time.Duration, error) {
	var id string
	select {
	case id = <-w.idle:
	case <-time.After(firstStepWithin):
		return 0, errors.New("no gateway came to rest")
	}
	gw, err := w.docs.ApiGateways.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	wait := &waiter{state: resource.Stopped, stepped: make(chan time.Time, 1)}
	if gw.State == resource.Stopped {
		wait.state = resource.Running
	}
	w.mu.Lock()
	w.waiting[id] = wait
	w.mu.Unlock()
	pause := time.Duration(rand.Int64N(int64(100 * time.Millisecond))) //nolint:gosec // spreads samples
	if !w.hints.Load() {
		pause *= 10
	}
	time.Sleep(pause)
	began := time.Now()
	if err := change(ctx, id, wait.state); err != nil {
		return 0, err
	}
	select {
	case at := <-wait.stepped:
		return at.Sub(began), nil
	case <-time.After(firstStepWithin):
		return 0, fmt.Errorf("gateway %s: no step within %s", id, firstStepWithin)
	}
}

// patch changes the state through the API.
func (w *watched) patch(ctx context.Context, id string, state engine.State) error {
	return w.api.request(ctx, http.MethodPatch, "/v1/api-gateways/"+id, `{"state":"`+string(state)+`"}`, http.StatusAccepted)
}

// updateOne changes the state as a person in mongosh does.
func (w *watched) updateOne(ctx context.Context, id string, state engine.State) error {
	_, err := w.db.Collection(string(resource.KindApiGateway)).UpdateOne(ctx,
		bson.D{{Key: "gatewayId", Value: id}}, bson.D{{Key: "$set", Value: bson.D{{Key: "state", Value: state}}}})
	return err
}
