package mongostore_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// parcel is a document of this test's own.
type parcel struct {
	engine.Meta `bson:",inline"`

	Weight int `bson:"weight"`
}

var parcels = &engine.Definition[*parcel]{
	Kind: "Parcel", Initial: "Packed",
	States:  []engine.State{"Wanted", "Gone"},
	Phases:  []engine.Phase{"Packed", "Sent"},
	Settled: []engine.Settled[*parcel]{{State: "Wanted", Phase: "Sent"}},
	Transitions: []engine.Transition[*parcel]{
		{From: []engine.Phase{"Packed"}, When: []engine.State{"Wanted"}, To: "Sent", Steps: []engine.Step[*parcel]{{
			Name: "send", Run: func(context.Context, *parcel) (engine.Outcome, error) { return engine.Done(), nil },
		}}},
		{From: []engine.Phase{"Packed", "Sent"}, When: []engine.State{"Gone"}, To: engine.Purged},
	},
}

// What people write by hand may be what no document of the kind holds. It must
// not stand in the way of others: neither of those that the same write has
// claimed, nor of the process. One that cannot be read says so, and goes on once
// it can be.
//
// With an error of the whole claim the others are claimed together again and
// again, and never worked on; with _ids taken for texts the process panics.
func TestDocumentsThatCannotBeRead(t *testing.T) {
	coll := testenv.Database(t).Collection("Parcel")
	store := mongostore.New[*parcel](coll)
	if err := store.EnsureIndexes(t.Context(), parcels.Rules()); err != nil {
		t.Fatal(err)
	}
	wanted := func(id any, weight any) bson.D {
		return bson.D{{Key: "_id", Value: id}, {Key: "state", Value: "Wanted"}, {Key: "phase", Value: "Packed"}, {Key: "weight", Value: weight}}
	}
	_, err := coll.InsertMany(t.Context(), []bson.D{
		wanted("a", 1), wanted("b", 2), wanted("heavy", "lots"), wanted("c", 3), wanted(bson.NewObjectID(), 4),
	})
	if err != nil {
		t.Fatal(err)
	}
	service := engine.NewService(parcels, store, engine.Options{Holder: "test", Interval: 50 * time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := service.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer running.Wait()
	defer stop()

	type header struct {
		engine.Meta `bson:",inline"`
	}
	headers := mongostore.New[*header](coll)
	until := func(what, id string, is func(*header) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
			h, err := headers.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if is(h) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is not %s: %+v", id, what, h)
			}
		}
	}
	sent := func(h *header) bool { return h.Phase == "Sent" }
	for _, id := range []string{"a", "b", "c"} {
		until("sent", id, sent)
	}
	until("said to be unreadable", "heavy", func(h *header) bool {
		return h.LastError != nil && h.LastError.Step == "read" && strings.Contains(h.LastError.Message, "weight")
	})
	if _, err := store.Find(t.Context(), bson.D{}); err == nil || !strings.Contains(err.Error(), "document heavy cannot be read") {
		t.Errorf("a list that leaves it out in silence, or does not name it: %v", err)
	}
	if _, err := coll.UpdateByID(t.Context(), "heavy", bson.D{{Key: "$set", Value: bson.D{{Key: "weight", Value: 5}}}}); err != nil {
		t.Fatal(err)
	}
	until("sent", "heavy", sent)
	if docs, err := store.Find(t.Context(), bson.D{}); err != nil || len(docs) != 4 {
		t.Errorf("%d documents, %v", len(docs), err)
	}
}
