package mongoadmin_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/mongoadmin"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// published is what an instance would serve: name and code of the functions of
// the environment's live generation. all counts every function document.
func published(t *testing.T, database, environment string) (live map[string]string, all int) {
	t.Helper()
	db := raw(t, drivertest.MongoURI(t)).Database(database)
	var marker struct{ Generation int64 }
	_ = db.Collection("lockstep").FindOne(t.Context(), bson.D{{Key: "_id", Value: "stage/" + environment}}).Decode(&marker)
	cursor, err := db.Collection("functions").Find(t.Context(), bson.D{{Key: "environment", Value: environment}})
	if err != nil {
		t.Fatal(err)
	}
	var found []struct {
		Name, Code string
		Generation int64
	}
	if err := cursor.All(t.Context(), &found); err != nil {
		t.Fatal(err)
	}
	live = map[string]string{}
	for _, f := range found {
		if f.Generation == marker.Generation {
			live[f.Name] = f.Code
		}
	}
	return live, len(found)
}

func code(names ...string) []resource.CloudFunction {
	var list []resource.CloudFunction
	for i, name := range names {
		list = append(list, resource.CloudFunction{Name: name, Runtime: "javascript", Code: fmt.Sprintf("%s %d", name, i)})
	}
	return list
}

func stage(id string, token int64) resource.Owner {
	return drivertest.Owner(resource.KindStage, id, id+"-dev", token)
}

func withDatabase(t *testing.T) (c *mongoadmin.Client, id, database, user string) {
	t.Helper()
	c, id, database, user = gateway(t)
	if _, err := c.EnsureDatabase(t.Context(), drivertest.Gateway(id, 1), database, user, "secret"); err != nil {
		t.Fatal(err)
	}
	return c, id, database, user
}

func publish(t *testing.T, c *mongoadmin.Client, owner resource.Owner, generation int64, functions []resource.CloudFunction) {
	t.Helper()
	waiting, err := c.PublishFunctions(context.Background(), owner, resource.DatabaseName(owner.GatewayID), "dev", generation, functions)
	if waiting != "" || err != nil {
		t.Fatalf("waiting %q, %v", waiting, err)
	}
}

// Guards: publishing replaces the whole set of the environment, can be
// repeated, and leaves other environments alone.
func TestPublish(t *testing.T) {
	t.Parallel()
	c, id, database, _ := withDatabase(t)
	prod := drivertest.Owner(resource.KindStage, id, id+"-prod", 1)
	if _, err := c.PublishFunctions(t.Context(), prod, database, "prod", 1, code("p")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		generation int64
		names      []string
	}{{1, []string{"a", "b"}}, {1, []string{"a", "b"}}, {2, []string{"b", "c"}}, {2, []string{"c"}}, {3, nil}, {4, []string{"a"}}} {
		publish(t, c, stage(id, step.generation), step.generation, code(step.names...))
		want := map[string]string{}
		for _, f := range code(step.names...) {
			want[f.Name] = f.Code
		}
		if got, all := published(t, database, "dev"); !maps.Equal(got, want) || all != len(want) {
			t.Errorf("generation %d: live %v of %d, want %v", step.generation, got, all, want)
		}
	}
	for range 2 {
		drivertest.Eventually(t, func() (string, error) {
			return c.RemoveFunctions(t.Context(), stage(id, 5), database, "dev")
		})
	}
	if _, all := published(t, database, "dev"); all != 0 {
		t.Errorf("%d functions left", all)
	}
	if got, _ := published(t, database, "prod"); len(got) != 1 {
		t.Errorf("prod has %v", got)
	}
}

// Guards: publishing waits for the gateway's database instead of making one
// that no one would drop; so does removing.
func TestPublishWithoutADatabase(t *testing.T) {
	t.Parallel()
	c, id, database, user := gateway(t)
	if waiting, err := c.PublishFunctions(t.Context(), stage(id, 1), database, "dev", 1, code("a")); waiting == "" || err != nil {
		t.Errorf("publish: waiting %q, %v", waiting, err)
	}
	if waiting, err := c.RemoveFunctions(t.Context(), stage(id, 1), database, "dev"); waiting != "" || err != nil {
		t.Errorf("remove: waiting %q, %v", waiting, err)
	}
	if hasDatabase, _ := exists(t, c, database, user); hasDatabase {
		t.Error("a database was made")
	}
}

// Guards (spec 2, hole 2): what a newer claim has published is neither replaced
// nor removed by an older one.
func TestStalePublish(t *testing.T) {
	t.Parallel()
	c, id, database, _ := withDatabase(t)
	publish(t, c, stage(id, 2), 2, code("new"))
	if _, err := c.PublishFunctions(t.Context(), stage(id, 1), database, "dev", 1, code("old")); !errors.Is(err, mongoadmin.ErrStale) {
		t.Errorf("publish: %v, want ErrStale", err)
	}
	if _, err := c.RemoveFunctions(t.Context(), stage(id, 1), database, "dev"); !errors.Is(err, mongoadmin.ErrStale) {
		t.Errorf("remove: %v, want ErrStale", err)
	}
	if got, all := published(t, database, "dev"); got["new"] == "" || all != 1 {
		t.Errorf("live %v of %d", got, all)
	}
}

// Guards the moment between the check and the delete: a holder that is
// overtaken there deletes what was published before, not what its successor
// published since.
func TestLateRemovalSparesTheSuccessorsFunctions(t *testing.T) {
	t.Parallel()
	c, id, database, _ := withDatabase(t)
	publish(t, c, stage(id, 1), 1, code("old"))
	overtaken := stage(id, 1)
	overtaken.Verify = func(context.Context) error {
		publish(t, c, stage(id, 2), 2, code("new"))
		return nil
	}
	if waiting, err := c.RemoveFunctions(t.Context(), overtaken, database, "dev"); waiting == "" && err == nil {
		t.Error("reported gone")
	}
	if got, all := published(t, database, "dev"); got["new"] == "" || all != 1 {
		t.Errorf("live %v of %d", got, all)
	}
}

// Guards (spec 1, fault 2): a publish that ends after its claim was lost takes
// back what it wrote: from under a successor's set, and from a database that
// was dropped meanwhile and that it brought back.
func TestPublishAfterALostLockIsTakenBack(t *testing.T) {
	t.Parallel()
	t.Run("a successor published", func(t *testing.T) {
		t.Parallel()
		c, id, database, _ := withDatabase(t)
		owner := losing(stage(id, 1), func() { publish(t, c, stage(id, 2), 2, code("new")) })
		if _, err := c.PublishFunctions(t.Context(), owner, database, "dev", 1, code("old")); !errors.Is(err, errLost) {
			t.Errorf("err = %v", err)
		}
		if got, all := published(t, database, "dev"); got["new"] == "" || all != 1 {
			t.Errorf("live %v of %d", got, all)
		}
	})
	t.Run("the gateway was deleted", func(t *testing.T) {
		t.Parallel()
		c, id, database, user := withDatabase(t)
		owner := losing(stage(id, 1), func() {
			if _, err := c.RemoveDatabase(context.Background(), drivertest.Gateway(id, 2), database, user); err != nil {
				t.Error(err)
			}
			// As if the zombie's last write came only now.
			_, err := raw(t, drivertest.MongoURI(t)).Database(database).Collection("functions").InsertOne(context.Background(),
				bson.D{{Key: "_id", Value: "dev/1/old"}, {Key: "environment", Value: "dev"}, {Key: "token", Value: int64(1)}})
			if err != nil {
				t.Error(err)
			}
		})
		if _, err := c.PublishFunctions(t.Context(), owner, database, "dev", 1, code("old")); !errors.Is(err, errLost) {
			t.Errorf("err = %v", err)
		}
		if hasDatabase, _ := exists(t, c, database, user); hasDatabase {
			t.Error("the database is back")
		}
	})
}
