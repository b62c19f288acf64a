package mongosh_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// cushion keeps ages from passing into the next minute while a test runs.
const cushion = 20 * time.Second

// tell inserts documents of every sort: the leftover of gateway vn8ofl, a
// gateway that waits, one that fails, one that is deleted, and an orphan.
func tell(t *testing.T, db *mongo.Database) {
	t.Helper()
	s := story{t: t, db: db, now: time.Now()}
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	s.settled("ApiGateway", "vn8ofl", "vn8ofl", "Stopped", "Stopped", bson.M{
		"name": "shop", "region": "eu", "phaseAt": s.ago(26 * time.Hour),
		"history": bson.A{
			bson.M{"from": "Creating", "to": "Creating", "step": "namespace", "by": "replica-1", "at": began, "took": int64(15)},
			bson.M{"from": "Creating", "to": "Created", "by": "replica-1", "at": began.Add(time.Second), "took": int64(1004)},
			bson.M{"from": "Stopping", "to": "Stopped", "by": "replica-2", "at": began.Add(time.Hour), "took": int64(75_000)},
		},
	})
	s.settled("RuntimeDomain", "vn8ofl", "vn8ofl", "Active", "Created", nil)
	s.settled("Database", "vn8ofl", "vn8ofl", "Active", "Created", nil)
	s.settled("Environment", "vn8ofl-dev", "vn8ofl", "Active", "Created", nil)
	s.settled("ClientApp", "vn8ofl-dev-web", "vn8ofl", "Active", "Created", nil)
	s.settled("Stage", "vn8ofl-dev", "vn8ofl", "Inactive", "Deleted", nil)
	s.settled("CronTrigger", "vn8ofl-nightly", "vn8ofl", "Inactive", "Deleted", nil)

	waits := bson.M{
		"name": "blog", "region": "us", "phaseAt": s.ago(3 * time.Hour), "step": "pods ready",
		"waitingFor": "1 of 2 pods ready", "waitingSince": s.ago(2 * time.Hour), "lockedAt": s.ago(0).Add(5 * time.Minute),
	}
	s.settled("ApiGateway", "start0", "start0", "Running", "Starting", waits)
	s.settled("Stage", "start0-dev", "start0", "Active", "Created", nil)

	s.settled("ApiGateway", "broken", "broken", "Running", "Starting", bson.M{
		"name": "broken", "region": "eu", "phaseAt": s.ago(0), "step": "instance", "attempts": 4,
		"lastError": bson.M{"step": "instance", "message": "the quota is used up", "at": s.ago(0)}, "lockedAt": s.ago(time.Hour),
	})
	s.settled("CloudFunction", "broken-fn", "broken", "Paused", "Created", nil)
	s.settled("ClientApp", "broken-dev-app", "broken", "Active", "Creating", bson.M{
		"step": "consumer", "attempts": 1, "lockedAt": time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
		"lastError": bson.M{"step": "consumer", "message": "the name is not allowed", "at": s.ago(0), "terminal": true},
	})

	s.settled("ApiGateway", "going0", "going0", "Deleted", "Deleting", bson.M{
		"name": "old", "region": "eu", "phaseAt": s.ago(time.Hour), "step": "namespace",
		"lockedBy": "replica-3", "lockedAt": s.ago(2 * time.Hour), "lockToken": int64(41),
	})

	s.settled("ApiGateway", "held00", "held00", "Running", "Created", bson.M{
		"name": "held", "region": "eu", "lockedBy": "paused by ann", "lockedAt": time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), "lockToken": int64(7),
	})

	if _, err := db.Collection("Pause").InsertOne(t.Context(), bson.M{
		"_id": "CronTrigger", "by": "ann", "reason": "the clocks change", "at": s.ago(time.Hour),
	}); err != nil {
		t.Fatal(err)
	}

	s.settled("RuntimeDomain", "gone00", "gone00", "Active", "Created", nil)
	s.settled("Database", "gone00", "gone00", "Active", "Created", nil)
}

type story struct {
	t   *testing.T
	db  *mongo.Database
	now time.Time
}

func (s story) ago(d time.Duration) time.Time { return s.now.Add(-d - cushion) }

// settled inserts an unlocked document whose intent has been seen; fields
// change that.
func (s story) settled(kind, id, gatewayID, state, phase string, fields bson.M) {
	s.t.Helper()
	doc := bson.M{
		"_id": id, "gatewayId": gatewayID, "state": state, "phase": phase, "generation": int64(1),
		"observedState": state, "observedGeneration": int64(1), "lockedAt": time.Unix(0, 0).UTC(), "phaseAt": s.ago(time.Minute),
	}
	for name, value := range fields {
		doc[name] = value
	}
	if _, err := s.db.Collection(kind).InsertOne(s.t.Context(), doc); err != nil {
		s.t.Fatal(err)
	}
}
