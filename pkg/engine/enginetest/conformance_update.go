package enginetest

import (
	"maps"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// updateTests check Update and Verify under a claim that is held. For lost
// ones see fencingTests.
func updateTests(t *testing.T, open func(*testing.T) Harness) {
	for _, c := range []struct {
		name   string
		fields map[string]any
		want   func(w *Widget)
	}{
		{"Dotted", map[string]any{"spec.size": 7}, func(w *Widget) { w.Spec.Size = 7 }},
		{"Several", map[string]any{"spec.size": 7, "spec.colour": "green", "labels.team": "red"}, func(w *Widget) {
			w.Spec.Size, w.Spec.Colour, w.Labels["team"] = 7, "green", "red"
		}},
		{"NewKey", map[string]any{"labels.tier": "gold"}, func(w *Widget) { w.Labels["tier"] = "gold" }},
		{"List", map[string]any{"spec.parts": []string{"rim"}}, func(w *Widget) { w.Spec.Parts = []string{"rim"} }},
		// A document replaces the one before; it is not merged into it.
		{"Struct", map[string]any{"spec": WidgetSpec{Size: 1}}, func(w *Widget) { w.Spec = WidgetSpec{Size: 1} }},
		{"Map", map[string]any{"labels": map[string]string{"a": "b"}}, func(w *Widget) {
			w.Labels = map[string]string{"a": "b"}
		}},
		{"EmptyMap", map[string]any{"labels": map[string]string{}}, func(w *Widget) { w.Labels = nil }},
	} {
		test(t, open, c.name, func(b *bench) { updated(b, b.held("w"), c.fields, c.want) })
	}
	test(t, open, "Missing", updateMissing)
	test(t, open, "Time", updateTime)
	test(t, open, "UnderClaim", updateUnderClaim)
}

// updated sets fields of a held document and compares every field of it.
func updated(b *bench, doc *Widget, fields map[string]any, want func(w *Widget)) {
	b.Helper()
	given := maps.Clone(fields)
	b.check(b.store.Update(b.ctx, engine.RefOf(doc), fields))
	expected := clone(doc)
	want(expected)
	b.same(expected, b.get(doc.ID))
	if len(given) != len(fields) {
		b.Errorf("the caller's fields have changed to %v", fields)
	}
}

// Documents on the way to a dotted name are made where they are missing.
func updateMissing(b *bench) {
	doc := b.held("w", func(w *Widget) { w.Labels = nil })
	updated(b, doc, map[string]any{"labels.team": "red"}, func(w *Widget) {
		w.Labels = map[string]string{"team": "red"}
	})
}

// Times have milliseconds.
func updateTime(b *bench) {
	at := b.start.Add(123456 * time.Nanosecond)
	updated(b, b.held("w"), map[string]any{"spec.builtAt": at}, func(w *Widget) {
		w.Spec.BuiltAt = at.Truncate(time.Millisecond)
	})
}

// Hole: an update is a write of the claim, and does not end it. Nor does
// looking whether it is held.
func updateUnderClaim(b *bench) {
	doc := b.held("w")
	ref := engine.RefOf(doc)
	for size := range 3 {
		b.check(b.store.Verify(b.ctx, ref))
		b.check(b.store.Update(b.ctx, ref, map[string]any{"spec.size": size}))
	}
	b.ids("lost", b.apply(change(engine.Move), doc))
	if got := b.get("w"); got.Spec.Size != 2 || got.Phase != Ready {
		b.Errorf("size %d, phase %s", got.Spec.Size, got.Phase)
	}
}
