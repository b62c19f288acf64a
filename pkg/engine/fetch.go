package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"
)

// Bounds of a sweep. What is due beyond them is found by the next.
const (
	sweepMost  = 5000 // documents that one read finds
	sweepReads = 100
)

// storeTimeout bounds one read or claim.
const storeTimeout = 15 * time.Second

// batches numbers this process's claiming writes, so that with the holder's
// name each has a name of its own. It begins anywhere: a process that comes
// back under its name must not take up the names of the one before, some of
// whose writes may still be on their way.
var batches = func() *atomic.Int64 {
	n := new(atomic.Int64)
	n.Store(rand.Int64N(1 << 50)) //nolint:gosec // need not be secret
	return n
}()

// sweep claims what is due: one sorted read finds the documents, then they are
// claimed in batches as the pool has room. Each is claimed at most once per
// sweep, so that one that is due again at once cannot keep others waiting. A
// read that was full, or that others have overtaken, is followed by another.
func (s *Service[D]) sweep(ctx, working context.Context) {
	seen := map[string]bool{}
	s.share.begin()
	overtaken := false
	for range sweepReads {
		ids, err := s.due(ctx)
		if err != nil {
			return
		}
		fresh := ids[:0:0]
		for _, id := range ids {
			if !seen[id] {
				seen[id] = true
				fresh = append(fresh, id)
			}
		}
		if len(fresh) == 0 {
			return
		}
		if overtaken || len(fresh) > s.opts.Batch {
			fresh = elsewhere(fresh)
		}
		left, ok := s.drain(ctx, working, s.share.pick(fresh))
		overtaken = len(left) > 0
		if !ok || !overtaken && len(ids) < sweepMost {
			return
		}
		for _, id := range left {
			delete(seen, id)
		}
	}
}

// elsewhere begins at a random place, so that replicas that found the same
// documents do not contend for each one.
func elsewhere(ids []string) []string {
	begin := rand.IntN(len(ids)) //nolint:gosec // spreads load, guards nothing
	return append(ids[begin:len(ids):len(ids)], ids[:begin]...)
}

func (s *Service[D]) due(ctx context.Context) ([]string, error) {
	read, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	ids, err := s.store.Due(read, s.rules, sweepMost)
	s.storeResult(ctx, "due", err)
	return ids, err
}

// drain claims the given documents batch by batch, by turns with what hints
// name: neither keeps the other waiting. It returns those that are left where
// others have taken most of a batch: they are ahead, and a new read says where.
// It is not ok if ctx ends or the store fails.
func (s *Service[D]) drain(ctx, working context.Context, ids []string) (left []string, ok bool) {
	for hinted := false; len(ids) > 0; {
		room, ok := s.pool.room(ctx)
		if !ok {
			return nil, false
		}
		if hinted = !hinted && s.hints.pending() > 0; hinted {
			s.claim(ctx, working, s.hints.take(room), true)
			continue
		}
		n := min(room, len(ids))
		got, ok := s.claim(ctx, working, ids[:n], false)
		if ids = ids[n:]; !ok || got < n/2 {
			return ids, ok
		}
	}
	return nil, true
}

// claimHinted claims the documents that hints have named. Those named
// meanwhile wake the fetcher again, after a tick that has come due.
func (s *Service[D]) claimHinted(ctx, working context.Context) {
	for n := s.hints.pending(); n > 0; {
		room, ok := s.pool.room(ctx)
		if !ok {
			return
		}
		ids := s.hints.take(min(room, n))
		if len(ids) == 0 {
			return
		}
		s.claim(ctx, working, ids, true)
		n -= len(ids)
	}
}

// claim takes the documents that are still claimable and hands them to the
// workers. It is not ok if the store failed.
func (s *Service[D]) claim(ctx, working context.Context, ids []string, hinted bool) (got int, ok bool) {
	req := ClaimRequest{
		Rules: s.rules, IDs: ids, Holder: s.opts.Holder, Hinted: hinted,
		Batch: s.opts.Holder + "#" + strconv.FormatInt(batches.Add(1), 36),
	}
	// The end of ctx does not cancel a claim on its way: the store may make it
	// all the same, and its documents would stay locked with nobody to know.
	write, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(storeTimeout, s.window/2))
	defer cancel()
	began := s.now()
	docs, err := s.store.Claim(write, req)
	if s.storeResult(ctx, "claim", err); err != nil {
		return 0, false
	}
	s.obs.Claimed(s.def.Kind, len(ids), len(docs))
	s.pool.took(len(docs))
	for _, doc := range docs {
		m := doc.Lifecycle()
		if m.WaitingFor == "" && m.Attempts == 0 && !m.UpdatedAt.IsZero() {
			s.obs.Queued(s.def.Kind, m.LockedAt.Sub(m.UpdatedAt))
		}
		s.hints.flying(m.ID)
		s.pool.queue <- newClaim(working, doc, s.now, began, s.window)
	}
	return len(docs), true
}

func (s *Service[D]) storeResult(ctx context.Context, call string, err error) {
	if err != nil && ctx.Err() == nil {
		s.obs.StoreFailed(s.def.Kind, call)
		s.log.Warn("store failed", slog.String("call", call), slog.Any("error", err))
	}
}
