package mongostore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.uber.org/goleak"

	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// The store passes the conformance suite on a real server.
func TestConformance(t *testing.T) {
	db := testenv.Database(t)
	n := 0
	enginetest.Conformance(t, func(t *testing.T) enginetest.Harness {
		n++
		coll := db.Collection(fmt.Sprintf("Widget%d", n))
		store := mongostore.New[*enginetest.Widget](coll)
		if err := store.EnsureIndexes(t.Context(), enginetest.WidgetRules()); err != nil {
			t.Fatal(err)
		}
		return enginetest.Harness{Store: store, Users: users{coll}}
	})
}

// users is the user's side, by plain driver calls.
type users struct{ coll *mongo.Collection }

func (u users) Insert(ctx context.Context, docs ...*enginetest.Widget) error {
	_, err := u.coll.InsertMany(ctx, docs)
	return err
}

func (u users) Get(ctx context.Context, id string) (*enginetest.Widget, error) {
	var doc enginetest.Widget
	err := u.coll.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, fmt.Errorf("%s: %w", id, enginetest.ErrNotFound)
	}
	return &doc, err
}

func (u users) SetFields(ctx context.Context, id string, fields map[string]any) error {
	_, err := u.coll.UpdateOne(ctx, bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "$set", Value: fields}})
	return err
}

func (u users) Now(ctx context.Context) (time.Time, error) {
	return mongostore.NewClock(u.coll.Database()).Now(ctx)
}
