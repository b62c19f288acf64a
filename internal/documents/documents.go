// Package documents opens the platform's collections, as typed stores for
// those who know the kind and as headers for those who do not, and makes sure
// of their indexes. It is where the API and the task services meet: in the
// documents, and nowhere else.
package documents

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// Documents holds a store for each collection.
type Documents struct {
	ApiGateways    *mongostore.Store[*resource.ApiGateway]
	RuntimeDomains *mongostore.Store[*resource.RuntimeDomain]
	Databases      *mongostore.Store[*resource.Database]
	Environments   *mongostore.Store[*resource.Environment]
	ClientApps     *mongostore.Store[*resource.ClientApp]
	CloudFunctions *mongostore.Store[*resource.CloudFunction]
	Stages         *mongostore.Store[*resource.Stage]
	CronTriggers   *mongostore.Store[*resource.CronTrigger]

	headers  map[resource.Kind]*mongostore.Store[*resource.Header]
	placed   map[resource.Kind]*mongostore.Store[*placed]
	reserved *mongo.Collection
	requests *mongo.Collection
	paused   *mongo.Collection
	pauses   atomic.Pointer[map[resource.Kind]KindPause]
	hint     func(kind resource.Kind, id string)
}

// Open returns the stores of a database. It does no I/O.
func Open(db *mongo.Database) *Documents {
	d := &Documents{
		ApiGateways:    open[*resource.ApiGateway](db, resource.KindApiGateway),
		RuntimeDomains: open[*resource.RuntimeDomain](db, resource.KindRuntimeDomain),
		Databases:      open[*resource.Database](db, resource.KindDatabase),
		Environments:   open[*resource.Environment](db, resource.KindEnvironment),
		ClientApps:     open[*resource.ClientApp](db, resource.KindClientApp),
		CloudFunctions: open[*resource.CloudFunction](db, resource.KindCloudFunction),
		Stages:         open[*resource.Stage](db, resource.KindStage),
		CronTriggers:   open[*resource.CronTrigger](db, resource.KindCronTrigger),
		headers:        map[resource.Kind]*mongostore.Store[*resource.Header]{},
		placed:         map[resource.Kind]*mongostore.Store[*placed]{},
		reserved:       db.Collection("ReservedId"),
		requests:       db.Collection("Request"),
		paused:         db.Collection("Pause"),
		hint:           func(resource.Kind, string) {},
	}
	for _, kind := range resource.Kinds {
		d.headers[kind] = open[*resource.Header](db, kind)
		d.placed[kind] = open[*placed](db, kind)
	}
	return d
}

func open[D engine.Document](db *mongo.Database, kind resource.Kind) *mongostore.Store[D] {
	return mongostore.New[D](db.Collection(string(kind)))
}

// OnIntent calls hint after every change of intent made through this package,
// to wake the task services of this replica. Call it before use.
func (d *Documents) OnIntent(hint func(kind resource.Kind, id string)) { d.hint = hint }

// Hint says that the intent of a document was changed by other means of this
// replica (through one of the typed stores).
func (d *Documents) Hint(kind resource.Kind, id string) { d.hint(kind, id) }

// Headers returns the store of a kind's documents, of which only the fields
// that all kinds have are read. It is for reading and for changing intents,
// never for inserting.
func (d *Documents) Headers(kind resource.Kind) (*mongostore.Store[*resource.Header], error) {
	store, ok := d.headers[kind]
	if !ok {
		return nil, fmt.Errorf("%q is not a kind of document", kind)
	}
	return store, nil
}

// Ping asks the database whether it answers, now: unlike its time, the answer is
// not carried on.
func (d *Documents) Ping(ctx context.Context) error {
	err := d.reserved.FindOne(ctx, bson.D{{Key: "_id", Value: ""}}).Err()
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return fmt.Errorf("the database cannot be reached: %w", err)
	}
	return nil
}

// indexes are those beyond what the engine needs.
var indexes = map[resource.Kind][]mongostore.Index{
	resource.KindApiGateway: {
		{Name: "gatewayId", Keys: []string{"gatewayId"}, Unique: true},
		{Name: "tenant", Keys: []string{"tenant", "_id"}},
	},
	resource.KindRuntimeDomain: {
		{Name: "gatewayId", Keys: []string{"gatewayId"}, Unique: true},
		{Name: "customDomain", Keys: []string{"customDomain"}, Unique: true, Present: "customDomain"},
	},
	resource.KindDatabase:      {{Name: "gatewayId", Keys: []string{"gatewayId"}, Unique: true}},
	resource.KindEnvironment:   {{Name: "gatewayId", Keys: []string{"gatewayId"}}},
	resource.KindClientApp:     {{Name: "gatewayId", Keys: []string{"gatewayId"}}},
	resource.KindCloudFunction: {{Name: "gatewayId", Keys: []string{"gatewayId"}}},
	resource.KindStage:         {{Name: "gatewayId", Keys: []string{"gatewayId"}}},
	resource.KindCronTrigger:   {{Name: "gatewayId", Keys: []string{"gatewayId"}}},
}

// EnsureIndexes creates what is missing and reports what differs. The rules
// are those of the kinds that have a task service.
func (d *Documents) EnsureIndexes(ctx context.Context, rules map[resource.Kind]engine.Rules) error {
	errs := []error{d.ensureRequestIndex(ctx)}
	for _, kind := range resource.Kinds {
		errs = append(errs, d.headers[kind].EnsureIndexes(ctx, rules[kind], indexes[kind]...))
	}
	return errors.Join(errs...)
}

// MissingIndexes returns, by kind, the names of indexes that are needed and
// do not exist or differ.
func (d *Documents) MissingIndexes(ctx context.Context, rules map[resource.Kind]engine.Rules) (map[resource.Kind][]string, error) {
	missing := map[resource.Kind][]string{}
	for _, kind := range resource.Kinds {
		names, err := d.headers[kind].MissingIndexes(ctx, rules[kind], indexes[kind]...)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			missing[kind] = names
		}
	}
	return missing, nil
}
