package mongoadmin_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/mongoadmin"
	"github.com/lockstep-io/lockstep/internal/resource"
)

var errBlip = errors.New("server selection error")

// blip is a control database that does not answer just now.
func blip(owner resource.Owner) resource.Owner {
	owner.Verify = func(context.Context) error { return errBlip }
	return owner
}

// content is everything in markers and functions of a gateway's database.
func content(t *testing.T, database string) map[string][]bson.M {
	t.Helper()
	all := map[string][]bson.M{}
	for _, name := range []string{"lockstep", "functions"} {
		cursor, err := raw(t, drivertest.MongoURI(t)).Database(database).Collection(name).Find(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		var docs []bson.M
		if err := cursor.All(t.Context(), &docs); err != nil {
			t.Fatal(err)
		}
		all[name] = docs
	}
	return all
}

func loseFunction(t *testing.T, database, id string) {
	t.Helper()
	_, err := raw(t, drivertest.MongoURI(t)).Database(database).Collection("functions").DeleteOne(t.Context(), bson.D{{Key: "_id", Value: id}})
	if err != nil {
		t.Fatal(err)
	}
}

func keep(t *testing.T, c *mongoadmin.Client, owner resource.Owner, generation int64, current []resource.CloudFunction) bool {
	t.Helper()
	live, err := c.KeepFunctions(t.Context(), owner, resource.DatabaseName(owner.GatewayID), "dev", generation, current)
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// Guards: a set that is live stays as it was published, whatever becomes of
// the functions, and looking after it writes nothing.
func TestKeepWritesNothing(t *testing.T) {
	t.Parallel()
	c, id, database, _ := withDatabase(t)
	if keep(t, c, stage(id, 1), 1, code("a")) {
		t.Error("live before anything was published")
	}
	publish(t, c, stage(id, 1), 1, code("a", "b"))
	before := content(t, database)
	changed := code("a", "b")
	changed[0].Code, changed[0].Version = "new", 1
	for _, current := range [][]resource.CloudFunction{code("a", "b"), changed, changed[:1], nil} {
		if !keep(t, c, stage(id, 2), 1, current) {
			t.Error("not live")
		}
	}
	if after := content(t, database); !reflect.DeepEqual(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
	if keep(t, c, stage(id, 2), 2, changed) {
		t.Error("generation 2 is live before it was published")
	}
	publish(t, c, stage(id, 3), 2, nil)
	before = content(t, database)
	if !keep(t, c, stage(id, 4), 2, changed) || !reflect.DeepEqual(before, content(t, database)) {
		t.Error("an empty set is not kept")
	}
}

// Guards: what somebody removed of a live set comes back in the version that
// was published, and in no other; what was left of another set goes.
func TestKeepPutsRight(t *testing.T) {
	t.Parallel()
	c, id, database, _ := withDatabase(t)
	set := code("a", "b")
	set[0].Version = 3
	publish(t, c, stage(id, 1), 5, set)
	want := map[string]string{"a": set[0].Code, "b": set[1].Code}

	now := code("a", "b")
	now[0].Version, now[0].Code = 4, "not published"
	kept := now[0]
	kept.Versions = []resource.FunctionVersion{{Version: 2, Code: "older"}, {Version: 3, Code: set[0].Code, Runtime: set[0].Runtime}}

	loseFunction(t, database, "dev/5/a")
	if _, err := c.KeepFunctions(t.Context(), stage(id, 2), database, "dev", 5, now); err == nil {
		t.Error("no error although the version is not kept")
	}
	if got, _ := published(t, database, "dev"); len(got) != 1 {
		t.Errorf("live %v: something was put in its place", got)
	}
	if !keep(t, c, stage(id, 2), 5, []resource.CloudFunction{kept, now[1]}) {
		t.Error("not live")
	}
	if got, all := published(t, database, "dev"); !maps.Equal(got, want) || all != 2 {
		t.Errorf("live %v of %d, want %v", got, all, want)
	}

	_, err := raw(t, drivertest.MongoURI(t)).Database(database).Collection("functions").InsertOne(t.Context(),
		bson.D{{Key: "_id", Value: "dev/4/a"}, {Key: "environment", Value: "dev"}, {Key: "generation", Value: int64(4)}, {Key: "token", Value: int64(1)}})
	if err != nil {
		t.Fatal(err)
	}
	if !keep(t, c, stage(id, 3), 5, now) {
		t.Error("not live")
	}
	if got, all := published(t, database, "dev"); !maps.Equal(got, want) || all != 2 {
		t.Errorf("live %v of %d, want %v", got, all, want)
	}
}

// Guards: that the control database does not answer is no lost lock. What is
// served stays, what was written does not go live, and the next try ends it.
func TestPublishSurvivesABlip(t *testing.T) {
	t.Parallel()
	c, id, database, _ := withDatabase(t)
	publish(t, c, stage(id, 1), 1, code("a"))
	for generation := int64(1); generation < 3; generation++ {
		_, err := c.PublishFunctions(t.Context(), blip(stage(id, 2)), database, "dev", generation, code("a", "b")[:generation])
		if !errors.Is(err, errBlip) {
			t.Errorf("err = %v", err)
		}
		if got, _ := published(t, database, "dev"); len(got) != 1 || got["a"] == "" {
			t.Errorf("generation %d: live %v", generation, got)
		}
	}
	publish(t, c, stage(id, 3), 2, code("a", "b"))
	if got, all := published(t, database, "dev"); len(got) != 2 || all != 2 {
		t.Errorf("live %v of %d", got, all)
	}
	loseFunction(t, database, "dev/2/a")
	if _, err := c.KeepFunctions(t.Context(), blip(stage(id, 4)), database, "dev", 2, code("a", "b")); !errors.Is(err, errBlip) {
		t.Errorf("err = %v", err)
	}
	if got, _ := published(t, database, "dev"); len(got) != 2 {
		t.Errorf("live %v", got)
	}
}

// Guards: a claim whose time was up while it wrote is asked about all the
// same; only the answer that it is lost takes anything back.
func TestPublishAsksBeyondItsContext(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"lost": errLost, "still ours": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, id, database, _ := withDatabase(t)
			ctx, cancel := context.WithCancel(t.Context())
			owner := stage(id, 1)
			owner.Verify = func(asked context.Context) error {
				cancel()
				if asked.Err() != nil {
					return asked.Err()
				}
				return answer
			}
			_, err := c.PublishFunctions(ctx, owner, database, "dev", 1, code("a"))
			if err == nil || errors.Is(err, resource.ErrLockLost) != (answer != nil) {
				t.Errorf("err = %v", err)
			}
			live, all := published(t, database, "dev")
			if left := all == 1; len(live) != 0 || left != (answer == nil) {
				t.Errorf("live %v of %d", live, all)
			}
		})
	}
}

// Guards: a set does not go live under a marker that a newer claim has removed
// after the last verification.
func TestGoingLiveNeedsTheOwnMarker(t *testing.T) {
	t.Parallel()
	c, id, database, _ := withDatabase(t)
	owner := stage(id, 1)
	owner.Verify = func(ctx context.Context) error {
		_, err := c.RemoveFunctions(ctx, stage(id, 2), database, "dev")
		return err
	}
	if _, err := c.PublishFunctions(t.Context(), owner, database, "dev", 1, code("a")); !errors.Is(err, mongoadmin.ErrStale) {
		t.Errorf("err = %v", err)
	}
	if live, all := published(t, database, "dev"); len(live) != 0 || all != 0 {
		t.Errorf("live %v of %d", live, all)
	}
}
