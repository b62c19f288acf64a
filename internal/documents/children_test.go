package documents_test

import (
	"context"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Guards: a trigger that its user suspends while its gateway starts stays
// suspended, and one that the user changes meanwhile is asked all the same.
func TestAskLeavesWhatIsSuspendedMeanwhile(t *testing.T) {
	db := testenv.Database(t)
	users := documents.Open(db)
	for name, test := range map[string]struct {
		change map[string]any
		want   engine.State
	}{
		"suspended": {map[string]any{"suspended": true}, resource.Inactive},
		"edited":    {map[string]any{"schedule": "0 4 * * *"}, resource.Active},
	} {
		t.Run(name, func(t *testing.T) {
			id := name + "-nightly"
			err := users.CronTriggers.Insert(t.Context(), &resource.CronTrigger{
				Meta:      engine.Meta{ID: id, State: resource.Inactive, Phase: resource.PhaseDeleted, Generation: 1},
				GatewayID: name, Name: "nightly",
			})
			if err != nil {
				t.Fatal(err)
			}
			var once sync.Once
			// Between the read and the write.
			asking := documents.Open(watched(t, func(command string) {
				if command == "findAndModify" {
					once.Do(func() {
						if _, err := users.CronTriggers.SetIntent(context.Background(), id, mongostore.Intent{Fields: test.change}); err != nil {
							t.Error(err)
						}
					})
				}
			}).Database(db.Name()))
			if err := asking.Ask(t.Context(), resource.KindCronTrigger, name, resource.Active); err != nil {
				t.Error(err)
			}
			if doc, err := users.CronTriggers.Get(t.Context(), id); err != nil || doc.State != test.want {
				t.Errorf("state %v, want %v, err = %v", doc.State, test.want, err)
			}
		})
	}
}

// watched is a client that tells of each command before it sends it.
func watched(t *testing.T, started func(command string)) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(testenv.MongoURI(t)).SetMonitor(&event.CommandMonitor{
		Started: func(_ context.Context, e *event.CommandStartedEvent) { started(e.CommandName) },
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}
