package sweep

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	docs "github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// pageSize bounds one read of documents, and one question about ids.
const pageSize = 500

// store is [Documents] on the platform's collections.
type store struct {
	*docs.Documents
	reserved *mongostore.Store[*resource.Header]
}

// Open returns the documents of a database for the sweeper. It does no I/O. all
// are the same database's, with whatever is to be told of changes of intent.
func Open(db *mongo.Database, all *docs.Documents) Documents {
	return store{all, mongostore.New[*resource.Header](db.Collection("ReservedId"))}
}

// Now implements [Tree].
func (s store) Now(ctx context.Context) (time.Time, error) { return s.ApiGateways.Now(ctx) }

// Children implements [Tree].
func (s store) Children(ctx context.Context, kind resource.Kind, after string) ([]*resource.Header, error) {
	headers, err := s.Headers(kind)
	if err != nil {
		return nil, err
	}
	return headers.Find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}}},
		options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(pageSize).
			SetProjection(bson.D{
				{Key: "gatewayId", Value: 1}, {Key: "state", Value: 1}, {Key: "phase", Value: 1}, {Key: "createdAt", Value: 1},
			}))
}

// Missing implements [Lookup]. A gateway that a person inserted under another
// _id is there too.
func (s store) Missing(ctx context.Context, kind resource.Kind, ids []string) ([]string, error) {
	headers, err := s.Headers(kind)
	if err != nil {
		return nil, err
	}
	there, err := present(ctx, headers, "_id", ids)
	if err != nil {
		return nil, err
	}
	gone := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return there[id] })
	if kind != resource.KindApiGateway {
		return gone, nil
	}
	if there, err = present(ctx, headers, "gatewayId", gone); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(gone, func(id string) bool { return there[id] }), nil
}

// Issued implements [Lookup].
func (s store) Issued(ctx context.Context, gatewayIDs []string) ([]string, error) {
	there, err := present(ctx, s.reserved, "_id", gatewayIDs)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(gatewayIDs), func(id string) bool { return !there[id] }), nil
}

// present returns which of the ids documents have, in the field of that name.
func present(ctx context.Context, in *mongostore.Store[*resource.Header], field string, ids []string) (map[string]bool, error) {
	there := map[string]bool{}
	for some := range slices.Chunk(ids, pageSize) {
		found, err := in.Find(ctx, bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: some}}}},
			options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}, {Key: "gatewayId", Value: 1}}))
		if err != nil {
			return nil, err
		}
		for _, doc := range found {
			if field == "gatewayId" {
				there[doc.GatewayID] = true
			} else {
				there[doc.ID] = true
			}
		}
	}
	return there, nil
}

// AskDeleted implements [Hands]. A document that is to be deleted already, or
// is gone, needs no asking.
func (s store) AskDeleted(ctx context.Context, kind resource.Kind, id string) error {
	headers, err := s.Headers(kind)
	if err != nil {
		return err
	}
	_, err = headers.SetIntent(ctx, id, mongostore.Intent{State: resource.Deleted, Unless: []engine.State{resource.Deleted}})
	if errors.Is(err, mongostore.ErrConflict) || errors.Is(err, mongostore.ErrNotFound) {
		return nil
	}
	if err == nil {
		s.Hint(kind, id)
	}
	return err
}
