package platform

import (
	"context"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// StoreCall is a call to a store that claims documents, changes them, or asks
// whether a claim still holds.
type StoreCall struct {
	Kind resource.Kind
	// Op is "claim", "apply", "update" or "verify".
	Op string
	// Claim is what a "claim" asks for.
	Claim engine.ClaimRequest
	// Change is what an "apply" makes.
	Change engine.Change
	// Refs are the claims that all but a "claim" act under.
	Refs []engine.Ref
}

// StoreAnswer is what a store answers to a call.
type StoreAnswer struct {
	// Claimed are the documents that a "claim" took.
	Claimed []*engine.Meta
	// Lost are the ids of the documents that an "apply" did not change.
	Lost []string
}

// AroundStore runs around each such call: for records of them, and for tests
// that disturb them. It calls run, which makes the call, and returns what it
// makes of the answer; what was claimed it only reads.
type AroundStore func(ctx context.Context, call StoreCall, run func(context.Context) (StoreAnswer, error)) (StoreAnswer, error)

// aroundStore puts f around a kind's store.
func aroundStore[D engine.Document](kind resource.Kind, store engine.Store[D], f AroundStore) engine.Store[D] {
	if f == nil {
		return store
	}
	return &surrounded[D]{Store: store, kind: kind, around: f}
}

type surrounded[D engine.Document] struct {
	engine.Store[D]
	kind   resource.Kind
	around AroundStore
}

func (s *surrounded[D]) Claim(ctx context.Context, req engine.ClaimRequest) (docs []D, err error) {
	_, err = s.around(ctx, StoreCall{Kind: s.kind, Op: "claim", Claim: req}, func(ctx context.Context) (answer StoreAnswer, err error) {
		docs, err = s.Store.Claim(ctx, req)
		for _, doc := range docs {
			answer.Claimed = append(answer.Claimed, doc.Lifecycle())
		}
		return answer, err
	})
	return docs, err
}

func (s *surrounded[D]) Apply(ctx context.Context, change engine.Change, claims []engine.Ref) ([]string, error) {
	call := StoreCall{Kind: s.kind, Op: "apply", Change: change, Refs: claims}
	answer, err := s.around(ctx, call, func(ctx context.Context) (answer StoreAnswer, err error) {
		answer.Lost, err = s.Store.Apply(ctx, change, claims)
		return answer, err
	})
	return answer.Lost, err
}

func (s *surrounded[D]) Update(ctx context.Context, claim engine.Ref, fields map[string]any) error {
	return s.one(ctx, "update", claim, func(ctx context.Context) error { return s.Store.Update(ctx, claim, fields) })
}

func (s *surrounded[D]) Verify(ctx context.Context, claim engine.Ref) error {
	return s.one(ctx, "verify", claim, func(ctx context.Context) error { return s.Store.Verify(ctx, claim) })
}

func (s *surrounded[D]) one(ctx context.Context, op string, claim engine.Ref, f func(context.Context) error) error {
	call := StoreCall{Kind: s.kind, Op: op, Refs: []engine.Ref{claim}}
	_, err := s.around(ctx, call, func(ctx context.Context) (StoreAnswer, error) { return StoreAnswer{}, f(ctx) })
	return err
}
