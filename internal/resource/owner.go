package resource

import (
	"context"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// ErrLockLost is the engine's, for drivers, which know this package only. Of
// the errors of Owner.Verify it is the one that says that the claim is lost;
// any other says that nobody knows.
var ErrLockLost = engine.ErrLockLost

// Owner is the document on whose behalf a driver acts, with the fencing token
// of the claim it acts under. Drivers mark every object with it, and refuse to
// touch an object that a newer claim of the same document has written.
type Owner struct {
	Kind      Kind
	ID        string
	GatewayID string
	Token     int64
	// Verify returns [ErrLockLost] if the claim has lost its document, and
	// another error if that could not be found out. Drivers call it after an
	// external create: what was created meanwhile for nobody is removed again.
	Verify func(ctx context.Context) error
}
