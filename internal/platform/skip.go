package platform

import (
	"context"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// skipSteps is the [Around] that takes for done what an administrator has had
// skipped of a document's deletion. Nothing else can be skipped.
func skipSteps(ctx context.Context, _ resource.Kind, doc engine.Document, step string,
	run func(context.Context) (engine.Outcome, error),
) (engine.Outcome, error) {
	m := doc.Lifecycle()
	forced, can := doc.(interface{ Skips(step string) bool })
	if can && m.State == resource.Deleted && m.Phase == resource.PhaseDeleting && forced.Skips(step) {
		return engine.Done(), nil
	}
	return run(ctx)
}
