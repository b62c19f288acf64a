package platform_test

import (
	"context"
	"encoding/base64"
	"net/url"
	"os"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Fault 4: create user, crash, create user again: "already exists" for ever.
// The replica crashes after it has made the user, before anyone is told; or it
// crashed before that Secret was kept from which the password could be known.
// In both cases the next goes on, and the password in the Secret is the user's.
//
// The protection is in mongoadmin.EnsureUser: it looks first, and gives a user
// that exists the password. Without it the gateway never leaves Creating: seen
// to fail.
func TestUserThatExistsAlready(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	crash := newBreakpoints()
	w.replica("r", withLockTimeout(lockTimeout), withAround(crash.around(
		func(ctx context.Context, run func(context.Context) (engine.Outcome, error)) (engine.Outcome, error) {
			if outcome, err := run(ctx); err != nil {
				return outcome, err
			}
			return engine.Outcome{}, engine.ErrLockLost // nothing more is written
		})))

	told, untold := w.newGateway(), w.newGateway()
	crash.at(told.ID, point{resource.KindApiGateway, resource.PhaseCreating, "database"})
	createUser(t, w, untold.ID, "a password that nobody knows any more")
	for _, gw := range []*resource.ApiGateway{told, untold} {
		must(t, w.docs.ApiGateways.Insert(t.Context(), gw))
	}
	w.reaches(resource.Running, resource.PhaseStarted, told.ID, untold.ID)
	must(t, crash.missing())
	w.logsIn(told.ID)
	w.logsIn(untold.ID)
	w.set(resource.Deleted, told.ID, untold.ID)
	w.gone(told.ID, untold.ID)
}

func createUser(t *testing.T, w *world, id, password string) {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	must(t, w.db.Client().Database("admin").RunCommand(ctx, bson.D{
		{Key: "createUser", Value: resource.DatabaseUser(id)}, {Key: "pwd", Value: password},
		{Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: "readWrite"}, {Key: "db", Value: resource.DatabaseName(id)}}}},
	}).Err())
}

// logsIn fails unless the gateway's credentials are good, as its pods use them:
// on a server that checks them.
func (w *world) logsIn(id string) {
	w.t.Helper()
	secret := w.object(in(kube.Secret, id, resource.DatabaseSecretName(id)))
	if secret == nil {
		w.t.Fatalf("gateway %s has no Secret", id)
	}
	encoded, _, err := unstructured.NestedString(secret.Object, "data", "uri")
	must(w.t, err)
	uri, err := base64.StdEncoding.DecodeString(encoded)
	must(w.t, err)
	u, err := url.Parse(string(uri))
	must(w.t, err)
	if addr := os.Getenv("MONGODB_AUTH_ADDR"); addr != "" {
		u.Host = addr // refuses those who do not log in
	}
	client, err := mongo.Connect(options.Client().ApplyURI(u.String()).SetServerSelectionTimeout(10 * time.Second))
	must(w.t, err)
	ctx, cancel := bounded(w.t)
	defer cancel()
	defer func() { _ = client.Disconnect(ctx) }()
	if _, err := client.Database(resource.DatabaseName(id)).ListCollectionNames(ctx, bson.D{}); err != nil {
		w.t.Errorf("gateway %s cannot log in: %v", id, err)
	}
}
