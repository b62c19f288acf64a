package shard

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/zap"
)

// Times of membership.
const (
	// Heartbeat is how often a replica says that it lives, and looks who else
	// does.
	Heartbeat = 2 * time.Second
	// Expiry is how long a replica counts as live after its last heartbeat.
	Expiry = 8 * time.Second

	// remembered is how long the heartbeat of a replica that died is kept, for
	// people to see. Names are not used again, so they would pile up.
	remembered  = 24 * time.Hour
	callTimeout = 5 * time.Second
)

// Member is a live replica.
type Member struct {
	Name string `bson:"_id" json:"name"`
	// Since is when it joined, SeenAt its last heartbeat; the database's time.
	Since  time.Time `bson:"since" json:"since"`
	SeenAt time.Time `bson:"seenAt" json:"seenAt"`
	// Shards are those that fall to it.
	Shards []int `bson:"-" json:"shards"`
}

// Members is this replica's view of the live replicas, and its own membership.
type Members struct {
	self string
	coll *mongo.Collection
	log  *zap.Logger

	mu     sync.Mutex
	seen   []Member
	owners [Count]string
	at     time.Time // of the latest look, on this process's monotonic clock
	moved  int
}

// Join returns the membership of a replica, which begins with Run. The
// replicas of one database are in its collection "Replica".
func Join(db *mongo.Database, self string, log *zap.Logger) *Members {
	return &Members{self: self, coll: db.Collection("Replica"), log: log}
}

// Run says that this replica lives, and looks who else does, until ctx ends;
// then it leaves, so that others take over at once.
func (m *Members) Run(ctx context.Context) {
	m.forget(ctx)
	ticker := time.NewTicker(Heartbeat)
	defer ticker.Stop()
	for {
		if err := m.beat(ctx); err != nil && ctx.Err() == nil {
			m.log.Warn("heartbeat failed", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			m.leave(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
		}
	}
}

// Mine reports whether a document falls to this replica. A replica that does
// not know who lives (it has not looked yet, or cannot) takes nothing for its
// own, and leaves the first claim to others.
func (m *Members) Mine(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.knows() && m.owners[Of(id)] == m.self
}

// Known reports whether this replica knows who lives: its latest look is not
// older than a heartbeat lasts.
func (m *Members) Known() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.knows()
}

func (m *Members) knows() bool { return time.Since(m.at) < Expiry }

// View returns the live replicas, each with its shards, and how many shards
// have changed hands as this replica saw it.
func (m *Members) View() (members []Member, moved int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.seen), m.moved
}

// beat writes this replica's heartbeat and reads the others'.
func (m *Members) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// Only this replica writes its own document, so that the upsert may have
	// as many winners as it likes.
	_, err := m.coll.UpdateOne(ctx, bson.D{{Key: "_id", Value: m.self}}, mongo.Pipeline{bson.D{{Key: "$set", Value: bson.D{
		{Key: "seenAt", Value: "$$NOW"},
		{Key: "since", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$since", "$$NOW"}}}},
	}}}}, options.UpdateOne().SetUpsert(true))
	if err != nil {
		return fmt.Errorf("write heartbeat: %w", err)
	}
	looked := time.Now()
	cursor, err := m.coll.Find(ctx, bson.D{{Key: "$expr", Value: bson.D{{Key: "$gt", Value: bson.A{"$seenAt", ago(Expiry)}}}}},
		options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
	if err != nil {
		return fmt.Errorf("read heartbeats: %w", err)
	}
	var live []Member
	if err := cursor.All(ctx, &live); err != nil {
		return fmt.Errorf("read heartbeats: %w", err)
	}
	m.take(live, looked)
	return nil
}

// take makes the set of live replicas this replica's view.
func (m *Members) take(live []Member, looked time.Time) {
	names := make([]string, len(live))
	for i, member := range live {
		names[i] = member.Name
	}
	owners := assign(names)
	for s, name := range owners {
		if i := slices.Index(names, name); i >= 0 {
			live[i].Shards = append(live[i].Shards, s)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range owners {
		if m.owners[s] != "" && m.owners[s] != owners[s] {
			m.moved++
		}
	}
	m.seen, m.owners, m.at = live, owners, looked
}

// forget removes the heartbeats of those that died long ago.
func (m *Members) forget(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	old := bson.D{{Key: "$expr", Value: bson.D{{Key: "$lt", Value: bson.A{"$seenAt", ago(remembered)}}}}}
	if _, err := m.coll.DeleteMany(ctx, old); err != nil && ctx.Err() == nil {
		m.log.Warn("old heartbeats not removed", zap.Error(err))
	}
}

// ago is a time in the past, by the database's clock.
func ago(d time.Duration) bson.D {
	return bson.D{{Key: "$subtract", Value: bson.A{"$$NOW", d.Milliseconds()}}}
}

// leave removes this replica's heartbeat.
func (m *Members) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := m.coll.DeleteOne(ctx, bson.D{{Key: "_id", Value: m.self}}); err != nil {
		m.log.Warn("heartbeat not removed; it expires", zap.Error(err))
	}
}
