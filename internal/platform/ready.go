package platform

import (
	"context"
	"errors"
	"time"
)

// readyTimeout bounds how long a probe is kept waiting.
const readyTimeout = 3 * time.Second

// Why a replica is not ready that reaches all it needs.
var (
	errStarting = errors.New("the database is not prepared yet: the log says why")
	errEnding   = errors.New("the replica is shutting down")
)

// Ready returns an error if requests should go to other replicas: this one was
// asked to end, cannot reach the database or make its indexes, or has not
// reached any region since it was started. A rollout stops at such a replica.
//
// A region that goes away later, or one of several, is no reason. What users
// want can be written without it; and as all replicas would be unready at once,
// one region's outage would be everybody's.
func (p *Platform) Ready(ctx context.Context) error {
	if p.ending.Load() {
		return errEnding
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := p.documents.Ping(ctx); err != nil {
		return err
	}
	if !p.prepared.Load() {
		return errStarting
	}
	if p.reached.Load() || len(p.regions) == 0 {
		return nil
	}
	if err := p.regions.reachAny(ctx); err != nil {
		return err
	}
	p.reached.Store(true)
	return nil
}
