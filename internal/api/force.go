package api

import (
	"context"
	"slices"
	"strings"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

type forceInput struct {
	DocumentParams
	RepeatParams
	Body force
}

type force struct {
	Step   string `json:"step" minLength:"1" maxLength:"60" doc:"The step to skip, as explain names it."`
	Reason string `json:"reason" minLength:"3" maxLength:"500" doc:"Why; it is noted on the document."`
}

// forceDelete has a step of a deletion skipped. The steps are named one by
// one: whoever skips says what is left behind.
func (a *api) forceDelete(ctx context.Context, in *forceInput) (*documentOutput[*Document], error) {
	t, err := a.target(ctx, in.DocumentParams)
	if err != nil {
		return nil, err
	}
	if err := a.driven(t); err != nil {
		return nil, err
	}
	_, explanation, err := a.document(ctx, &in.DocumentParams)
	if err != nil {
		return nil, err
	}
	if t.before.State != resource.Deleted || t.before.Phase != resource.PhaseDeleting {
		return nil, fail(CodeConflict, "%s %s is not being deleted (state %s, phase %s): delete it, and skip a step only if that does not end",
			t.kind, t.id, t.before.State, t.before.Phase)
	}
	if paused(&t.before.Meta) {
		return nil, fail(CodeConflict, "%s %s is %s: resume it first", t.kind, t.id, t.before.LockedBy)
	}
	if !slices.Contains(explanation.Steps, in.Body.Step) {
		return nil, invalid("body.step", in.Body.Step, "the deletion of %s has no such step: use one of %s", t.kind, strings.Join(explanation.Steps, ", "))
	}
	if t.before.Skips(in.Body.Step) {
		return a.acted(ctx, t, &t.before.Header)
	}
	skip := mongostore.Intent{
		Fields:       map[string]any{resource.SkippedField: append(slices.Clone(t.before.SkippedSteps), in.Body.Step)},
		IfGeneration: &t.before.Generation,
	}
	skip.Append = note(ctx, skip, "skip step "+in.Body.Step+": "+in.Body.Reason)
	h, err := t.store.SetIntent(ctx, t.id, skip)
	if err != nil {
		return nil, err
	}
	return a.acted(ctx, t, h)
}
