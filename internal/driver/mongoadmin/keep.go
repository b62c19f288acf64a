package mongoadmin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// version is a function of a published set, as the stage's marker records it.
type version struct {
	Name    string `bson:"name"`
	Version int64  `bson:"version"`
}

// KeepFunctions looks after the set that an environment serves, if that is the
// stage's given generation; live is false if it is another, or none. current
// are the gateway's functions as they are now, with the versions before.
//
// What is published is a copy, so code that has changed since is not taken
// over. A set that is complete and alone costs two reads, and nothing is
// written. A function of it that is gone is put back in the version that was
// published, which the marker tells: from current, or from the versions that
// are kept of it. If that version is kept no more, it is an error and nothing
// is put in its place: code that nobody has published must not be served.
func (c *Client) KeepFunctions(ctx context.Context, owner resource.Owner, database, environment string, generation int64, current []resource.CloudFunction) (live bool, err error) {
	mark, err := c.marker(ctx, database, stageMarker(environment))
	if err != nil || mark == nil || mark.Generation != generation || mark.Token > owner.Token {
		return false, err
	}
	there, err := c.functionIDs(ctx, database, environment)
	if err != nil {
		return false, err
	}
	missing, older := compare(mark, there, environment)
	if len(missing) == 0 && len(older) == 0 {
		return true, nil
	}
	// Looked for first: an error must not leave the set half put back.
	lost, err := restored(missing, current)
	if err != nil {
		return true, fmt.Errorf("published to %s: %w", environment, err)
	}
	if _, err := c.stake(ctx, owner, database, stageMarker(environment), nil); err != nil {
		return true, err
	}
	if _, err := c.writeFunctions(ctx, owner, database, environment, generation, lost); err != nil {
		return true, err
	}
	if err := c.verifyWritten(ctx, owner, database, environment); err != nil {
		return true, err
	}
	keep := bson.A{}
	for _, id := range there {
		if !slices.Contains(older, id) {
			keep = append(keep, id)
		}
	}
	for _, function := range lost {
		keep = append(keep, functionID(environment, generation, function.Name))
	}
	return true, c.deleteFunctions(ctx, owner, database, environment, keep)
}

// functionIDs are the ids of all functions of an environment, served or not.
func (c *Client) functionIDs(ctx context.Context, database, environment string) ([]string, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	doing := "listing the functions of " + database + "/" + environment
	// Whole documents would bring all the code along.
	var ids []string
	err := c.collection(database, functions).Distinct(ctx, "_id", bson.D{{Key: "environment", Value: environment}}).Decode(&ids)
	return ids, c.wrap(doing, err)
}

// compare says what lacks of a live set, and which documents are none of it. A
// marker that records no set (of a version before) tells only the generation.
func compare(mark *mark, there []string, environment string) (missing []version, older []string) {
	of := map[string]bool{}
	for _, function := range mark.Functions {
		id := functionID(environment, mark.Generation, function.Name)
		of[id] = true
		if !slices.Contains(there, id) {
			missing = append(missing, function)
		}
	}
	for _, id := range there {
		recorded := mark.Functions != nil
		prefix := functionID(environment, mark.Generation, "")
		if (recorded && !of[id]) || (!recorded && !strings.HasPrefix(id, prefix)) {
			older = append(older, id)
		}
	}
	return missing, older
}

// restored finds functions in exactly the versions that were published.
func restored(missing []version, current []resource.CloudFunction) ([]resource.CloudFunction, error) {
	var found []resource.CloudFunction
	for _, lost := range missing {
		function, ok := inVersion(lost, current)
		if !ok {
			return nil, fmt.Errorf("function %q is gone, and its version %d is not kept: publish the stage again", lost.Name, lost.Version)
		}
		found = append(found, function)
	}
	return found, nil
}

func inVersion(wanted version, current []resource.CloudFunction) (resource.CloudFunction, bool) {
	for _, function := range current {
		if function.Name != wanted.Name {
			continue
		}
		if function.Version == wanted.Version {
			return function, true
		}
		for _, before := range function.Versions {
			if before.Version == wanted.Version {
				function.Version, function.Runtime, function.Code = before.Version, before.Runtime, before.Code
				return function, true
			}
		}
	}
	return resource.CloudFunction{}, false
}
