package mongoadmin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// ListGateways returns the ids of the gateways, sorted, that have a database or
// a user on the server, judging by names. Whether there is a document for each
// is for the caller to know.
func (c *Client) ListGateways(ctx context.Context) ([]string, error) {
	databases, err := c.listDatabases(ctx)
	if err != nil {
		return nil, c.wrap("listing databases", err)
	}
	users, err := c.listUsers(ctx)
	if err != nil {
		return nil, c.wrap("listing users", err)
	}
	var ids []string
	for _, name := range databases {
		if id, ok := strings.CutPrefix(name, resource.DatabaseName("")); ok {
			ids = append(ids, id)
		}
	}
	for _, name := range users {
		if id, ok := strings.CutPrefix(name, resource.DatabaseUser("")); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func (c *Client) listDatabases(ctx context.Context) ([]string, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	return c.mongo.ListDatabaseNames(ctx, bson.D{})
}

func (c *Client) listUsers(ctx context.Context) ([]string, error) {
	raw, err := c.command(ctx, bson.D{{Key: "usersInfo", Value: 1}})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Users []struct {
			User string `bson:"user"`
		} `bson:"users"`
	}
	if err := bson.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	names := make([]string, len(answer.Users))
	for i, user := range answer.Users {
		names[i] = user.User
	}
	return names, nil
}

// RemoveOrphan drops the database and the user of a gateway whose document is
// gone, under the token that is on its marker: it is refused as soon as a newer
// claim has acted. verify is asked right before; it should return an error
// unless the document is still gone.
func (c *Client) RemoveOrphan(ctx context.Context, gatewayID string, verify func(context.Context) error) (waiting string, err error) {
	name := resource.DatabaseName(gatewayID)
	owner := resource.Owner{Kind: resource.KindApiGateway, ID: gatewayID, GatewayID: gatewayID, Verify: verify}
	mark, err := c.marker(ctx, name, databaseMarker)
	if err != nil {
		return "", err
	}
	if mark != nil {
		owner.Token = mark.Token
	}
	return c.RemoveDatabase(ctx, owner, name, resource.DatabaseUser(gatewayID))
}
