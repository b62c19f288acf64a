package mongoadmin_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/mongoadmin"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// pausing is a client that does something right before it sends a command for
// the first time.
func pausing(t *testing.T, command string, meanwhile func()) *mongoadmin.Client {
	t.Helper()
	var once sync.Once
	return client(t, drivertest.MongoURI(t), mongoadmin.Options{Configure: func(o *options.ClientOptions) {
		o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if e.CommandName == command {
				once.Do(meanwhile)
			}
		}})
	}})
}

func ensured(t *testing.T, c *mongoadmin.Client, owner resource.Owner, password string) (waiting string) {
	t.Helper()
	waiting, err := c.EnsureDatabase(context.Background(), owner,
		resource.DatabaseName(owner.GatewayID), resource.DatabaseUser(owner.GatewayID), password)
	if err != nil {
		t.Error(err)
	}
	return waiting
}

// Guards: that the control database does not answer is no lost lock: nothing
// is taken back, whoever made it.
func TestEnsureDatabaseSurvivesABlip(t *testing.T) {
	t.Parallel()
	c, id, database, user := gateway(t)
	for token := int64(1); token < 3; token++ {
		if _, err := c.EnsureDatabase(t.Context(), blip(drivertest.Gateway(id, token)), database, user, "secret"); !errors.Is(err, errBlip) {
			t.Errorf("err = %v", err)
		}
		if hasDatabase, hasUser := exists(t, c, database, user); !hasDatabase || !hasUser {
			t.Errorf("database %v, user %v", hasDatabase, hasUser)
		}
	}
}

// Guards: a claim that is lost takes back what it has made, not what it found.
func TestTakingBackSparesWhatWasThere(t *testing.T) {
	t.Parallel()
	c, id, database, user := withDatabase(t)
	if _, err := c.EnsureDatabase(t.Context(), losing(drivertest.Gateway(id, 2), nil), database, user, "secret"); !errors.Is(err, errLost) {
		t.Errorf("err = %v", err)
	}
	if hasDatabase, hasUser := exists(t, c, database, user); !hasDatabase || !hasUser {
		t.Errorf("database %v, user %v", hasDatabase, hasUser)
	}
	publish(t, c, stage(id, 1), 1, code("a")) // it waits if the marker is gone
	if waiting := ensured(t, c, drivertest.Gateway(id, 3), "secret"); waiting != "" {
		t.Errorf("waiting %q", waiting)
	}
}

// Guards: a successor that comes between the look at the marker and the drop
// of the user does not lose the user: it waits for the drop, and makes it anew.
func TestASuccessorWaitsForWhatIsTakenBack(t *testing.T) {
	t.Parallel()
	c, id, database, user := gateway(t)
	var waiting string
	overtaken := pausing(t, "dropUser", func() { waiting = ensured(t, c, drivertest.Gateway(id, 2), "successor") })
	if _, err := overtaken.EnsureDatabase(t.Context(), losing(drivertest.Gateway(id, 1), nil), database, user, "zombie"); !errors.Is(err, errLost) {
		t.Errorf("err = %v", err)
	}
	if waiting == "" {
		t.Error("the successor did not wait")
	}
	if again := ensured(t, c, drivertest.Gateway(id, 2), "successor"); again != "" {
		t.Errorf("the drop is over: waiting %q", again)
	}
	if hasDatabase, hasUser := exists(t, c, database, user); !hasDatabase || !hasUser {
		t.Errorf("database %v, user %v", hasDatabase, hasUser)
	}
}

// Guards: a gateway whose document is made anew while its database is being
// dropped as an orphan keeps its data: it waits, and whoever drops sees that.
func TestADropYieldsToAnAdoption(t *testing.T) {
	t.Parallel()
	c, id, database, user := withDatabase(t)
	insert(t, database)
	var waiting string
	late := pausing(t, "dropUser", func() { waiting = ensured(t, c, drivertest.Gateway(id, 1000), "adopted") })
	if _, err := late.RemoveOrphan(t.Context(), id, func(context.Context) error { return nil }); !errors.Is(err, mongoadmin.ErrStale) {
		t.Errorf("err = %v, want ErrStale", err)
	}
	if waiting == "" {
		t.Error("the adopted gateway did not wait")
	}
	if n := items(t, database); n != 1 {
		t.Errorf("%d items left", n)
	}
	// The drop was given up, but may come yet for all that the gateway knows.
	if waiting := ensured(t, c, drivertest.Gateway(id, 1001), "adopted"); waiting == "" {
		t.Error("it did not wait any more")
	}
	_, err := raw(t, drivertest.MongoURI(t)).Database(database).Collection("lockstep").UpdateOne(t.Context(),
		bson.D{{Key: "_id", Value: "database"}}, bson.D{{Key: "$set", Value: bson.D{{Key: "dropping.at", Value: time.Now().Add(-time.Hour)}}}})
	if err != nil {
		t.Fatal(err)
	}
	if waiting := ensured(t, c, drivertest.Gateway(id, 1002), "adopted"); waiting != "" {
		t.Errorf("an hour later: waiting %q", waiting)
	}
	if hasDatabase, hasUser := exists(t, c, database, user); !hasDatabase || !hasUser || items(t, database) != 1 {
		t.Errorf("database %v, user %v, %d items", hasDatabase, hasUser, items(t, database))
	}
}

// Guards: the document is looked for again between the user and the database.
func TestADropLooksForTheDocumentAgain(t *testing.T) {
	t.Parallel()
	c, id, database, _ := withDatabase(t)
	insert(t, database)
	asked := 0
	_, err := c.RemoveOrphan(t.Context(), id, func(context.Context) error {
		if asked++; asked == 1 {
			return nil
		}
		return errBlip
	})
	if !errors.Is(err, errBlip) || items(t, database) != 1 {
		t.Errorf("err = %v, %d items", err, items(t, database))
	}
}

// Guards: a drop that ran to its end before the adopted gateway came again is
// no reason to wait.
func TestAfterADropADatabaseIsMade(t *testing.T) {
	t.Parallel()
	c, id, database, user := withDatabase(t)
	var waiting string
	late := pausing(t, "dropDatabase", func() { waiting = ensured(t, c, drivertest.Gateway(id, 1000), "adopted") })
	if left, err := late.RemoveOrphan(t.Context(), id, func(context.Context) error { return nil }); left != "" || err != nil {
		t.Errorf("waiting %q, %v", left, err)
	}
	if waiting == "" {
		t.Error("the adopted gateway did not wait")
	}
	if waiting := ensured(t, c, drivertest.Gateway(id, 1000), "adopted"); waiting != "" {
		t.Errorf("waiting %q", waiting)
	}
	if hasDatabase, hasUser := exists(t, c, database, user); !hasDatabase || !hasUser {
		t.Errorf("database %v, user %v", hasDatabase, hasUser)
	}
}

// insert writes something of the instance's.
func insert(t *testing.T, database string) {
	t.Helper()
	if _, err := raw(t, drivertest.MongoURI(t)).Database(database).Collection("items").InsertOne(t.Context(), bson.D{{Key: "n", Value: 1}}); err != nil {
		t.Fatal(err)
	}
}

func items(t *testing.T, database string) int64 {
	t.Helper()
	n, err := raw(t, drivertest.MongoURI(t)).Database(database).Collection("items").CountDocuments(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
