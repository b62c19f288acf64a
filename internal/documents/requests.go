package documents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// requestsKept is how long the answer to a request is kept for repetitions.
const requestsKept = 24 * time.Hour

// Request is a request that its sender may repeat, and what became of it.
type Request struct {
	ID string `bson:"_id"`
	// Digest is that of what was sent: another request may not bear the name.
	Digest    string    `bson:"digest"`
	StartedAt time.Time `bson:"startedAt"`
	// LeaseUntil is when it can be taken over from a replica that began to
	// answer it and has not been heard of since.
	LeaseUntil time.Time `bson:"leaseUntil"`
	// Target is what the request makes, chosen before it is made: whoever takes
	// over makes the same.
	Target string `bson:"target,omitempty"`
	// Status, Headers and Body are the answer, once there is one.
	Status  int               `bson:"status,omitempty"`
	Headers map[string]string `bson:"headers,omitempty"`
	Body    []byte            `bson:"body,omitempty"`
	// Again reports whether it was begun before.
	Again bool `bson:"-"`
}

// BeginRequest begins to answer a request. It is for the caller to answer if
// mine is true; otherwise it is answered already, or being answered.
func (d *Documents) BeginRequest(ctx context.Context, id, digest string, lease time.Duration) (r *Request, mine bool, err error) {
	now, err := d.ApiGateways.Now(ctx)
	if err != nil {
		return nil, false, err
	}
	r = &Request{ID: id, Digest: digest, StartedAt: now, LeaseUntil: now.Add(lease)}
	_, err = d.requests.InsertOne(ctx, r)
	if err == nil {
		return r, true, nil
	}
	if !mongo.IsDuplicateKeyError(err) {
		return nil, false, fmt.Errorf("begin request: %w", err)
	}
	var before Request
	if err := d.requests.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&before); err != nil {
		return nil, false, fmt.Errorf("read request: %w", err)
	}
	if before.Digest != digest || before.Status != 0 || now.Before(before.LeaseUntil) {
		return &before, false, nil
	}
	return d.takeOver(ctx, &before, now.Add(lease))
}

// takeOver takes a request whose lease has run out; one of several wins.
func (d *Documents) takeOver(ctx context.Context, r *Request, until time.Time) (*Request, bool, error) {
	var taken Request
	err := d.requests.FindOneAndUpdate(ctx,
		bson.D{{Key: "_id", Value: r.ID}, {Key: "leaseUntil", Value: r.LeaseUntil}, {Key: "status", Value: nil}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "leaseUntil", Value: until}}}},
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&taken)
	if errors.Is(err, mongo.ErrNoDocuments) {
		r.LeaseUntil = until // somebody else has it now
		return r, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("take over request: %w", err)
	}
	taken.Again = true
	return &taken, true, nil
}

// AimRequest records what a request is about to make.
func (d *Documents) AimRequest(ctx context.Context, id, target string) error {
	return d.setRequest(ctx, id, bson.D{{Key: "target", Value: target}})
}

// FinishRequest records the answer to a request.
func (d *Documents) FinishRequest(ctx context.Context, id string, status int, headers map[string]string, body []byte) error {
	return d.setRequest(ctx, id, bson.D{
		{Key: "status", Value: status}, {Key: "headers", Value: headers}, {Key: "body", Value: body},
	})
}

// ReleaseRequest gives up a request that was not answered well: a repetition
// may try again at once.
func (d *Documents) ReleaseRequest(ctx context.Context, id string) error {
	return d.setRequest(ctx, id, bson.D{{Key: "leaseUntil", Value: engine.Epoch}})
}

func (d *Documents) setRequest(ctx context.Context, id string, fields bson.D) error {
	_, err := d.requests.UpdateOne(ctx, bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "$set", Value: fields}})
	if err != nil {
		return fmt.Errorf("record request: %w", err)
	}
	return nil
}

// ensureRequestIndex has the database forget requests after a while.
func (d *Documents) ensureRequestIndex(ctx context.Context) error {
	_, err := d.requests.Indexes().CreateOne(ctx, mongo.IndexModel{
		Keys:    bson.D{{Key: "startedAt", Value: 1}},
		Options: options.Index().SetName("expiry").SetExpireAfterSeconds(int32(requestsKept.Seconds())),
	})
	if err != nil {
		return fmt.Errorf("create index of requests: %w", err)
	}
	return nil
}
