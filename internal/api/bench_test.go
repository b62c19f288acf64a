package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// quiet serves the API without a log and without a limit, as benchmarks need.
func quiet(c *api.Config) { c.Log, c.RateLimit = nil, -1 }

// p99 measures one operation again and again, and reports its 99th percentile.
func p99(b *testing.B, name string, do func()) time.Duration {
	b.Helper()
	took := make([]time.Duration, 400)
	for i := range took {
		began := time.Now()
		do()
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), name+"-p50-µs")
	at := took[len(took)*99/100]
	b.ReportMetric(float64(at.Microseconds()), name+"-p99-µs")
	return at
}

// BenchmarkRequests compares requests with the raw round trips to the database
// that they cannot do without, side by side.
func BenchmarkRequests(b *testing.B) {
	db := testenv.Database(b)
	s := start(b, quiet, func(c *api.Config) { c.Documents = documents.Open(db) })
	s.docs = documents.Open(db)
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID
	raw := db.Collection(string(resource.KindApiGateway))
	ctx := b.Context()
	for range b.N {
		read := p99(b, "raw-read", func() {
			if err := raw.FindOne(ctx, bson.D{{Key: "_id", Value: gw.ID}}).Err(); err != nil {
				b.Fatal(err)
			}
		})
		get := p99(b, "get", func() { s.call("GET", path, nil).want(http.StatusOK) })
		write := p99(b, "raw-write", func() {
			err := raw.FindOneAndUpdate(ctx, bson.D{{Key: "_id", Value: gw.ID}},
				bson.D{{Key: "$inc", Value: bson.D{{Key: "generation", Value: 1}}}, {Key: "$set", Value: bson.D{{Key: "state", Value: "Running"}}}}).Err()
			if err != nil {
				b.Fatal(err)
			}
		})
		patch := p99(b, "patch", func() { s.call("PATCH", path, map[string]any{"state": "Running"}).want(http.StatusAccepted) })
		b.ReportMetric(float64(get)/float64(read), "get/raw")
		b.ReportMetric(float64(patch)/float64(write), "patch/raw")
	}
}

// BenchmarkLists measures lists over ever more gateways: they should stay flat.
func BenchmarkLists(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := testenv.Database(b)
			s := start(b, quiet, func(c *api.Config) { c.Documents = documents.Open(db) })
			fill(b, db.Collection(string(resource.KindApiGateway)), n)
			var middle string
			for range b.N {
				p99(b, "first", func() {
					middle = as[api.Page[resource.ApiGateway]](s.call("GET", "/v1/api-gateways?limit=50", nil).want(200)).NextCursor
				})
				p99(b, "next", func() { s.call("GET", "/v1/api-gateways?limit=50&cursor="+middle, nil).want(200) })
				p99(b, "state", func() { s.call("GET", "/v1/api-gateways?limit=50&state=Running", nil).want(200) })
			}
		})
	}
}

func fill(b *testing.B, coll *mongo.Collection, n int) {
	b.Helper()
	for from := 0; from < n; from += 5_000 {
		var docs []any
		for i := from; i < min(from+5_000, n); i++ {
			id := fmt.Sprintf("g%05x", i)
			docs = append(docs, &resource.ApiGateway{
				Meta:      engine.Meta{ID: id, State: resource.Running, Phase: resource.PhaseStarted, LockedAt: engine.Epoch},
				GatewayID: id, Name: "shop", Region: "eu", Tenant: api.DefaultTenant,
			})
		}
		if _, err := coll.InsertMany(b.Context(), docs, options.InsertMany().SetOrdered(false)); err != nil {
			b.Fatal(err)
		}
	}
}
