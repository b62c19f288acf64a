package resource

import "context"

// Owner is the document on whose behalf a driver acts, with the fencing token
// of the claim it acts under. Drivers mark every object with it, and refuse to
// touch an object that a newer claim of the same document has written.
type Owner struct {
	Kind      Kind
	ID        string
	GatewayID string
	Token     int64
	// Verify returns an error if the claim has lost its document. Drivers call
	// it after an external create: what was created meanwhile for nobody is
	// removed again.
	Verify func(ctx context.Context) error
}
