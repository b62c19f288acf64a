package enginetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// A port is the store that its service sees. Each operation goes over the
// network and, when it reaches the store, is judged.
var _ engine.Store[*SimDocument] = (*port)(nil)

// Due implements [engine.Store].
func (p *port) Due(ctx context.Context, rules engine.Rules, limit int) ([]string, error) {
	return call(ctx, p, opDue, -1, func(ctx context.Context) ([]string, error) {
		p.sim.judge.starved(rules)
		return p.sim.store.Due(ctx, rules, limit)
	})
}

// Claim implements [engine.Store].
func (p *port) Claim(ctx context.Context, req engine.ClaimRequest) ([]*SimDocument, error) {
	if req.Hinted {
		req.IDs = slices.Sorted(slices.Values(req.IDs)) // hints have no order
	}
	return call(ctx, p, opClaim, p.sim.documentOf(req.IDs), func(ctx context.Context) ([]*SimDocument, error) {
		before := p.sim.metas(req.IDs)
		docs, err := p.sim.store.Claim(ctx, req)
		for _, doc := range docs {
			p.sim.judge.claimed(p, req, before[doc.ID], &doc.Meta)
		}
		return docs, err
	})
}

// Apply implements [engine.Store].
func (p *port) Apply(ctx context.Context, ch engine.Change, claims []engine.Ref) ([]string, error) {
	ids := make([]string, len(claims))
	for i, ref := range claims {
		ids[i] = ref.ID
	}
	if ch.Kind == engine.Fail && !ch.Terminal {
		ch.Delay = p.sim.respread(ch.Delay, p.index, p.sim.documentOf(ids))
	}
	return call(ctx, p, opApply, p.sim.documentOf(ids), func(ctx context.Context) ([]string, error) {
		before := p.sim.metas(ids)
		lost, err := p.sim.store.Apply(ctx, ch, claims)
		if err != nil {
			return nil, err
		}
		after := p.sim.metas(ids)
		for _, ref := range claims {
			if accepted := !slices.Contains(lost, ref.ID); accepted {
				p.sim.judge.changed(p, ch, ref, before[ref.ID], after[ref.ID])
			} else {
				p.sim.note(p, ref.ID, string(ch.Kind)+" refused: lock lost", ref.Token)
			}
		}
		return lost, nil
	})
}

// Update implements [engine.Store].
func (p *port) Update(ctx context.Context, claim engine.Ref, fields map[string]any) error {
	_, err := call(ctx, p, opUpdate, p.sim.documentOf([]string{claim.ID}), func(ctx context.Context) (struct{}, error) {
		err := p.sim.store.Update(ctx, claim, fields)
		if err == nil {
			p.sim.judge.wrote(p, opUpdate, claim)
		}
		return struct{}{}, err
	})
	return err
}

// Verify implements [engine.Store].
func (p *port) Verify(ctx context.Context, claim engine.Ref) error {
	_, err := call(ctx, p, opVerify, p.sim.documentOf([]string{claim.ID}), func(ctx context.Context) (struct{}, error) {
		err := p.sim.store.Verify(ctx, claim)
		if err == nil {
			p.sim.judge.wrote(p, opVerify, claim)
		}
		return struct{}{}, err
	})
	return err
}

// metas are the engine's fields of documents, of those that exist.
func (s *simulation) metas(ids []string) map[string]*engine.Meta {
	metas := make(map[string]*engine.Meta, len(ids))
	for _, id := range ids {
		if r, ok := s.mem.records[id]; ok {
			metas[id] = &r.meta
		}
	}
	return metas
}

// travel decides what goes wrong with an operation, and notes it; and how long
// the operation is on its way. That differs by the nanosecond, so that no two
// things happen at once, and all happen in the same order when they happen
// again.
func (s *simulation) travel(p *port, op opCode, document int) (m Mishap, delay, latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.count(p.index, op, document)
	latency = s.dice.between(200*time.Microsecond, 4*time.Millisecond, rollLatency, p.index, int(op), document, n)
	if s.quiet || op == opStep {
		return None, 0, latency
	}
	m, delay = s.dice.mishap(p.index, op, document, n)
	if m == None {
		return None, 0, latency
	}
	f := Fault{
		Replica: p.index, Op: op.String(), Document: document, N: n,
		Mishap: m, Delay: delay, At: time.Since(s.began),
	}
	if !s.only.fault(f) {
		return None, 0, latency
	}
	s.result.Faults = append(s.result.Faults, f)
	return m, delay, latency
}

// respread gives the backoff of an error a spread from the dice instead of the
// engine's own, which no seed decides.
func (s *simulation) respread(delay time.Duration, about ...int) time.Duration {
	for n := 1; n < 20; n++ {
		if whole := engine.ErrorDelay(n, 0); delay <= whole {
			return engine.ErrorDelay(n, s.dice.part(append(about, rollSpread, n)...))
		}
	}
	return delay
}

// The users' side of the store.

func (s *simulation) insert(document int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	doc := &SimDocument{Meta: engine.Meta{ID: s.docs[document], State: simOn, Generation: 1, Phase: simFresh}}
	if err := s.mem.Insert(context.Background(), doc); err != nil && !errors.Is(err, ErrDuplicate) {
		panic(err)
	} else if err == nil {
		s.judge.inserted(doc.ID)
		s.note(nil, doc.ID, "inserts it", 0)
	}
}

// edit changes fields of a document, if it is there, as mongosh does.
func (s *simulation) edit(id, what string, fields map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, ok := s.metas([]string{id})[id]
	if !ok {
		return
	}
	if err := s.mem.SetFields(context.Background(), id, fields); err != nil {
		panic(err)
	}
	s.note(nil, id, what, 0)
	s.judge.edited(before, s.metas([]string{id})[id])
}
