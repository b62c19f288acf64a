package mongoadmin

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// PublishFunctions makes exactly these functions be what an environment
// serves, as the stage's given generation; older sets are removed. It waits
// for the gateway's database, which it does not make.
//
// A set that is live already is for [Client.KeepFunctions]: this writes it
// anew, with the code that it is given.
func (c *Client) PublishFunctions(ctx context.Context, owner resource.Owner, database, environment string, generation int64, published []resource.CloudFunction) (waiting string, err error) {
	there, err := c.marker(ctx, database, databaseMarker)
	if err != nil {
		return "", err
	}
	if there == nil {
		return "database " + database + " is not there yet", nil
	}
	if _, err := c.stake(ctx, owner, database, stageMarker(environment), nil); err != nil {
		return "", err
	}
	ids, err := c.writeFunctions(ctx, owner, database, environment, generation, published)
	if err != nil {
		return "", err
	}
	if err := c.verifyWritten(ctx, owner, database, environment); err != nil {
		return "", err
	}
	if err := c.goLive(ctx, owner, database, environment, generation, published); err != nil {
		return "", err
	}
	return "", c.deleteFunctions(ctx, owner, database, environment, ids)
}

// goLive makes a set that is written the one that is served, by one write. It
// changes only the marker that this claim has staked: what a newer claim has
// replaced or removed meanwhile does not come back.
func (c *Client) goLive(ctx context.Context, owner resource.Owner, database, environment string, generation int64, published []resource.CloudFunction) error {
	set := make([]version, len(published))
	for i := range published {
		set[i] = version{Name: published[i].Name, Version: published[i].Version}
	}
	what := "publishing " + database + "/" + environment
	staked, err := c.update(ctx, c.collection(database, markers),
		bson.D{{Key: "_id", Value: stageMarker(environment)}, {Key: "token", Value: owner.Token}},
		bson.D{{Key: "generation", Value: generation}, {Key: "functions", Value: set}})
	if err != nil || staked {
		return c.wrap(what, err)
	}
	live, err := c.token(ctx, c.collection(database, markers), stageMarker(environment))
	if err != nil {
		return c.wrap(what, err)
	}
	return &staleError{what: what, live: live, token: owner.Token}
}

// verifyWritten verifies the claim after functions were written. Only if it is
// lost for certain are they taken back: that the control database did not
// answer says nothing about whose they are, and they may be what is served.
func (c *Client) verifyWritten(ctx context.Context, owner resource.Owner, database, environment string) error {
	err := verifyMade(ctx, owner, c.timeout)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("after writing functions of %s: %w", environment, err)
	if !errors.Is(err, resource.ErrLockLost) {
		return err
	}
	return errors.Join(err, c.takeBackFunctions(context.WithoutCancel(ctx), owner, database, environment))
}

func (c *Client) writeFunctions(ctx context.Context, owner resource.Owner, database, environment string, generation int64, published []resource.CloudFunction) (ids bson.A, err error) {
	ids = bson.A{}
	for i := range published {
		function := &published[i]
		id := functionID(environment, generation, function.Name)
		_, err := c.put(ctx, owner, c.collection(database, functions), id, bson.D{
			{Key: "environment", Value: environment},
			{Key: "generation", Value: generation},
			{Key: "name", Value: function.Name},
			{Key: "runtime", Value: function.Runtime},
			{Key: "code", Value: function.Code},
			{Key: "version", Value: function.Version},
		})
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// deleteFunctions removes an environment's functions but those to keep, and
// but those that a newer claim has written.
func (c *Client) deleteFunctions(ctx context.Context, owner resource.Owner, database, environment string, keep bson.A) error {
	ctx, cancel := c.call(ctx)
	defer cancel()
	_, err := c.collection(database, functions).DeleteMany(ctx, bson.D{
		{Key: "environment", Value: environment},
		{Key: "token", Value: bson.D{{Key: "$lte", Value: owner.Token}}},
		{Key: "_id", Value: bson.D{{Key: "$nin", Value: keep}}},
	})
	return c.wrap("removing functions of "+database+"/"+environment, err)
}

// takeBackFunctions removes what a lost claim has published. If the gateway's
// database was dropped meanwhile and only our writes brought it back, it goes
// with the last of them.
func (c *Client) takeBackFunctions(ctx context.Context, owner resource.Owner, database, environment string) error {
	if err := c.deleteOwn(ctx, owner, database, environment); err != nil {
		return err
	}
	there, err := c.marker(ctx, database, databaseMarker)
	if err != nil || there != nil {
		return err
	}
	if err := c.dropIfEmpty(ctx, database, functions); err != nil {
		return err
	}
	return c.forget(ctx, owner, database, stageMarker(environment))
}

func (c *Client) deleteOwn(ctx context.Context, owner resource.Owner, database, environment string) error {
	ctx, cancel := c.call(ctx)
	defer cancel()
	_, err := c.collection(database, functions).DeleteMany(ctx, bson.D{
		{Key: "environment", Value: environment}, {Key: "token", Value: owner.Token},
	})
	return c.wrap("taking back the functions of "+database+"/"+environment, err)
}

// RemoveFunctions removes everything published to an environment, and waits
// until it is gone. A database that is not there has no functions.
func (c *Client) RemoveFunctions(ctx context.Context, owner resource.Owner, database, environment string) (waiting string, err error) {
	exists, err := c.DatabaseExists(ctx, database)
	if err != nil || !exists {
		return "", err
	}
	marked, err := c.marker(ctx, database, stageMarker(environment))
	if err != nil {
		return "", err
	}
	left, err := c.countFunctions(ctx, database, environment)
	if err != nil || (marked == nil && left == 0) {
		return "", err
	}
	if _, err := c.stake(ctx, owner, database, stageMarker(environment), nil); err != nil {
		return "", err
	}
	if err := verify(ctx, owner); err != nil {
		return "", fmt.Errorf("before removing functions of %s: %w", environment, err)
	}
	if err := c.deleteFunctions(ctx, owner, database, environment, bson.A{}); err != nil {
		return "", err
	}
	if left, err = c.countFunctions(ctx, database, environment); err != nil {
		return "", err
	}
	if left > 0 {
		return fmt.Sprintf("%d functions left in %s", left, environment), nil
	}
	return "", c.forget(ctx, owner, database, stageMarker(environment))
}

func (c *Client) countFunctions(ctx context.Context, database, environment string) (int64, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	n, err := c.collection(database, functions).CountDocuments(ctx, bson.D{{Key: "environment", Value: environment}})
	return n, c.wrap("counting the functions of "+database+"/"+environment, err)
}

func stageMarker(environment string) string { return "stage/" + environment }

func functionID(environment string, generation int64, name string) string {
	return fmt.Sprintf("%s/%d/%s", environment, generation, name)
}
