package mongoadmin_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/mongoadmin"
)

// Guards (spec 1, fault 4): create, crash, create again: a user that exists
// already is no error, and has the password that was asked for last, which is
// what the Secret says.
func TestEnsureUserTwice(t *testing.T) {
	t.Parallel()
	c, _, database, user := gateway(t)
	for _, password := range []string{"first-one", "second-one", "second-one"} {
		if err := c.EnsureUser(t.Context(), database, user, password); err != nil {
			t.Fatal(err)
		}
	}
	auth := authURI()
	if auth == "" {
		t.Log("MONGODB_AUTH_ADDR is not set: logins are not tried")
		return
	}
	asking := client(t, auth, mongoadmin.Options{})
	if err := login(t, asking.RuntimeURI(database, user, "second-one"), database); err != nil {
		t.Errorf("the password of the last call: %v", err)
	}
	if err := login(t, asking.RuntimeURI(database, user, "first-one"), database); !isAuth(err) {
		t.Errorf("the password of the first call: %v, want a refusal", err)
	}
}

// Guards: ensure and remove are idempotent, and observe: MongoDB makes a
// database with the first write, and what is removed is gone.
func TestDatabaseComesAndGoes(t *testing.T) {
	t.Parallel()
	c, id, database, user := gateway(t)
	if waiting, err := c.RemoveDatabase(t.Context(), drivertest.Gateway(id, 1), database, user); waiting != "" || err != nil {
		t.Errorf("removing what is not there: %q, %v", waiting, err)
	}
	if hasDatabase, hasUser := exists(t, c, database, user); hasDatabase || hasUser {
		t.Errorf("looking made them: %v, %v", hasDatabase, hasUser)
	}
	for token := int64(1); token < 4; token++ {
		if _, err := c.EnsureDatabase(t.Context(), drivertest.Gateway(id, token), database, user, "secret"); err != nil {
			t.Fatal(err)
		}
	}
	if hasDatabase, hasUser := exists(t, c, database, user); !hasDatabase || !hasUser {
		t.Fatalf("database %v, user %v", hasDatabase, hasUser)
	}
	for range 2 {
		drivertest.Eventually(t, func() (string, error) {
			return c.RemoveDatabase(t.Context(), drivertest.Gateway(id, 4), database, user)
		})
	}
	if hasDatabase, hasUser := exists(t, c, database, user); hasDatabase || hasUser {
		t.Errorf("still there: database %v, user %v", hasDatabase, hasUser)
	}
}

// Guards: a removal that was cut short in the middle goes on at what is left,
// whichever of the two that is.
func TestRemoveDatabaseGoesOn(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*mongoadmin.Client, string, string) error{
		"the database is left": func(c *mongoadmin.Client, _, user string) error { return c.DropUser(t.Context(), user) },
		"the user is left":     func(c *mongoadmin.Client, database, _ string) error { return c.DropDatabase(t.Context(), database) },
	} {
		t.Run(name, func(t *testing.T) {
			c, id, database, user := gateway(t)
			if _, err := c.EnsureDatabase(t.Context(), drivertest.Gateway(id, 1), database, user, "secret"); err != nil {
				t.Fatal(err)
			}
			if err := cut(c, database, user); err != nil {
				t.Fatal(err)
			}
			drivertest.Eventually(t, func() (string, error) {
				return c.RemoveDatabase(t.Context(), drivertest.Gateway(id, 2), database, user)
			})
			if hasDatabase, hasUser := exists(t, c, database, user); hasDatabase || hasUser {
				t.Errorf("still there: database %v, user %v", hasDatabase, hasUser)
			}
		})
	}
}

// Guards (spec 2, hole 2): a holder whose claim is older than the one that
// acted last changes nothing; a database with another owner's marker is left.
func TestStaleAndForeignDatabases(t *testing.T) {
	t.Parallel()
	c, id, database, user := gateway(t)
	if _, err := c.EnsureDatabase(t.Context(), drivertest.Gateway(id, 2), database, user, "secret"); err != nil {
		t.Fatal(err)
	}
	var lost interface{ LockLost() bool }
	_, err := c.EnsureDatabase(t.Context(), drivertest.Gateway(id, 1), database, user, "zombie")
	if !errors.Is(err, mongoadmin.ErrStale) || !errors.As(err, &lost) {
		t.Errorf("ensure: %v, want ErrStale", err)
	}
	if _, err := c.RemoveDatabase(t.Context(), drivertest.Gateway(id, 1), database, user); !errors.Is(err, mongoadmin.ErrStale) {
		t.Errorf("remove: %v, want ErrStale", err)
	}
	var terminal interface{ Terminal() bool }
	_, err = c.RemoveDatabase(t.Context(), drivertest.Gateway("other1", 9), database, user)
	if !errors.Is(err, mongoadmin.ErrForeign) || !errors.As(err, &terminal) {
		t.Errorf("another gateway: %v, want ErrForeign", err)
	}
	if hasDatabase, hasUser := exists(t, c, database, user); !hasDatabase || !hasUser {
		t.Errorf("database %v, user %v: someone dropped them", hasDatabase, hasUser)
	}
}

// Guards (spec 1, fault 2): a create that outlives the delete of its gateway
// leaves neither user nor database behind.
func TestEnsureDatabaseAfterALostLockIsTakenBack(t *testing.T) {
	t.Parallel()
	c, id, database, user := gateway(t)
	_, err := c.EnsureDatabase(t.Context(), losing(drivertest.Gateway(id, 1), nil), database, user, "zombie")
	if !errors.Is(err, errLost) {
		t.Errorf("err = %v, want what Verify said", err)
	}
	if hasDatabase, hasUser := exists(t, c, database, user); hasDatabase || hasUser {
		t.Errorf("left behind: database %v, user %v", hasDatabase, hasUser)
	}
}

// Guards the other side: what a successor has taken on since is its own.
func TestTakingBackSparesTheSuccessor(t *testing.T) {
	t.Parallel()
	c, id, database, user := gateway(t)
	owner := losing(drivertest.Gateway(id, 1), func() {
		if _, err := c.EnsureDatabase(context.Background(), drivertest.Gateway(id, 2), database, user, "successor"); err != nil {
			t.Error(err)
		}
	})
	if _, err := c.EnsureDatabase(t.Context(), owner, database, user, "zombie"); !errors.Is(err, errLost) {
		t.Errorf("err = %v", err)
	}
	if hasDatabase, hasUser := exists(t, c, database, user); !hasDatabase || !hasUser {
		t.Errorf("database %v, user %v: the successor's were dropped", hasDatabase, hasUser)
	}
}

// Guards (spec 1, fault 1): a server that does not answer is not a server that
// says "not there"; and no error shows the password of the URI.
func TestErrorsAreNotAbsence(t *testing.T) {
	t.Parallel()
	c := client(t, "mongodb://admin:hidden-pw@127.0.0.1:1/", mongoadmin.Options{Timeout: 200 * time.Millisecond})
	_, errUser := c.UserExists(t.Context(), "u")
	_, errDatabase := c.DatabaseExists(t.Context(), "d")
	_, errRemove := c.RemoveDatabase(t.Context(), drivertest.Gateway("g", 1), "d", "u")
	_, errFunctions := c.RemoveFunctions(t.Context(), drivertest.Gateway("g", 1), "d", "dev")
	for _, err := range []error{errUser, errDatabase, errRemove, errFunctions,
		c.DropUser(t.Context(), "u"), c.EnsureUser(t.Context(), "d", "u", "user-pw"), c.Ping(t.Context())} {
		if err == nil || strings.Contains(err.Error(), "-pw") {
			t.Errorf("err = %v", err)
		}
	}
}
