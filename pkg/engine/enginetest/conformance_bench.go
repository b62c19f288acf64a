package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

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

// change returns a change of alice's with all that its kind speaks of, for
// documents in phase Pending.
func change(kind engine.ChangeKind) engine.Change {
	c := engine.Change{Kind: kind, Holder: alice, LockTimeout: engine.DefaultLockTimeout, From: Pending}
	switch kind {
	case engine.Move:
		c.To = Ready
	case engine.Relock:
		c.Step, c.Reason = "brew", "2 cups left"
	case engine.Fail:
		c.Step, c.Message, c.Delay = "brew", "out of beans", 10*time.Second
	case engine.Checkpoint:
		c.Step, c.Next = "brew", "pour"
	}
	return c
}

// allKinds are the kinds of change.
var allKinds = []engine.ChangeKind{
	engine.Move, engine.Relock, engine.Fail, engine.Rest, engine.Release,
	engine.Purge, engine.Checkpoint, engine.Renew,
}

// apply makes a change under the claims that the documents were read with, and
// returns the lost ones in order.
func (b *bench) apply(c engine.Change, docs ...*Widget) (lost []string) {
	b.Helper()
	lost, err := b.store.Apply(b.ctx, c, refsOf(docs))
	b.check(err)
	slices.Sort(lost)
	return lost
}

// applied makes a change to a held document and compares every field of the
// result. Want turns the document as claimed into that which is expected, given
// the database's time of the change.
func (b *bench) applied(doc *Widget, c engine.Change, want func(w *Widget, now time.Time)) *Widget {
	b.Helper()
	before := b.now()
	if lost := b.apply(c, doc); len(lost) > 0 {
		b.Fatalf("%s: lock lost", c.Kind)
	}
	after, got := b.now(), b.get(doc.ID)

	now := got.UpdatedAt
	switch c.Kind {
	case engine.Renew:
		now = got.LockedAt
	case engine.Release:
		now = after
	}
	b.between(string(c.Kind), before, now, after)

	expected := clone(doc)
	if c.Kind.Ends() {
		expected.LockedBy = ""
		expected.LockBatch = got.LockBatch // means nothing between claims
	}
	if c.Kind != engine.Release && c.Kind != engine.Renew {
		expected.UpdatedAt = now
	}
	want(expected, now)
	b.same(expected, got)
	return got
}

// between checks that a store's time lies between two times of Users.Now.
func (b *bench) between(what string, before, got, after time.Time) {
	b.Helper()
	if got.Before(before.Add(-clockSlack)) || got.After(after.Add(clockSlack)) {
		b.Errorf("%s: time %v is not within %v and %v of the database's clock", what, got, before, after)
	}
}

// same compares documents field by field.
func (b *bench) same(want, got *Widget) {
	b.Helper()
	for _, line := range diff(want, got) {
		b.Errorf("%s: %s", want.ID, line)
	}
}

// ids compares sets of ids.
func (b *bench) ids(what string, got []string, want ...string) {
	b.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		b.Errorf("%s: %q, want %q", what, got, want)
	}
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

func clone(w *Widget) *Widget {
	raw, err := bson.Marshal(w)
	if err != nil {
		panic(err)
	}
	c := &Widget{}
	if err := bson.Unmarshal(raw, c); err != nil {
		panic(err)
	}
	return c
}

// diff says in which top-level fields two documents differ.
func diff(want, got *Widget) []string {
	wanted, have := fieldsOf(want), fieldsOf(got)
	var lines []string
	for name, value := range wanted {
		if have[name] != value {
			lines = append(lines, fmt.Sprintf("%s: got %s, want %s", name, orMissing(have[name]), value))
		}
	}
	for name, value := range have {
		if wanted[name] == "" {
			lines = append(lines, fmt.Sprintf("%s: got %s, want it missing", name, value))
		}
	}
	slices.Sort(lines)
	return lines
}

func orMissing(s string) string {
	if s == "" {
		return "it missing"
	}
	return s
}

func fieldsOf(w *Widget) map[string]string {
	raw, err := bson.Marshal(w)
	if err != nil {
		panic(err)
	}
	elements, err := bson.Raw(raw).Elements()
	if err != nil {
		panic(err)
	}
	fields := map[string]string{}
	for _, e := range elements {
		fields[e.Key()] = e.Value().String()
	}
	return fields
}
