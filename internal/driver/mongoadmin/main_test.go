package mongoadmin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/mongoadmin"
	"github.com/lockstep-io/lockstep/internal/resource"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

var errLost = fmt.Errorf("the store says: %w", resource.ErrLockLost)

// gateway is a new gateway's database and user, removed when the test ends.
func gateway(t *testing.T) (c *mongoadmin.Client, id, database, user string) {
	t.Helper()
	c = client(t, drivertest.MongoURI(t), mongoadmin.Options{})
	id = drivertest.GatewayID()
	database, user = resource.DatabaseName(id), resource.DatabaseUser(id)
	t.Cleanup(func() {
		ctx := context.Background()
		if err := errors.Join(c.DropUser(ctx, user), c.DropDatabase(ctx, database)); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	return c, id, database, user
}

func client(t *testing.T, uri string, opts mongoadmin.Options) *mongoadmin.Client {
	t.Helper()
	c, err := mongoadmin.New(resource.Region{Name: "test", RuntimeMongoURI: uri}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// raw is a plain client, as the instance or a person would use.
func raw(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	c, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Disconnect(context.Background()) })
	return c
}

func exists(t *testing.T, c *mongoadmin.Client, database, user string) (bool, bool) {
	t.Helper()
	hasDatabase, err := c.DatabaseExists(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	hasUser, err := c.UserExists(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	return hasDatabase, hasUser
}

func losing(owner resource.Owner, meanwhile func()) resource.Owner {
	owner.Verify = func(context.Context) error {
		if meanwhile != nil {
			meanwhile()
		}
		return errLost
	}
	return owner
}

// authURI is the same server where it asks for a login, empty if the test's
// servers have none such.
func authURI() string {
	if addr := os.Getenv("MONGODB_AUTH_ADDR"); addr != "" {
		return "mongodb://" + addr + "/"
	}
	return ""
}

// login tries to use a gateway's database with a password.
func login(t *testing.T, uri, database string) error {
	t.Helper()
	_, err := raw(t, uri).Database(database).Collection("items").InsertOne(t.Context(), bson.D{{Key: "hello", Value: 1}})
	return err
}

func isAuth(err error) bool {
	return err != nil && strings.Contains(strings.ToLower(err.Error()), "auth")
}
