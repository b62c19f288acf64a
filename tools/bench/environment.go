package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// databasePrefix begins the names of the bench's databases; the time at which
// they were made follows.
const databasePrefix = "lockstep_bench_"

// forgotten is the age after which a database is one of a run that was killed.
const forgotten = 2 * time.Hour

// environment is the server to measure on.
type environment struct {
	client *mongo.Client
	server string
	short  bool
}

func newEnvironment(ctx context.Context, short bool) (*environment, error) {
	uri := os.Getenv("MONGODB_URI")
	if uri == "" {
		return nil, errors.New("MONGODB_URI is not set: run `make bench`, or set it to a server of your own")
	}
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(10 * time.Second).SetMaxPoolSize(200))
	if err != nil {
		return nil, fmt.Errorf("connect to MongoDB: %w", err)
	}
	env := &environment{client: client, short: short}
	if env.server, err = describeServer(ctx, client); err != nil {
		env.close()
		return nil, err
	}
	env.sweep(ctx)
	return env, nil
}

func (e *environment) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = e.client.Disconnect(ctx)
}

// size chooses between the sizes of a full run and of a short one.
func size[T any](e *environment, full, short T) T {
	if e.short {
		return short
	}
	return full
}

// database calls f with a new database, and drops it in any case.
func (e *environment) database(ctx context.Context, f func(db *mongo.Database) error) (err error) {
	name := databasePrefix + strconv.FormatInt(time.Now().Unix(), 10) + "_" + strings.ToLower(rand.Text()[:6])
	db := e.client.Database(name)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = cmp.Or(err, db.Drop(ctx))
	}()
	return f(db)
}

// sweep drops the databases of runs that were killed.
func (e *environment) sweep(ctx context.Context) {
	names, err := e.client.ListDatabaseNames(ctx, bson.D{})
	if err != nil {
		return
	}
	for _, name := range names {
		made, _, _ := strings.Cut(strings.TrimPrefix(name, databasePrefix), "_")
		seconds, err := strconv.ParseInt(made, 10, 64)
		if strings.HasPrefix(name, databasePrefix) && err == nil && time.Since(time.Unix(seconds, 0)) > forgotten {
			_ = e.client.Database(name).Drop(ctx)
		}
	}
}
