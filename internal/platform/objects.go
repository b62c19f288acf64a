package platform

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// Object is something that exists for a gateway, or for a document beneath it,
// in its region.
type Object struct {
	Kind, Namespace, Name string
	// Status is a word or two on how it is, for people.
	Status string
	// OwnerKind and OwnerID are the document that it exists for.
	OwnerKind resource.Kind
	OwnerID   string
}

// The kinds of object that are not in a cluster.
const (
	databaseObject = "MongoDatabase"
	userObject     = "MongoUser"
)

// awayError says which part of a region could not be asked.
type awayError struct {
	what string
	err  error
}

func (e *awayError) Error() string { return fmt.Sprintf("%s cannot be reached: %s", e.what, e.err) }
func (e *awayError) Unwrap() error { return e.err }

// Away names it, for callers that do not import this package.
func (e *awayError) Away() string { return e.what }

// Objects lists what exists in a gateway's region for it and its children: in
// its cluster, and of its database. If some of that cannot be listed it returns
// the rest together with the error, which has a method Away() string that says
// what cannot be reached.
func (p *Platform) Objects(ctx context.Context, regionName, gatewayID string) ([]Object, error) {
	r, err := p.regions.get(regionName)
	if err != nil {
		return nil, err
	}
	// Beside each other: where one does not answer, there must be time left for
	// the other.
	var stored []Object
	var noDatabase error
	var wg sync.WaitGroup
	wg.Go(func() {
		if stored, noDatabase = r.stored(ctx, gatewayID); noDatabase != nil {
			noDatabase = &awayError{"the database server of region " + regionName, noDatabase}
		}
	})
	refs, noCluster := r.cluster.ListManaged(ctx, gatewayID)
	if noCluster != nil {
		noCluster = &awayError{"the cluster of region " + regionName, noCluster}
	}
	wg.Wait()
	var found []Object
	for _, ref := range refs {
		found = append(found, Object{ref.Type.Kind, ref.Namespace, ref.Name, ref.Status, ref.OwnerKind, ref.OwnerID})
	}
	return append(found, stored...), errors.Join(noCluster, noDatabase)
}

// stored lists what a gateway has on the region's database server.
func (r *region) stored(ctx context.Context, gatewayID string) (found []Object, err error) {
	add := func(kind, name string, exists bool, failed error) {
		if exists {
			found = append(found, Object{Kind: kind, Name: name, OwnerKind: resource.KindDatabase, OwnerID: gatewayID})
		}
		err = errors.Join(err, failed)
	}
	database, user := resource.DatabaseName(gatewayID), resource.DatabaseUser(gatewayID)
	exists, failed := r.databases.DatabaseExists(ctx, database)
	add(databaseObject, database, exists, failed)
	exists, failed = r.databases.UserExists(ctx, user)
	add(userObject, user, exists, failed)
	return found, err
}
