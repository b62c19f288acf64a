package mongoadmin

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// EnsureDatabase makes the gateway's database and its user be there. MongoDB
// makes a database with the first write to it: that is its marker. It waits
// while the database is being dropped: commands that drop know no token.
func (c *Client) EnsureDatabase(ctx context.Context, owner resource.Owner, database, user, password string) (waiting string, err error) {
	// With our token on the marker nobody older can begin to drop any more; who
	// has begun before is seen by the read that follows.
	var did made
	if did.marker, err = c.stake(ctx, owner, database, databaseMarker, nil); err != nil {
		return "", err
	}
	if waiting, err = c.beingDropped(ctx, owner, database); err != nil || waiting != "" {
		return waiting, err
	}
	if did.user, err = c.ensureUser(ctx, database, user, password); err != nil {
		return "", err
	}
	err = verifyMade(ctx, owner, c.timeout)
	if err == nil {
		return "", nil
	}
	err = fmt.Errorf("after creating user %s: %w", user, err)
	if !errors.Is(err, resource.ErrLockLost) {
		return "", err // nobody knows: it stays, for the next claim to find
	}
	return "", errors.Join(err, c.takeBackDatabase(context.WithoutCancel(ctx), owner, database, user, did))
}

// made is what one call has made that was not there before.
type made struct{ marker, user bool }

// takeBackDatabase undoes what was made under a claim that proved to be lost,
// unless a newer claim has put its own token on the marker: then all of it is
// that claim's, to keep or to drop. What was there before stays as well.
func (c *Client) takeBackDatabase(ctx context.Context, owner resource.Owner, database, user string, did made) error {
	if !did.marker && !did.user {
		return nil
	}
	// Announced, so that a claim which comes now does not find the user, rely on
	// it, and lose it.
	drop, inserted, err := c.beginDrop(ctx, owner, database)
	if errors.Is(err, ErrStale) {
		return nil
	}
	if err == nil && did.user {
		err = c.DropUser(ctx, user)
	}
	if err == nil {
		err = c.endDrop(ctx, database, drop)
	}
	if err != nil || !(did.marker || inserted) {
		return err
	}
	return c.forget(ctx, owner, database, databaseMarker)
}

// RemoveDatabase drops the gateway's user and database, and waits until both
// are gone.
func (c *Client) RemoveDatabase(ctx context.Context, owner resource.Owner, database, user string) (waiting string, err error) {
	if waiting, err = c.left(ctx, database, user); err != nil || waiting == "" {
		return "", err
	}
	exists, err := c.DatabaseExists(ctx, database)
	if err != nil {
		return "", err
	}
	if exists {
		if _, _, err := c.beginDrop(ctx, owner, database); err != nil {
			return "", err
		}
	}
	if err := verify(ctx, owner); err != nil {
		return "", fmt.Errorf("before dropping user %s: %w", user, err)
	}
	if err := c.DropUser(ctx, user); err != nil {
		return "", err
	}
	if exists {
		if err := c.dropMarked(ctx, owner, database); err != nil {
			return "", err
		}
	}
	// Both once more, the user too: a holder that outlived its claim may have
	// made it after our first look.
	return c.left(ctx, database, user)
}

// left says what is still there.
func (c *Client) left(ctx context.Context, database, user string) (string, error) {
	there, err := c.UserExists(ctx, user)
	if err != nil {
		return "", err
	}
	if there {
		return "database user " + user + " still there", nil
	}
	if there, err = c.DatabaseExists(ctx, database); err != nil || !there {
		return "", err
	}
	return "database " + database + " still there", nil
}

// DropDatabase drops the database. One that is not there is dropped already.
func (c *Client) DropDatabase(ctx context.Context, database string) error {
	ctx, cancel := c.call(ctx)
	defer cancel()
	return c.wrap("dropping database "+database, c.mongo.Database(database).Drop(ctx))
}

// DatabaseExists reports whether the database is there.
func (c *Client) DatabaseExists(ctx context.Context, database string) (bool, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	names, err := c.mongo.ListDatabaseNames(ctx, bson.D{{Key: "name", Value: database}})
	if err != nil {
		return false, c.wrap("looking for database "+database, err)
	}
	for _, name := range names {
		if name == database {
			return true, nil
		}
	}
	return false, nil
}

func (c *Client) collection(database, name string) *mongo.Collection {
	return c.mongo.Database(database).Collection(name)
}
