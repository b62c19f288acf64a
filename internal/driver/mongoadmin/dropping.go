package mongoadmin

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// dropGrace is for how long a drop that was announced is waited for. It may
// have been given up, or its holder have crashed; but as long as it may come
// yet, nothing is made that it would take along. It is much longer than all
// calls that follow an announcement may take.
const dropGrace = 2 * time.Minute

// drop is on a database's marker from when somebody is about to drop the user
// or the database.
type drop struct {
	ID bson.ObjectID `bson:"id"`
	// At is the server's time.
	At time.Time `bson:"at"`
}

// beginDrop announces a drop under owner's token. It is refused where a newer
// claim has acted. inserted says that there was no marker before.
func (c *Client) beginDrop(ctx context.Context, owner resource.Owner, database string) (d drop, inserted bool, err error) {
	now, err := c.serverTime(ctx)
	if err != nil {
		return drop{}, false, err
	}
	d = drop{ID: bson.NewObjectID(), At: now}
	inserted, err = c.stake(ctx, owner, database, databaseMarker, bson.D{{Key: "dropping", Value: d}})
	return d, inserted, err
}

// endDrop takes an announcement back, whoever's token is on the marker by now.
func (c *Client) endDrop(ctx context.Context, database string, d drop) error {
	_, err := c.update(ctx, c.collection(database, markers),
		bson.D{{Key: "_id", Value: databaseMarker}, {Key: "dropping.id", Value: d.ID}},
		bson.D{{Key: "dropping", Value: nil}})
	return c.wrap("ending the drop of "+database, err)
}

// beingDropped says so if somebody has announced to drop the database. An
// announcement that is older than dropGrace is cleared.
func (c *Client) beingDropped(ctx context.Context, owner resource.Owner, database string) (waiting string, err error) {
	mark, err := c.marker(ctx, database, databaseMarker)
	if err != nil {
		return "", err
	}
	if mark == nil {
		return "database " + database + ": being dropped", nil
	}
	if mark.Dropping == nil {
		return "", nil
	}
	now, err := c.serverTime(ctx)
	if err != nil {
		return "", err
	}
	if now.Sub(mark.Dropping.At) < dropGrace {
		return "database " + database + ": being dropped", nil
	}
	_, err = c.stake(ctx, owner, database, databaseMarker, bson.D{{Key: "dropping", Value: nil}})
	return "", err
}

// dropMarked drops a database whose drop was announced by beginDrop, unless
// something has happened since: a newer claim waits for it to be over (and then
// finds its data as they were), the document is back, or the database is gone.
func (c *Client) dropMarked(ctx context.Context, owner resource.Owner, database string) error {
	if err := verify(ctx, owner); err != nil {
		return fmt.Errorf("before dropping database %s: %w", database, err)
	}
	mark, err := c.marker(ctx, database, databaseMarker)
	switch {
	case err != nil || mark == nil:
		return err
	case mark.Token > owner.Token:
		return &staleError{what: "dropping database " + database, live: mark.Token, token: owner.Token}
	}
	return c.DropDatabase(ctx, database)
}

// serverTime is the server's clock: announcements are read by other replicas.
func (c *Client) serverTime(ctx context.Context) (time.Time, error) {
	raw, err := c.command(ctx, bson.D{{Key: "hello", Value: 1}})
	if err != nil {
		return time.Time{}, c.wrap("asking for the time", err)
	}
	var answer struct {
		LocalTime time.Time `bson:"localTime"`
	}
	if err := bson.Unmarshal(raw, &answer); err != nil {
		return time.Time{}, c.wrap("asking for the time", fmt.Errorf("reading the answer: %w", err))
	}
	return answer.LocalTime, nil
}
