// Package testenv gives tests the real servers they talk to. A test that
// cannot have its server fails, and says what to do: nothing is skipped.
package testenv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/mongodb"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Environment variables.
const (
	// MongoURI is the server's address.
	MongoURIVar = "MONGODB_URI"
	// MongoImageVar, if set and MONGODB_URI is not, names the image of a
	// MongoDB that is started on the Docker engine.
	MongoImageVar = "LOCKSTEP_TEST_MONGO_IMAGE"
	// KubeconfigVar is the path of a kubeconfig with full rights.
	KubeconfigVar = "KUBECONFIG"
)

// defaultMongoImage is used where a Docker engine answers.
const defaultMongoImage = "mongo:8"

// MongoURI returns the address of a real MongoDB-compatible server: that of
// MONGODB_URI, or one in a container where a Docker engine is reachable.
func MongoURI(t testing.TB) string {
	t.Helper()
	if uri := os.Getenv(MongoURIVar); uri != "" {
		return uri
	}
	uri, err := containerURI()
	if err != nil {
		t.Fatalf("no MongoDB to test against (%v): run `make test`, or set %s", err, MongoURIVar)
	}
	return uri
}

// containerURI starts one MongoDB container per test process. The container
// library's reaper removes it when the process has ended.
var containerURI = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return "", fmt.Errorf("no Docker engine: %w", err)
	}
	defer provider.Close() //nolint:errcheck // only asked whether it is there
	if err := provider.Health(ctx); err != nil {
		return "", fmt.Errorf("no Docker engine: %w", err)
	}
	image := os.Getenv(MongoImageVar)
	if image == "" {
		image = defaultMongoImage
	}
	container, err := mongodb.Run(ctx, image, mongodb.WithReplicaSet("rs0"))
	if err != nil {
		return "", fmt.Errorf("start %s: %w", image, err)
	}
	return container.ConnectionString(ctx)
})

// Mongo returns a client that is closed when the test ends.
func Mongo(t testing.TB) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(MongoURI(t)))
	if err != nil {
		t.Fatalf("connect to MongoDB: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = client.Disconnect(ctx)
	})
	return client
}

// Database returns an empty database of the test's own, which is dropped when
// the test ends.
func Database(t testing.TB) *mongo.Database {
	t.Helper()
	db := Mongo(t).Database("test_" + RandomID(12))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := db.Drop(ctx); err != nil {
			t.Errorf("drop test database %s: %v", db.Name(), err)
		}
	})
	return db
}

// Kubeconfig returns the path of the kubeconfig of a real API server.
func Kubeconfig(t testing.TB) string {
	t.Helper()
	path := os.Getenv(KubeconfigVar)
	if path == "" {
		t.Fatalf("no Kubernetes to test against: run `make test`, or set %s", KubeconfigVar)
	}
	return path
}

// RandomID returns n random characters of a-z0-9, beginning with a letter.
func RandomID(n int) string {
	const letters, all = "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz0123456789"
	var b strings.Builder
	b.WriteByte(letters[rand.IntN(len(letters))]) //nolint:gosec // names, not secrets
	for range n - 1 {
		b.WriteByte(all[rand.IntN(len(all))]) //nolint:gosec // names, not secrets
	}
	return b.String()
}
