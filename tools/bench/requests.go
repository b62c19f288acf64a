package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/tools/bench/internal/chart"
)

// requestRate is how many requests are sent in a second.
const requestRate = 200

// requests measures (f): requests of the API against the round trips to the
// database that they need, and lists by the number of documents.
func requests(ctx context.Context, env *environment) (*result, error) {
	found := &result{
		about: fmt.Sprintf("GET of one gateway and PATCH of its state, %d/s over HTTP on loopback, and as many round trips to the database by turns: `findOne` by `_id`, and `findOneAndUpdate`. "+
			"No task service runs. A list is a page of 100, alone, of collections of both sizes by turns.", requestRate),
		head:  []string{"", "p50, ms", "p99, ms"},
		chart: chart.Chart{Title: "Milliseconds of a request", Series: []string{"p50", "p99"}, Format: number},
	}
	for _, measure := range []func(context.Context, *environment, *result) error{singleRequests, lists} {
		if err := measure(ctx, env, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (r *result) addTimes(name string, took []time.Duration) {
	p50, p99 := millis(quantile(took, .5)), millis(quantile(took, .99))
	r.rows = append(r.rows, []string{name, number(p50), number(p99)})
	r.chart.Add(name, p50, p99)
}

// singleRequests measures GET and PATCH beside their round trips.
func singleRequests(ctx context.Context, env *environment, found *result) error {
	const gateways = 1000
	return env.database(ctx, func(db *mongo.Database) error {
		f, err := newFamily(ctx, db)
		if err != nil {
			return err
		}
		if err := f.insert(ctx, gateways); err != nil {
			return err
		}
		api, err := serve(ctx, f.docs)
		if err != nil {
			return err
		}
		defer api.close()
		coll := db.Collection(string(resource.KindApiGateway))
		// Not the one that the request is for: they would wait for each other.
		another := func(i int) string { return gatewayID((i + gateways/2) % gateways) }
		for _, pair := range []struct {
			name, rawName string
			request, raw  func(i int) error
		}{
			{
				"GET", "findOne",
				func(i int) error { return api.request(ctx, http.MethodGet, gatewayPath(i%gateways), "", http.StatusOK) },
				func(i int) error { return coll.FindOne(ctx, bson.D{{Key: "_id", Value: another(i)}}).Err() },
			},
			{
				"PATCH", "findOneAndUpdate",
				func(i int) error {
					return api.request(ctx, http.MethodPatch, gatewayPath(i%gateways), `{"state":"`+string(turn(i/gateways))+`"}`, http.StatusAccepted)
				},
				func(i int) error { return rawPatch(ctx, coll, another(i), turn(i/gateways)) },
			},
		} {
			took, raw, err := sideBySide(ctx, size(env, 20*time.Second, 2*time.Second), pair.request, pair.raw)
			if err != nil {
				return err
			}
			found.addTimes(pair.name, took)
			found.addTimes(pair.rawName, raw)
			found.reaches = append(found.reaches, reach{
				what: "p99 of " + pair.name + " against its round trip", want: 3, atMost: true, unit: " x",
				got: float64(quantile(took, .99)) / float64(quantile(raw, .99)),
			})
		}
		return nil
	})
}

func gatewayPath(i int) string { return "/v1/api-gateways/" + gatewayID(i) }

func turn(i int) engine.State {
	if i%2 == 0 {
		return resource.Stopped
	}
	return resource.Running
}

func rawPatch(ctx context.Context, coll *mongo.Collection, id string, state engine.State) error {
	return coll.FindOneAndUpdate(ctx, bson.D{{Key: "_id", Value: id}}, bson.D{
		{Key: "$set", Value: bson.D{{Key: "state", Value: state}, {Key: "updatedAt", Value: time.Now()}}},
		{Key: "$inc", Value: bson.D{{Key: "generation", Value: 1}}},
	}, options.FindOneAndUpdate().SetReturnDocument(options.After)).Err()
}

// sideBySide calls both functions at the rate of requests, by turns and without
// waiting for answers, and returns how long the calls took from when they were
// due.
func sideBySide(ctx context.Context, during time.Duration, a, b func(i int) error) (tookA, tookB []time.Duration, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	call := func(f func(int) error, i int, due time.Time, all *[]time.Duration) {
		failed := f(i)
		took := time.Since(due)
		mu.Lock()
		defer mu.Unlock()
		*all = append(*all, took)
		if failed != nil && err == nil {
			err = failed
		}
	}
	began := time.Now()
	for i := range int(during.Seconds() * requestRate) {
		due := began.Add(time.Duration(i) * time.Second / requestRate)
		between := due.Add(time.Second / requestRate / 2)
		time.Sleep(time.Until(due))
		wg.Go(func() { call(a, i, due, &tookA) })
		time.Sleep(time.Until(between))
		wg.Go(func() { call(b, i, between, &tookB) })
		if ctx.Err() != nil {
			break
		}
	}
	wg.Wait()
	return tookA, tookB, err
}

// lists measures pages of lists by how many documents there are.
func lists(ctx context.Context, env *environment, found *result) error {
	few, many := 1000, size(env, 100_000, 10_000)
	rounds := size(env, 200, 40)
	queries := []list{
		{"first page", "limit=100"},
		{"page in the middle", "limit=100&cursor=" + base64.RawURLEncoding.EncodeToString([]byte("v1:"+gatewayID(few/2)))},
		{"page of a state", "limit=100&state=Running"},
	}
	return withGateways(ctx, env, few, func(small *served) error {
		return withGateways(ctx, env, many, func(large *served) error {
			return pages(ctx, found, rounds, queries, []listed{{few, small}, {many, large}})
		})
	})
}

// list is a list that is asked for.
type list struct{ name, query string }

// listed is a collection of so many gateways, behind an API.
type listed struct {
	gateways int
	api      *served
}

// withGateways calls f with an API of n gateways.
func withGateways(ctx context.Context, env *environment, n int, f func(api *served) error) error {
	return env.database(ctx, func(db *mongo.Database) error {
		family, err := newFamily(ctx, db)
		if err != nil {
			return err
		}
		if err := family.insert(ctx, n, resource.KindApiGateway); err != nil {
			return err
		}
		api, err := serve(ctx, family.docs)
		if err != nil {
			return err
		}
		defer api.close()
		return f(api)
	})
}

// pages asks for each list of each collection by turns.
func pages(ctx context.Context, found *result, rounds int, queries []list, of []listed) error {
	for _, q := range queries {
		took := make([][]time.Duration, len(of))
		for range rounds {
			for i, l := range of {
				began := time.Now()
				if err := l.api.request(ctx, http.MethodGet, "/v1/api-gateways?"+q.query, "", http.StatusOK); err != nil {
					return err
				}
				took[i] = append(took[i], time.Since(began))
			}
		}
		for i, l := range of {
			found.addTimes(q.name+", of "+thousands(int64(l.gateways)), took[i])
		}
		found.reaches = append(found.reaches, reach{
			what: q.name + ", largest against smallest", want: 1.2, atMost: true, unit: " x",
			got: float64(quantile(took[len(of)-1], .5)) / float64(quantile(took[0], .5)),
		})
	}
	return nil
}
