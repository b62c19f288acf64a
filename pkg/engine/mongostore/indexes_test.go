package mongostore_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// Hole: no index at all. Missing indexes are created, present ones are left
// alone, and one that differs is reported and not dropped.
func TestIndexes(t *testing.T) {
	ctx, rules := t.Context(), enginetest.WidgetRules()
	coll := testenv.Database(t).Collection("Widget")
	store := mongostore.New[*enginetest.Widget](coll)
	more := []mongostore.Index{
		{Name: "name", Keys: []string{"name"}, Unique: true, Present: "name"},
		{Name: "plain", Keys: []string{"plain"}},
	}
	missing, err := store.MissingIndexes(ctx, rules, more...)
	if err != nil || len(missing) < 3 {
		t.Fatalf("before: missing %v, error %v", missing, err)
	}
	for range 2 {
		if err := store.EnsureIndexes(ctx, rules, more...); err != nil {
			t.Fatal(err)
		}
	}
	if missing, err := store.MissingIndexes(ctx, rules, more...); err != nil || len(missing) > 0 {
		t.Fatalf("after: missing %v, error %v", missing, err)
	}

	if err := coll.Indexes().DropOne(ctx, "plain"); err != nil {
		t.Fatal(err)
	}
	other := mongo.IndexModel{Keys: bson.D{{Key: "other", Value: 1}}, Options: options.Index().SetName("plain")}
	if _, err := coll.Indexes().CreateOne(ctx, other); err != nil {
		t.Fatal(err)
	}
	err = store.EnsureIndexes(ctx, rules, more...)
	if err == nil || !strings.Contains(err.Error(), `index "plain" of Widget differs`) {
		t.Errorf("a differing index: %v", err)
	}
}
