package enginetest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// change returns a change with all that its kind speaks of, for documents in
// phase Pending. Whoever makes it names themselves; see apply.
func change(kind engine.ChangeKind) engine.Change {
	c := engine.Change{Kind: kind, LockTimeout: engine.DefaultLockTimeout, From: Pending}
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

// apply makes a change under the claims that the documents were read with, as
// their holder, and returns the lost ones in order.
func (b *bench) apply(c engine.Change, docs ...*Widget) (lost []string) {
	b.Helper()
	c.Holder = holderOf(docs)
	lost, err := b.store.Apply(b.ctx, c, refsOf(docs))
	b.check(err)
	slices.Sort(lost)
	return lost
}

func holderOf(docs []*Widget) string {
	if len(docs) == 0 {
		return alice
	}
	return docs[0].LockedBy
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

// diff says in which fields two documents differ. What is missing in BSON is
// empty here: no store need tell the two apart.
func diff(want, got *Widget) []string {
	wanted, have := fieldsOf(want), fieldsOf(got)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if have[name] != wanted[name] {
			lines = append(lines, fmt.Sprintf("%s: got %s, want %s", name, have[name], wanted[name]))
		}
	}
	return lines
}

// fieldsOf renders the fields of a document, by their names in Go.
func fieldsOf(w *Widget) map[string]string {
	w = clone(w) // times as a store returns them
	fields := map[string]string{}
	for _, part := range []reflect.Value{reflect.ValueOf(w.Meta), reflect.ValueOf(*w)} {
		for field, value := range part.Fields() {
			if !field.Anonymous {
				fields[field.Name] = fmt.Sprintf("%+v", value)
			}
		}
	}
	return fields
}
