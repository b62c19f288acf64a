package mongoadmin

import (
	"context"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// adminDatabase is where users are made. FerretDB knows no other, and on
// MongoDB it lets one authSource be right for both.
const adminDatabase = "admin"

// Error codes of the server.
const (
	codeBadValue     = 2
	codeUserNotFound = 11
)

// EnsureUser makes a user be there who may read and write the database, with
// this password. One that exists is given the password and the role: whoever
// created it may have crashed before it could tell anyone.
func (c *Client) EnsureUser(ctx context.Context, database, user, password string) error {
	_, err := c.ensureUser(ctx, database, user, password)
	return err
}

// ensureUser tells in addition whether this call, for certain, has made it.
func (c *Client) ensureUser(ctx context.Context, database, user, password string) (made bool, err error) {
	exists, err := c.UserExists(ctx, user)
	if err != nil {
		return false, err
	}
	if !exists {
		created := c.writeUser(ctx, "createUser", user, password, roles(database))
		if created == nil {
			return true, nil
		}
		// Has someone else created it since, or did our own command succeed
		// without us being told? Servers word that differently: look again.
		if exists, err = c.UserExists(ctx, user); err != nil || !exists {
			return false, c.wrap("creating user "+user, created)
		}
	}
	err = c.writeUser(ctx, "updateUser", user, password, roles(database))
	if rolesCannotChange(err) {
		err = c.writeUser(ctx, "updateUser", user, password, nil)
	}
	return false, c.wrap("updating user "+user, err)
}

func (c *Client) writeUser(ctx context.Context, command, user, password string, roles bson.A) error {
	doc := bson.D{{Key: command, Value: user}, {Key: "pwd", Value: password}}
	if roles != nil {
		doc = append(doc, bson.E{Key: "roles", Value: roles})
	}
	_, err := c.command(ctx, doc)
	return err
}

func roles(database string) bson.A {
	return bson.A{bson.D{{Key: "role", Value: "readWrite"}, {Key: "db", Value: database}}}
}

// rolesCannotChange recognises a server that gives roles once and for all.
func rolesCannotChange(err error) bool {
	return hasCode(err, codeBadValue) && strings.Contains(err.Error(), "Role updates are currently unsupported")
}

// DropUser removes the user. That it is not there is success, if the server
// says so in as many words.
func (c *Client) DropUser(ctx context.Context, user string) error {
	exists, err := c.UserExists(ctx, user)
	if err != nil || !exists {
		return err
	}
	_, dropped := c.command(ctx, bson.D{{Key: "dropUser", Value: user}})
	if dropped == nil || hasCode(dropped, codeUserNotFound) {
		return nil
	}
	if exists, err = c.UserExists(ctx, user); err == nil && !exists {
		return nil
	}
	return c.wrap("dropping user "+user, dropped)
}

// UserExists reports whether the user is there. Only a list of users that
// lacks it, or the error for exactly that, is absence.
func (c *Client) UserExists(ctx context.Context, user string) (bool, error) {
	raw, err := c.command(ctx, bson.D{{Key: "usersInfo", Value: user}})
	if hasCode(err, codeUserNotFound) {
		return false, nil
	}
	if err != nil {
		return false, c.wrap("looking for user "+user, err)
	}
	// FerretDB leaves the list out when it is empty.
	var answer struct {
		Users []struct {
			User string `bson:"user"`
		} `bson:"users"`
	}
	if err := bson.Unmarshal(raw, &answer); err != nil {
		return false, c.wrap("looking for user "+user, fmt.Errorf("reading the answer: %w", err))
	}
	for _, found := range answer.Users {
		if found.User == user {
			return true, nil
		}
	}
	return false, nil
}
