package documents

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

const (
	gatewayIDLength = 6
	idLetters       = "abcdefghijklmnopqrstuvwxyz"
	idCharacters    = idLetters + "0123456789"
	idAttempts      = 10
)

// NewGatewayID returns a random id (six of a-z0-9, the first a letter, because
// names of Kubernetes services begin with it) that no gateway has had before:
// each id handed out is kept in the collection ReservedId for good.
func (d *Documents) NewGatewayID(ctx context.Context) (string, error) {
	for range idAttempts {
		id, err := randomID()
		if err != nil {
			return "", fmt.Errorf("draw a gateway id: %w", err)
		}
		_, err = d.reserved.InsertOne(ctx, bson.D{{Key: "_id", Value: id}})
		if mongo.IsDuplicateKeyError(err) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("reserve gateway id: %w", err)
		}
		return id, nil
	}
	return "", fmt.Errorf("no free gateway id found in %d draws", idAttempts)
}

// ReserveGatewayID keeps an id from being handed out, if it was not yet: a
// gateway has it that this database does not remember.
func (d *Documents) ReserveGatewayID(ctx context.Context, id string) error {
	_, err := d.reserved.InsertOne(ctx, bson.D{{Key: "_id", Value: id}})
	if err != nil && !mongo.IsDuplicateKeyError(err) {
		return fmt.Errorf("reserve gateway id %s: %w", id, err)
	}
	return nil
}

func randomID() (string, error) {
	id := make([]byte, gatewayIDLength)
	for i := range id {
		from := idCharacters
		if i == 0 {
			from = idLetters
		}
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(from))))
		if err != nil {
			return "", err
		}
		id[i] = from[n.Int64()]
	}
	return string(id), nil
}
