package documents

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// Ask sets the state of all a gateway's documents of a kind, where it is
// another. A document that is to be deleted stays so. Asking again changes
// nothing: in particular it does not touch what a document counts its backoff
// from.
//
// A document that was changed between the read and the write is read again:
// what it is now, suspended for instance, may be a reason not to ask.
func (d *Documents) Ask(ctx context.Context, kind resource.Kind, gatewayID string, state engine.State) error {
	store, err := d.Headers(kind)
	if err != nil {
		return err
	}
	for range 3 {
		var changed bool
		if changed, err = d.ask(ctx, store, kind, gatewayID, state); err != nil || !changed {
			return err
		}
	}
	return fmt.Errorf("ask the %ss of gateway %s to be %s: others kept changing them", kind, gatewayID, state)
}

// ask does it once. changed says that a document was not as read any more.
func (d *Documents) ask(ctx context.Context, store *mongostore.Store[*resource.Header], kind resource.Kind, gatewayID string, state engine.State) (changed bool, err error) {
	filter := bson.D{
		{Key: "gatewayId", Value: gatewayID},
		{Key: "state", Value: bson.D{{Key: "$nin", Value: bson.A{state, resource.Deleted}}}},
	}
	if state == resource.Active {
		// What the user has suspended (a CronTrigger) stays inactive.
		filter = append(filter, bson.E{Key: "suspended", Value: bson.D{{Key: "$ne", Value: true}}})
	}
	others, err := store.Find(ctx, filter)
	if err != nil {
		return false, err
	}
	for _, doc := range others {
		intent := mongostore.Intent{State: state, Unless: []engine.State{state, resource.Deleted}}
		if doc.Generation > 0 { // one written by hand may have none
			intent.IfGeneration = &doc.Generation
		}
		_, err := store.SetIntent(ctx, doc.ID, intent)
		switch {
		case errors.Is(err, mongostore.ErrConflict):
			changed = true
		case err != nil && !errors.Is(err, mongostore.ErrNotFound):
			return false, fmt.Errorf("ask %s %s to be %s: %w", kind, doc.ID, state, err)
		}
		d.hint(kind, doc.ID)
	}
	return changed, nil
}

// Left returns the headers of a gateway's documents of a kind.
func (d *Documents) Left(ctx context.Context, kind resource.Kind, gatewayID string) ([]*resource.Header, error) {
	store, err := d.Headers(kind)
	if err != nil {
		return nil, err
	}
	return store.Find(ctx, bson.D{{Key: "gatewayId", Value: gatewayID}})
}

// placed is what of a document says where it lives.
type placed struct {
	engine.Meta `bson:",inline"`

	Region string `bson:"region"`
}

// RegionsOf returns the regions, sorted, that the documents beneath a gateway
// say they live in: one, unless somebody has written to them by hand, and none
// if those that are left do not say.
func (d *Documents) RegionsOf(ctx context.Context, gatewayID string) ([]string, error) {
	var regions []string
	for _, kind := range resource.Kinds[1:] {
		docs, err := d.placed[kind].Find(ctx,
			bson.D{{Key: "gatewayId", Value: gatewayID}, {Key: "region", Value: bson.D{{Key: "$gt", Value: ""}}}},
			options.Find().SetProjection(bson.D{{Key: "region", Value: 1}}))
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			regions = append(regions, doc.Region)
		}
	}
	slices.Sort(regions)
	return slices.Compact(regions), nil
}

// RemoveLeaf removes a gateway's documents of a kind that has no task service:
// the gateway's own steps call it once what the documents stand for is gone.
func (d *Documents) RemoveLeaf(ctx context.Context, kind resource.Kind, gatewayID string) error {
	store, err := d.Headers(kind)
	if err != nil {
		return err
	}
	return store.DeleteMany(ctx, bson.D{{Key: "gatewayId", Value: gatewayID}})
}

// ensure inserts a document unless it is there.
func ensure[D engine.Document](ctx context.Context, store *mongostore.Store[D], doc D) (bool, error) {
	err := store.Insert(ctx, doc)
	if errors.Is(err, mongostore.ErrExists) {
		return false, nil
	}
	return err == nil, err
}

// again inserts a document that may have been there before. Its tokens begin
// with the time, so that they are above those that objects may still carry.
func again[D engine.Document](ctx context.Context, store *mongostore.Store[D], doc D) (bool, error) {
	now, err := store.Now(ctx)
	if err != nil {
		return false, err
	}
	doc.Lifecycle().LockToken = now.UnixMilli()
	return ensure(ctx, store, doc)
}

// EnsureRuntimeDomain creates a gateway's RuntimeDomain if it is not there.
func (d *Documents) EnsureRuntimeDomain(ctx context.Context, doc *resource.RuntimeDomain) error {
	return d.ensured(ctx, resource.KindRuntimeDomain, doc.ID, doc.GatewayID, func() (bool, error) { return again(ctx, d.RuntimeDomains, doc) })
}

// EnsureDatabase creates a gateway's Database document if it is not there.
func (d *Documents) EnsureDatabase(ctx context.Context, doc *resource.Database) error {
	return d.ensured(ctx, resource.KindDatabase, doc.ID, doc.GatewayID, func() (bool, error) { return ensure(ctx, d.Databases, doc) })
}

// EnsureEnvironment creates an Environment if it is not there.
func (d *Documents) EnsureEnvironment(ctx context.Context, doc *resource.Environment) error {
	return d.ensured(ctx, resource.KindEnvironment, doc.ID, doc.GatewayID, func() (bool, error) { return ensure(ctx, d.Environments, doc) })
}

// EnsureStage creates a Stage if it is not there.
func (d *Documents) EnsureStage(ctx context.Context, doc *resource.Stage) error {
	return d.ensured(ctx, resource.KindStage, doc.ID, doc.GatewayID, func() (bool, error) { return again(ctx, d.Stages, doc) })
}

// ensured inserts a child, and then looks at its gateway: a step that has
// outlived its claim may come here when the gateway has been deleted, and
// nobody would ever ask the child to go.
func (d *Documents) ensured(ctx context.Context, kind resource.Kind, id, gatewayID string, insert func() (bool, error)) error {
	created, err := insert()
	if err != nil || !created {
		return err
	}
	d.hint(kind, id)
	gw, err := d.ApiGateways.Get(ctx, gatewayID)
	switch {
	case err == nil && gw.State != resource.Deleted:
		return nil
	case err != nil && !errors.Is(err, mongostore.ErrNotFound):
		return err
	}
	if letGo := d.letGo(ctx, kind, id); letGo != nil {
		return letGo
	}
	return err
}

// letGo removes a child that came too late: a leaf outright, any other by its
// task service.
func (d *Documents) letGo(ctx context.Context, kind resource.Kind, id string) error {
	store, err := d.Headers(kind)
	if err != nil {
		return err
	}
	if kind == resource.KindDatabase || kind == resource.KindEnvironment {
		return store.DeleteMany(ctx, bson.D{{Key: "_id", Value: id}})
	}
	_, err = store.SetIntent(ctx, id, mongostore.Intent{State: resource.Deleted})
	if errors.Is(err, mongostore.ErrNotFound) {
		return nil
	}
	d.hint(kind, id)
	return err
}

// Functions reads a gateway's functions that are not being deleted.
func (d *Documents) Functions(ctx context.Context, gatewayID string) ([]resource.CloudFunction, error) {
	docs, err := d.CloudFunctions.Find(ctx, bson.D{
		{Key: "gatewayId", Value: gatewayID},
		{Key: "state", Value: bson.D{{Key: "$ne", Value: resource.Deleted}}},
	})
	if err != nil {
		return nil, err
	}
	functions := make([]resource.CloudFunction, len(docs))
	for i, doc := range docs {
		functions[i] = *doc
	}
	return functions, nil
}

// CustomDomain is the custom domain that a gateway serves; empty if there is
// none, or it is not ready.
func (d *Documents) CustomDomain(ctx context.Context, gatewayID string) (string, error) {
	doc, err := d.RuntimeDomains.Get(ctx, gatewayID)
	if errors.Is(err, mongostore.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return doc.CustomDomainReady, nil
}
