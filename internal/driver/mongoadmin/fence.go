package mongoadmin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// ErrStale is matched (by errors.Is) by the error of a write that was refused
// because a newer claim of the same document has acted. The error also has a
// method LockLost() bool, for callers that do not import this package.
var ErrStale = errors.New("a newer claim has acted here")

// ErrForeign is matched by the error of a write to a database whose marker
// names another owner. The error also has a method Terminal() bool.
var ErrForeign = errors.New("the database belongs to someone else")

type staleError struct {
	what        string
	live, token int64
}

func (e *staleError) Error() string {
	return fmt.Sprintf("%s: lock lost: token %d is on it, ours is %d", e.what, e.live, e.token)
}
func (e *staleError) Is(target error) bool { return target == ErrStale }

// LockLost tells callers that the claim has ended.
func (e *staleError) LockLost() bool { return true }

type foreignError struct{ what, whose string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s is owned by %s: it is left as it is", e.what, e.whose)
}
func (e *foreignError) Is(target error) bool { return target == ErrForeign }

// Terminal tells callers that trying again cannot cure it.
func (e *foreignError) Terminal() bool { return true }

// Collections and markers of a gateway's database.
const (
	markers        = "lockstep"
	functions      = "functions"
	databaseMarker = "database"
)

// mark is a marker document.
type mark struct {
	ID         string `bson:"_id"`
	Kind       string `bson:"kind"`
	Owner      string `bson:"owner"`
	Token      int64  `bson:"token"`
	Generation int64  `bson:"generation"`
	// Functions are the set that is live, of a stage's marker.
	Functions []version `bson:"functions"`
	// Dropping is on a database's marker.
	Dropping *drop `bson:"dropping"`
}

// stake writes owner's token to a marker, unless a newer one is there. set are
// further fields to write. inserted says that there was no marker before.
func (c *Client) stake(ctx context.Context, owner resource.Owner, database, id string, set bson.D) (inserted bool, err error) {
	found, err := c.marker(ctx, database, id)
	if err != nil {
		return false, err
	}
	if found != nil && (found.Kind != string(owner.Kind) || found.Owner != owner.ID) {
		return false, &foreignError{database + "/" + id, fmt.Sprintf("%s %q", found.Kind, found.Owner)}
	}
	return c.put(ctx, owner, c.collection(database, markers), id, append(bson.D{
		{Key: "kind", Value: string(owner.Kind)},
		{Key: "owner", Value: owner.ID},
		{Key: "gatewayId", Value: owner.GatewayID},
	}, set...))
}

// put writes a document under owner's token, unless a newer token is on it. It
// is no upsert: with several clients at once FerretDB lets several of them
// believe that they inserted. An update says who won, and so does an insert.
func (c *Client) put(ctx context.Context, owner resource.Owner, into *mongo.Collection, id string, set bson.D) (inserted bool, err error) {
	what := into.Database().Name() + "/" + id
	set = append(set, bson.E{Key: "token", Value: owner.Token})
	for range 3 {
		written, err := c.update(ctx, into, bson.D{
			{Key: "_id", Value: id}, {Key: "token", Value: bson.D{{Key: "$lte", Value: owner.Token}}},
		}, set)
		if err != nil || written {
			return false, c.wrap("writing "+what, err)
		}
		err = c.insert(ctx, into, append(bson.D{{Key: "_id", Value: id}}, set...))
		if !mongo.IsDuplicateKeyError(err) {
			return err == nil, c.wrap("writing "+what, err)
		}
		live, err := c.token(ctx, into, id)
		if err != nil {
			return false, c.wrap("writing "+what, err)
		}
		if live > owner.Token {
			return false, &staleError{what: what, live: live, token: owner.Token}
		}
	}
	return false, c.wrap("writing "+what, errors.New("others kept changing it"))
}

func (c *Client) update(ctx context.Context, in *mongo.Collection, filter, set bson.D) (bool, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	result, err := in.UpdateOne(ctx, filter, bson.D{{Key: "$set", Value: set}})
	return err == nil && result.MatchedCount > 0, err
}

func (c *Client) insert(ctx context.Context, into *mongo.Collection, doc bson.D) error {
	ctx, cancel := c.call(ctx)
	defer cancel()
	_, err := into.InsertOne(ctx, doc)
	return err
}

// token is the token on a document, and 0 if that is gone again.
func (c *Client) token(ctx context.Context, in *mongo.Collection, id string) (int64, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	var found mark
	err := in.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&found)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, nil
	}
	return found.Token, err
}

// marker reads a marker, nil if there is none.
func (c *Client) marker(ctx context.Context, database, id string) (*mark, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	var found mark
	err := c.collection(database, markers).FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&found)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, c.wrap("reading the marker "+database+"/"+id, err)
	}
	return &found, nil
}

// forget removes a marker that has owner's token, and with the last one the
// collection, and with that, if it was all there was, the database.
func (c *Client) forget(ctx context.Context, owner resource.Owner, database, id string) error {
	call, cancel := c.call(ctx)
	defer cancel()
	_, err := c.collection(database, markers).DeleteOne(call,
		bson.D{{Key: "_id", Value: id}, {Key: "token", Value: owner.Token}})
	if err != nil {
		return c.wrap("removing the marker "+database+"/"+id, err)
	}
	return c.dropIfEmpty(ctx, database, markers)
}

// dropIfEmpty drops a collection without documents, and a database without
// collections: MongoDB does the latter by itself, FerretDB does not.
func (c *Client) dropIfEmpty(ctx context.Context, database, name string) error {
	call, cancel := c.call(ctx)
	defer cancel()
	in, doing := c.collection(database, name), "dropping the empty collection "+database+"."+name
	left, err := in.CountDocuments(call, bson.D{})
	if err != nil || left > 0 {
		return c.wrap(doing, err)
	}
	if err := in.Drop(call); err != nil {
		return c.wrap(doing, err)
	}
	names, err := in.Database().ListCollectionNames(call, bson.D{})
	if err != nil || len(names) > 0 {
		return c.wrap("listing the collections of "+database, err)
	}
	return c.DropDatabase(ctx, database)
}

// verifyMade verifies the claim after something was made. It also asks if the
// claim's context has ended meanwhile, since just then it may have been made
// for nobody: only resource.ErrLockLost says that it was.
func verifyMade(ctx context.Context, owner resource.Owner, timeout time.Duration) error {
	err := verify(ctx, owner)
	if err == nil || ctx.Err() == nil || errors.Is(err, resource.ErrLockLost) {
		return err
	}
	outside, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	return errors.Join(err, verify(outside, owner))
}

func verify(ctx context.Context, owner resource.Owner) error {
	if owner.Verify == nil {
		return nil
	}
	return owner.Verify(ctx)
}
