package platform

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// pauseLook is how often a replica reads which kinds are paused.
const pauseLook = 2 * time.Second

// heedPauses reads which kinds are paused, until ctx ends.
func (p *Platform) heedPauses(ctx context.Context) {
	ticker := time.NewTicker(pauseLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		p.readPauses(ctx)
	}
}

func (p *Platform) readPauses(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.documents.ReadPauses(ctx); err != nil && ctx.Err() == nil {
		p.log.Warn("it is not known which kinds are paused; what was read last holds", zap.Error(err))
	}
}

// pausable is a kind's store that gives out no document while the kind is
// paused.
type pausable[D engine.Document] struct {
	engine.Store[D]
	paused func() bool
}

func (s *pausable[D]) Due(ctx context.Context, rules engine.Rules, limit int) ([]string, error) {
	if s.paused() {
		return nil, nil
	}
	return s.Store.Due(ctx, rules, limit)
}

func (s *pausable[D]) Claim(ctx context.Context, req engine.ClaimRequest) ([]D, error) {
	if s.paused() {
		return nil, nil
	}
	return s.Store.Claim(ctx, req)
}

// pausing makes a kind's store heed its pauses.
func (p *Platform) pausing(kind resource.Kind) func() bool {
	return func() bool {
		_, is := p.documents.PauseOf(kind)
		return is
	}
}
