package enginetest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// MemStore is an [engine.Store] in memory, for tests. It does what a store on
// MongoDB does, for one collection and any number of replicas that share it.
//
// Documents are kept as BSON, not as Go values: a field that the document's
// type omits is missing, one that it does not know is kept, times have
// milliseconds, and whoever reads gets a copy. Every method is one atomic
// step, as a write to one MongoDB collection is to its documents.
//
// Besides the engine's side it has the user's ([MemStore.Insert] and what
// follows it), which asks for no lock. To make it fail, see [WithHooks].
type MemStore[D engine.Document] struct {
	now func() time.Time

	mu      sync.Mutex
	records map[string]record
}

// NewMemStore returns an empty store. Now is the clock of the database, the
// only one there is; time.Now will do, and is virtual under testing/synctest.
func NewMemStore[D engine.Document](now func() time.Time) *MemStore[D] {
	return &MemStore[D]{now: now, records: map[string]record{}}
}

// Now is the database's present time, to the millisecond.
func (s *MemStore[D]) Now(ctx context.Context) (time.Time, error) {
	return s.clock(), ctx.Err()
}

// clock reads the time once for each operation, as $$NOW does.
func (s *MemStore[D]) clock() time.Time {
	return s.now().UTC().Truncate(time.Millisecond)
}

// Due implements [engine.Store].
func (s *MemStore[D]) Due(ctx context.Context, rules engine.Rules, limit int) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	now := s.clock()
	var unsettled, resynced []*engine.Meta
	for _, r := range s.records {
		switch {
		case !claimable(&r.meta, rules, now):
		case matches(rules.Unsettled, &r.meta):
			unsettled = append(unsettled, &r.meta)
		default:
			resynced = append(resynced, &r.meta)
		}
	}
	slices.SortFunc(unsettled, byExpiry)
	slices.SortFunc(resynced, func(a, b *engine.Meta) int { return cmp.Or(a.ResyncAt.Compare(b.ResyncAt), byExpiry(a, b)) })

	var ids []string
	for _, m := range append(unsettled, resynced...) {
		if len(ids) < limit {
			ids = append(ids, m.ID)
		}
	}
	return ids, nil
}

// byExpiry puts the nearest expiry first, then the longest waiting. The id
// makes the order, and with it every simulation, repeatable.
func byExpiry(a, b *engine.Meta) int {
	return cmp.Or(
		a.LockedAt.Compare(b.LockedAt),
		a.UpdatedAt.Compare(b.UpdatedAt),
		cmp.Compare(a.ID, b.ID),
	)
}

// Claim implements [engine.Store].
func (s *MemStore[D]) Claim(ctx context.Context, req engine.ClaimRequest) ([]D, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	now := s.clock()
	var claimed []D
	for _, id := range req.IDs {
		r, ok := s.records[id]
		if !ok || !claimableBy(&r.meta, req, now) {
			continue
		}
		meta := r.meta
		claim(&meta, req, now)
		r, err := r.withMeta(meta)
		if err != nil {
			return nil, err
		}
		doc, err := decode[D](r)
		if err != nil {
			return nil, err
		}
		s.records[id] = r
		claimed = append(claimed, doc)
	}
	return claimed, nil
}

// Apply implements [engine.Store].
func (s *MemStore[D]) Apply(ctx context.Context, change engine.Change, claims []engine.Ref) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	now := s.clock()
	var lost []string
	for _, ref := range claims {
		r, held := s.held(ref)
		switch {
		case !held, change.Kind == engine.Move && r.meta.Phase != change.From:
			lost = append(lost, ref.ID)
			continue
		case change.Kind == engine.Purge:
			delete(s.records, ref.ID)
			continue
		}
		meta := r.meta
		if err := apply(&meta, change, now); err != nil {
			return nil, err
		}
		r, err := r.withMeta(meta)
		if err != nil {
			return nil, err
		}
		s.records[ref.ID] = r
	}
	return lost, nil
}

// Update implements [engine.Store].
func (s *MemStore[D]) Update(ctx context.Context, claim engine.Ref, fields map[string]any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	r, held := s.held(claim)
	if !held {
		return engine.ErrLockLost
	}
	r, err := r.withFields(fields)
	if err != nil {
		return err
	}
	s.records[claim.ID] = r
	return nil
}

// Verify implements [engine.Store].
func (s *MemStore[D]) Verify(ctx context.Context, claim engine.Ref) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	if _, held := s.held(claim); !held {
		return engine.ErrLockLost
	}
	return nil
}

// held returns the claimed document, if the claim is the latest and has not
// ended. That its lock has expired is of no account while nobody else has
// claimed the document.
func (s *MemStore[D]) held(claim engine.Ref) (record, bool) {
	r, ok := s.records[claim.ID]
	m := &r.meta
	return r, ok && m.LockedBy != "" && m.LockToken == claim.Token && m.LockBatch == claim.Batch
}
