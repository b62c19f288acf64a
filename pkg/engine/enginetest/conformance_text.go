package enginetest

import (
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// textTests check that text is data. In a pipeline update a string that begins
// with a dollar sign is an expression, unless the store says otherwise; and
// what a step waits for, or an error says, may begin with anything.
func textTests(t *testing.T, open func(*testing.T) Harness) {
	test(t, open, "Claim", func(b *bench) {
		b.insert(b.widget("$w"))
		if got := b.claim("$state", "$w")[0]; got.LockedBy != "$state" {
			b.Errorf("locked by %q", got.LockedBy)
		}
	})
	test(t, open, "Move", func(b *bench) {
		b.insert(b.widget("w", func(w *Widget) { w.Phase = "$from" }))
		b.rules.Unsettled = []engine.Match{{Phase: "$from"}}
		c := change(engine.Move)
		c.From, c.To = "$from", "$to"
		b.ids("lost", b.apply(c, b.claim("$lockedBy", "w")[0]))
		got := b.get("w")
		entry := got.History[len(got.History)-1]
		if got.Phase != c.To || entry.From != c.From || entry.To != c.To || entry.By != "$lockedBy" {
			b.Errorf("phase %q, history %+v", got.Phase, entry)
		}
	})
	test(t, open, "Relock", func(b *bench) {
		c := change(engine.Relock)
		c.Step, c.Reason = "$step", "$5 more"
		b.ids("lost", b.apply(c, b.held("w")))
		if got := b.get("w"); got.Step != c.Step || got.WaitingFor != c.Reason {
			b.Errorf("step %q, waiting for %q", got.Step, got.WaitingFor)
		}
	})
	test(t, open, "Fail", func(b *bench) {
		c := change(engine.Fail)
		c.Step, c.Message = "$step", "$$NOW or never: 'a' \"b\" \\ \x01 é 世\n"
		b.ids("lost", b.apply(c, b.held("w")))
		if got := b.get("w"); got.Step != c.Step || got.LastError.Step != c.Step || got.LastError.Message != c.Message {
			b.Errorf("step %q, error %+v", got.Step, got.LastError)
		}
	})
	test(t, open, "Checkpoint", func(b *bench) {
		c := change(engine.Checkpoint)
		c.Step, c.Next = "$step", "$$ROOT"
		b.ids("lost", b.apply(c, b.held("w")))
		got := b.get("w")
		if entry := got.History[len(got.History)-1]; got.Step != c.Next || entry.Step != c.Step {
			b.Errorf("step %q, history %+v", got.Step, entry)
		}
	})
	test(t, open, "OneShot", func(b *bench) {
		doc := b.held("w", func(w *Widget) { pair(w, "$state", Pending) })
		completed(b, doc, engine.OneShot{From: "$state", To: "$to"}, "$to")
	})
	test(t, open, "Update", func(b *bench) {
		at := time.Time{}
		fields := map[string]any{
			"spec.colour": "$phase",
			"spec.parts":  []string{"$phase", "$$NOW"},
			"labels":      map[string]string{"team": "$$REMOVE"},
		}
		updated(b, b.held("w", func(w *Widget) { w.Spec.BuiltAt = at }), fields, func(w *Widget) {
			w.Spec.Colour, w.Spec.Parts = "$phase", []string{"$phase", "$$NOW"}
			w.Labels = map[string]string{"team": "$$REMOVE"}
		})
	})
}
