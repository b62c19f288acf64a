package enginetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

type widget = enginetest.Widget

func newStore(docs ...*widget) *enginetest.MemStore[*widget] {
	store := enginetest.NewMemStore[*widget](time.Now)
	if err := store.Insert(context.Background(), docs...); err != nil {
		panic(err)
	}
	return store
}

func newWidget(id string) *widget {
	return &widget{Meta: engine.Meta{ID: id, State: enginetest.Running, Generation: 1, Phase: enginetest.Pending}}
}

func get(t *testing.T, store *enginetest.MemStore[*widget], id string) *widget {
	t.Helper()
	w, err := store.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func claim(t *testing.T, store engine.Store[*widget], batch string, ids ...string) []engine.Ref {
	t.Helper()
	docs, err := store.Claim(t.Context(), engine.ClaimRequest{
		Rules: enginetest.WidgetRules(), IDs: ids, Holder: "holder", Batch: batch,
	})
	if err != nil {
		t.Fatal(err)
	}
	var refs []engine.Ref
	for _, doc := range docs {
		refs = append(refs, engine.RefOf(doc))
	}
	return refs
}

// The table of the specification, to the millisecond: what the suite cannot
// see of a server whose clock goes on.
func TestMemStoreRelockDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, row := range []struct{ waited, delay time.Duration }{
			{0, 0},
			{time.Second, 100 * time.Millisecond},
			{10 * time.Second, time.Second},
			{30 * time.Second, 3 * time.Second},
			{time.Minute, 6 * time.Second},
			{2 * time.Minute, 12 * time.Second},
			{2*time.Minute + time.Millisecond, 30 * time.Second},
			{3 * time.Minute, 30 * time.Second},
			{11 * time.Millisecond, 2 * time.Millisecond}, // rounded up
		} {
			w := newWidget("w")
			w.ObservedState, w.ObservedGeneration = w.State, w.Generation
			w.Step, w.WaitingSince = "brew", time.Now().Add(-row.waited)
			store := newStore(w)
			refs := claim(t, store, "1", "w")
			relock := engine.Change{Kind: engine.Relock, Step: "brew", LockTimeout: 30 * time.Second}
			if lost, err := store.Apply(t.Context(), relock, refs); err != nil || lost != nil {
				t.Fatal(lost, err)
			}
			// It is claimable a millisecond after the delay: lockedAt < now - 30 s.
			due := func() bool {
				ids, err := store.Due(t.Context(), enginetest.WidgetRules(), 1)
				return err == nil && len(ids) == 1
			}
			time.Sleep(row.delay)
			if due() {
				t.Errorf("waited %v: due already after %v", row.waited, row.delay)
			}
			time.Sleep(time.Millisecond)
			if !due() {
				t.Errorf("waited %v: not due after %v and a millisecond", row.waited, row.delay)
			}
		}
	})
}

// Under synctest the store's clock is virtual, and nothing in it waits.
func TestMemStoreExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(newWidget("w"))
		first := claim(t, store, "1", "w")
		time.Sleep(30 * time.Second)
		if refs := claim(t, store, "2", "w"); refs != nil {
			t.Error("claimed at the lock timeout, not after it")
		}
		time.Sleep(time.Millisecond)
		second := claim(t, store, "3", "w")
		if len(second) != 1 || second[0].Token != first[0].Token+1 {
			t.Errorf("claims %v, then %v", first, second)
		}
	})
}

func TestMemStoreUsers(t *testing.T) {
	ctx := t.Context()
	store := newStore(newWidget("b"), newWidget("a"))

	if w := get(t, store, "a"); !w.LockedAt.Equal(engine.Epoch) {
		t.Errorf("a new document is locked at %v", w.LockedAt)
	}
	if err := store.Insert(ctx, newWidget("c"), newWidget("a"), newWidget("d")); !errors.Is(err, enginetest.ErrDuplicate) {
		t.Errorf("insert again: %v", err)
	}
	if err := store.SetState(ctx, "a", enginetest.Stopped); err != nil {
		t.Error(err)
	}
	if w := get(t, store, "a"); w.State != enginetest.Stopped || w.Generation != 1 || !w.UpdatedAt.IsZero() {
		t.Errorf("after SetState: %+v", w.Meta)
	}
	if err := store.Delete(ctx, "b"); err != nil {
		t.Error(err)
	}
	_, err := store.Get(ctx, "b")
	for _, err := range []error{err, store.Delete(ctx, "b"), store.SetState(ctx, "b", enginetest.Stopped)} {
		if !errors.Is(err, enginetest.ErrNotFound) {
			t.Errorf("of an absent document: %v", err)
		}
	}
	all, err := store.All(ctx)
	if err != nil || len(all) != 2 || all[0].ID != "a" || all[1].ID != "c" {
		t.Errorf("all: %v, %v", all, err)
	}
}

// A reader's copy and an inserted value are nobody else's.
func TestMemStoreCopies(t *testing.T) {
	w := newWidget("w")
	w.Labels = map[string]string{"team": "blue"}
	store := newStore(w)
	w.Labels["team"] = "red"
	get(t, store, "w").Labels["team"] = "green"
	if team := get(t, store, "w").Labels["team"]; team != "blue" {
		t.Errorf("the stored document has changed to %q", team)
	}
}

// Fields that the document's type does not know outlive every write of the
// engine's.
func TestMemStoreKeepsUnknownFields(t *testing.T) {
	type wider struct {
		engine.Meta `bson:",inline"`
		Note        string `bson:"note"`
		Spec        struct {
			Size int `bson:"size"`
			Note int `bson:"note"`
		} `bson:"spec"`
	}
	store := enginetest.NewMemStore[*wider](time.Now)
	if err := store.Insert(t.Context(), &wider{Meta: newWidget("w").Meta, Note: "by hand"}); err != nil {
		t.Fatal(err)
	}
	docs, err := store.Claim(t.Context(), engine.ClaimRequest{
		Rules: enginetest.WidgetRules(), IDs: []string{"w"}, Holder: "holder", Batch: "1",
	})
	if err != nil || len(docs) != 1 {
		t.Fatal(docs, err)
	}
	err = store.Update(t.Context(), engine.RefOf(docs[0]), map[string]any{"spec.note": 7, "note2.a.b": true})
	if err != nil {
		t.Fatal(err)
	}
	w, err := store.Get(t.Context(), "w")
	if err != nil || w.Note != "by hand" || w.Spec.Note != 7 {
		t.Errorf("%+v, %v", w, err)
	}
}

// What MongoDB refuses to set is refused, and nothing is set then.
func TestMemStoreRefusesFields(t *testing.T) {
	for want, fields := range map[string]map[string]any{
		"which is no document": {"spec.colour": "red", "spec.size.inner": 1},
		"would conflict":       {"spec": enginetest.WidgetSpec{}, "spec.size": 1},
		"_id":                  {"_id": "other", "spec.size": 1},
		"write document":       {"spec.size": 1, "z": func() {}},
	} {
		store := newStore(newWidget("w"))
		err := store.SetFields(t.Context(), "w", fields)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("set %v: error %v, want %q", fields, err, want)
		}
		if w := get(t, store, "w"); w.Spec.Size != 0 || w.Spec.Colour != "" {
			t.Errorf("set %v: an error, and %+v", fields, w.Spec)
		}
	}
}

func TestMemStoreRefusesUnknownChanges(t *testing.T) {
	store := newStore(newWidget("w"))
	refs := claim(t, store, "1", "w")
	if lost, err := store.Apply(t.Context(), engine.Change{Kind: "vanish"}, refs); err == nil {
		t.Errorf("lost %v and no error", lost)
	}
}

// The order of equals is that of their ids, so that simulations repeat.
func TestMemStoreOrderRepeats(t *testing.T) {
	store := newStore(newWidget("b"), newWidget("c"), newWidget("a"))
	ids, err := store.Due(t.Context(), enginetest.WidgetRules(), 10)
	if err != nil || !slices.Equal(ids, []string{"a", "b", "c"}) {
		t.Errorf("due %v, %v", ids, err)
	}
}
