package shard

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"

	"github.com/lockstep-io/lockstep/internal/testenv"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Replicas agree on who holds what, one that leaves is succeeded at once, and
// one that died counts no more once its heartbeat has expired, by the
// database's time.
func TestMembers(t *testing.T) {
	ctx, db := t.Context(), testenv.Database(t)
	log := zaptest.NewLogger(t)
	all := []*Members{Join(db, "a", log), Join(db, "b", log), Join(db, "c", log)}
	beat := func(members ...*Members) {
		t.Helper()
		for range 2 { // the first writes, the second sees what all have written
			for _, m := range members {
				if err := m.beat(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if all[0].Mine("x") {
		t.Error("a replica that has not looked yet holds a document")
	}
	beat(all...)
	oneOwner(t, all)

	all[1].leave(ctx)
	rest := []*Members{all[0], all[2]}
	beat(rest...)
	oneOwner(t, rest)

	// c dies: its heartbeat is from long ago.
	_, err := db.Collection("Replica").UpdateOne(ctx, bson.D{{Key: "_id", Value: "c"}}, mongo.Pipeline{bson.D{{Key: "$set", Value: bson.D{
		{Key: "seenAt", Value: bson.D{{Key: "$subtract", Value: bson.A{"$$NOW", 2 * Expiry.Milliseconds()}}}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	beat(all[0])
	oneOwner(t, all[:1])
	if members, moved := all[0].View(); len(members) != 1 || moved == 0 {
		t.Errorf("alone: members %v, shards moved %d", members, moved)
	}
}

// oneOwner checks that each of many documents falls to exactly one replica.
func oneOwner(t *testing.T, members []*Members) {
	t.Helper()
	for i := range 500 {
		id, owners := fmt.Sprintf("doc-%d", i), 0
		for _, m := range members {
			if m.Mine(id) {
				owners++
			}
		}
		if owners != 1 {
			t.Fatalf("%d of %d replicas hold %s", owners, len(members), id)
		}
	}
}

// A replica that begins forgets those that died long ago, and only those.
func TestForget(t *testing.T) {
	ctx, db := t.Context(), testenv.Database(t)
	m := Join(db, "a", zaptest.NewLogger(t))
	for name, since := range map[string]time.Duration{"old": 2 * remembered, "recent": remembered / 2} {
		_, err := db.Collection("Replica").InsertOne(ctx, bson.D{{Key: "_id", Value: name}, {Key: "seenAt", Value: time.Now().Add(-since)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	m.forget(ctx)
	var left []Member
	cursor, err := db.Collection("Replica").Find(ctx, bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	if err := cursor.All(ctx, &left); err != nil || len(left) != 1 || left[0].Name != "recent" {
		t.Errorf("left: %v, error %v", left, err)
	}
}

// A replica that could not look for as long as a heartbeat lasts holds
// nothing, and Run leaves when it ends.
func TestMembersExpiry(t *testing.T) {
	db := testenv.Database(t)
	m := Join(db, "a", zaptest.NewLogger(t))
	if m.Known() {
		t.Error("a replica that has not looked yet knows who lives")
	}
	if err := m.beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !m.Known() || !m.Mine("x") {
		t.Error("the only replica does not hold all")
	}
	m.at = time.Now().Add(-Expiry)
	if m.Known() || m.Mine("x") {
		t.Error("a replica cut off holds a document")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Run(ctx)
	if n, err := db.Collection("Replica").CountDocuments(t.Context(), bson.D{}); err != nil || n != 0 {
		t.Errorf("after Run: %d heartbeats left, error %v", n, err)
	}
}
