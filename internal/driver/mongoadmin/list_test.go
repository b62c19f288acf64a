package mongoadmin_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/mongoadmin"
)

// Guards spec 1, fault 8: what is left of a gateway on the server is found,
// also if it is the user alone.
func TestListGateways(t *testing.T) {
	t.Parallel()
	c, id, database, user := gateway(t)
	listed := func() bool {
		ids, err := c.ListGateways(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(ids, id)
	}
	if listed() {
		t.Error("listed before it was made")
	}
	if err := c.EnsureUser(t.Context(), database, user, "secret"); err != nil {
		t.Fatal(err)
	}
	if !listed() {
		t.Error("the user alone is not listed")
	}
	if err := c.DropUser(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	if _, err := raw(t, drivertest.MongoURI(t)).Database(database).Collection("items").InsertOne(t.Context(), map[string]int{"n": 1}); err != nil {
		t.Fatal(err)
	}
	if !listed() {
		t.Error("the database alone is not listed")
	}
}

// Guards data: a sweeper whose gateway is there after all drops nothing; one
// that is right drops all, whatever token it was under.
func TestRemoveOrphan(t *testing.T) {
	t.Parallel()
	c, id, database, user := gateway(t)
	if _, err := c.EnsureDatabase(t.Context(), drivertest.Gateway(id, 7), database, user, "secret"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RemoveOrphan(t.Context(), id, func(context.Context) error { return errLost }); !errors.Is(err, errLost) {
		t.Errorf("err = %v", err)
	}
	if hasDatabase, hasUser := exists(t, c, database, user); !hasDatabase || !hasUser {
		t.Errorf("database %v, user %v: dropped although the gateway is there", hasDatabase, hasUser)
	}
	waiting, err := c.RemoveOrphan(t.Context(), id, func(context.Context) error { return nil })
	if waiting != "" || err != nil {
		t.Errorf("waiting %q, %v", waiting, err)
	}
	if hasDatabase, hasUser := exists(t, c, database, user); hasDatabase || hasUser {
		t.Errorf("database %v, user %v: still there", hasDatabase, hasUser)
	}
}

// Guards a claim that acts between the sweeper's look and its drop: the stake
// of a newer one refuses it.
func TestRemoveOrphanYieldsToANewerClaim(t *testing.T) {
	t.Parallel()
	c, id, database, user := gateway(t)
	if _, err := c.EnsureDatabase(t.Context(), drivertest.Gateway(id, 7), database, user, "secret"); err != nil {
		t.Fatal(err)
	}
	overtaken := client(t, drivertest.MongoURI(t), mongoadmin.Options{})
	asked := false
	_, err := overtaken.RemoveOrphan(t.Context(), id, func(ctx context.Context) error {
		asked = true
		if _, err := c.EnsureDatabase(ctx, drivertest.Gateway(id, 8), database, user, "secret"); err != nil {
			t.Error(err)
		}
		return errLost
	})
	if !asked || !errors.Is(err, errLost) {
		t.Errorf("asked %v, err = %v", asked, err)
	}
	if hasDatabase, hasUser := exists(t, c, database, user); !hasDatabase || !hasUser {
		t.Errorf("database %v, user %v: dropped", hasDatabase, hasUser)
	}
}
