package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// The replicas of the suite.
const (
	alice = "alice"
	bob   = "bob"
)

// clockSlack is how far a store's clock and Users.Now may differ.
const clockSlack = 100 * time.Millisecond

// bench is one test at a new store. Its methods fail the test where the store
// returns an error.
type bench struct {
	*testing.T
	ctx   context.Context
	store engine.Store[*Widget]
	users Users
	rules engine.Rules
	// start is the database's time at the beginning of the test.
	start   time.Time
	batches int
}

func newBench(t *testing.T, open func(*testing.T) Harness) *bench {
	t.Helper()
	h := open(t)
	b := &bench{T: t, ctx: t.Context(), store: h.Store, users: h.Users, rules: WidgetRules()}
	b.start = b.now()
	return b
}

// test runs fn as a subtest at a new store.
func test(t *testing.T, open func(*testing.T) Harness, name string, fn func(b *bench)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { fn(newBench(t, open)) })
}

func (b *bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("%v", err)
	}
}

func (b *bench) now() time.Time {
	b.Helper()
	now, err := b.users.Now(b.ctx)
	b.check(err)
	return now.UTC().Truncate(time.Millisecond)
}

func (b *bench) ago(d time.Duration) time.Time { return b.start.Add(-d) }

// widget returns an unlocked document in (Running, Pending) that has been
// worked at before, for the present intent.
func (b *bench) widget(id string, edits ...func(*Widget)) *Widget {
	w := &Widget{
		Meta: engine.Meta{
			ID: id, State: Running, Generation: 3, ObservedState: Running, ObservedGeneration: 3,
			Phase: Pending, PhaseAt: b.ago(10 * time.Minute),
			LockedAt: engine.Epoch, LockToken: 4, LockBatch: "earlier",
			CreatedAt: b.ago(time.Hour), UpdatedAt: b.ago(5 * time.Minute),
			History: []engine.HistoryEntry{{From: Idle, To: Pending, By: bob, At: b.ago(10 * time.Minute), Took: 70}},
		},
		Spec:   WidgetSpec{Size: 3, Colour: "red", Parts: []string{"lid", "box"}, BuiltAt: b.ago(time.Hour)},
		Labels: map[string]string{"team": "blue"},
	}
	for _, edit := range edits {
		edit(w)
	}
	return w
}

// burdened gives a document one of each thing that a change may clear.
func (b *bench) burdened(w *Widget) {
	w.Step, w.StepAt = "brew", b.ago(4*time.Minute)
	w.WaitingFor, w.WaitingSince = "water", b.ago(3*time.Minute)
	w.Attempts = 2
	w.LastError = &engine.LastError{Step: "brew", Message: "no water", At: b.ago(5 * time.Minute)}
	w.ResyncAt = b.ago(time.Minute)
}

func (b *bench) insert(docs ...*Widget) {
	b.Helper()
	b.check(b.users.Insert(b.ctx, docs...))
}

func (b *bench) set(id string, field string, value any) {
	b.Helper()
	b.check(b.users.SetFields(b.ctx, id, map[string]any{field: value}))
}

// expire makes a document look as if it had been claimed long ago.
func (b *bench) expire(ids ...string) {
	b.Helper()
	for _, id := range ids {
		b.set(id, "lockedAt", b.ago(31*time.Second))
	}
}

func (b *bench) get(id string) *Widget {
	b.Helper()
	w, err := b.users.Get(b.ctx, id)
	b.check(err)
	return w
}

func (b *bench) gone(id string) {
	b.Helper()
	if _, err := b.users.Get(b.ctx, id); !errors.Is(err, ErrNotFound) {
		b.Errorf("get %s: error %v, want ErrNotFound", id, err)
	}
}

func (b *bench) request(holder string, ids ...string) engine.ClaimRequest {
	b.batches++
	return engine.ClaimRequest{Rules: b.rules, IDs: ids, Holder: holder, Batch: fmt.Sprintf("%s/%d", holder, b.batches)}
}

// tryClaim claims what can be claimed of the given documents.
func (b *bench) tryClaim(holder string, ids ...string) []*Widget {
	b.Helper()
	docs, err := b.store.Claim(b.ctx, b.request(holder, ids...))
	b.check(err)
	return docs
}

// claim claims all of the given documents, and returns them in that order.
func (b *bench) claim(holder string, ids ...string) []*Widget {
	b.Helper()
	docs := b.tryClaim(holder, ids...)
	if len(docs) != len(ids) {
		b.Fatalf("%s claimed %v, want %v", holder, idsOf(docs), ids)
	}
	slices.SortFunc(docs, func(x, y *Widget) int { return slices.Index(ids, x.ID) - slices.Index(ids, y.ID) })
	return docs
}

// held inserts a document and claims it for alice.
func (b *bench) held(id string, edits ...func(*Widget)) *Widget {
	b.Helper()
	b.insert(b.widget(id, edits...))
	return b.claim(alice, id)[0]
}

func idsOf(docs []*Widget) []string {
	ids := make([]string, len(docs))
	for i, w := range docs {
		ids[i] = w.ID
	}
	return ids
}

func refsOf(docs []*Widget) []engine.Ref {
	refs := make([]engine.Ref, len(docs))
	for i, w := range docs {
		refs[i] = engine.RefOf(w)
	}
	return refs
}
