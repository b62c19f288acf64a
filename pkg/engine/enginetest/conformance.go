package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Harness is a store under test, and the way around it.
type Harness struct {
	Store engine.Store[*Widget]
	// Users reach the same documents as Store does.
	Users Users
}

// Users is what others than the engine do to the documents: the API, and
// people in mongosh. [MemStore] implements it.
type Users interface {
	// Insert adds documents as they are.
	Insert(ctx context.Context, docs ...*Widget) error
	// Get reads a document. The error wraps [ErrNotFound] if there is none.
	Get(ctx context.Context, id string) (*Widget, error)
	// SetFields sets fields (dotted names) of a document, whoever holds it.
	SetFields(ctx context.Context, id string, fields map[string]any) error
	// Now is the database's present time.
	Now(ctx context.Context) (time.Time, error)
}

// Conformance checks that a store does what the documentation of
// [engine.Store] says, sentence by sentence. Every test opens a new, empty
// store, with whatever indexes it makes of [WidgetRules].
//
// The suite never waits for time to pass. Where an expiry matters, it inserts
// documents that are so old by the database's clock; where the time of a write
// matters, it is compared with the database's time before and after. No clock
// of the test's machine is read: stores on a skewed clock pass.
func Conformance(t *testing.T, open func(t *testing.T) Harness) {
	for _, subject := range []struct {
		name  string
		check func(*testing.T, func(*testing.T) Harness)
	}{
		{"Claimable", claimableTests},
		{"Due", dueTests},
		{"Claim", claimTests},
		{"Move", moveTests},
		{"OneShot", oneShotTests},
		{"Relock", relockTests},
		{"Fail", failTests},
		{"Rest", restTests},
		{"Checkpoint", checkpointTests},
		{"History", historyTests},
		{"Fencing", fencingTests},
		{"Sets", setTests},
		{"Update", updateTests},
		{"Text", textTests},
		{"Contention", contentionTests},
		{"Context", contextTests},
	} {
		t.Run(subject.name, func(t *testing.T) { subject.check(t, open) })
	}
}
