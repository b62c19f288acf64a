package enginetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// What the user's side of a store returns.
var (
	// ErrNotFound says that there is no document of this id.
	ErrNotFound = errors.New("document not found")
	// ErrDuplicate says that there is one already.
	ErrDuplicate = errors.New("document exists already")
)

// Insert adds documents, in order, up to the first that cannot be added: an
// [ErrDuplicate] if its id is taken. A document that does not say when it was
// locked is unlocked.
func (s *MemStore[D]) Insert(ctx context.Context, docs ...D) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, doc := range docs {
		if err := s.insert(doc); err != nil {
			return err
		}
	}
	return nil
}

func (s *MemStore[D]) insert(doc D) error {
	raw, err := bson.Marshal(doc)
	if err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	r, err := newRecord(raw)
	if err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	id := r.meta.ID
	if _, taken := s.records[id]; taken {
		return fmt.Errorf("insert %q: %w", id, ErrDuplicate)
	}
	if r.meta.LockedAt.IsZero() {
		if r, err = r.withFields(map[string]any{"lockedAt": engine.Epoch}); err != nil {
			return fmt.Errorf("insert %q: %w", id, err)
		}
	}
	s.records[id] = r
	return nil
}

// Get returns a copy of a document, or [ErrNotFound].
func (s *MemStore[D]) Get(ctx context.Context, id string) (D, error) {
	var none D
	if err := ctx.Err(); err != nil {
		return none, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[id]
	if !ok {
		return none, fmt.Errorf("get %q: %w", id, ErrNotFound)
	}
	return decode[D](r)
}

// All returns copies of all documents, by id.
func (s *MemStore[D]) All(ctx context.Context) ([]D, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var docs []D
	for _, id := range slices.Sorted(maps.Keys(s.records)) {
		doc, err := decode[D](s.records[id])
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// SetState writes the intent, and only that, as a person in mongosh does.
func (s *MemStore[D]) SetState(ctx context.Context, id string, state engine.State) error {
	return s.SetFields(ctx, id, map[string]any{"state": state})
}

// SetFields sets fields by their dotted names, whoever holds the document. It
// sets all of them or, with an error, none.
func (s *MemStore[D]) SetFields(ctx context.Context, id string, fields map[string]any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[id]
	if !ok {
		return fmt.Errorf("set fields of %q: %w", id, ErrNotFound)
	}
	r, err := r.withFields(fields)
	if err != nil {
		return fmt.Errorf("set fields of %q: %w", id, err)
	}
	s.records[id] = r
	return nil
}

// Delete removes a document, whoever holds it, or returns [ErrNotFound].
func (s *MemStore[D]) Delete(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.records[id]; !ok {
		return fmt.Errorf("delete %q: %w", id, ErrNotFound)
	}
	delete(s.records, id)
	return nil
}
