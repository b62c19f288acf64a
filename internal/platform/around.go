package platform

import (
	"context"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Around runs around each step, of each kind: for traces, and for tests that
// stop or hold a replica at a step. It calls run, which is the step, and
// returns what it makes of the answer.
type Around func(ctx context.Context, kind resource.Kind, doc engine.Document, step string,
	run func(context.Context) (engine.Outcome, error)) (engine.Outcome, error)

// around puts f around each of a definition's steps.
func around[D engine.Document](def *engine.Definition[D], f Around) *engine.Definition[D] {
	if f == nil {
		return def
	}
	wrap := func(steps []engine.Step[D]) []engine.Step[D] {
		wrapped := make([]engine.Step[D], len(steps))
		for i, step := range steps {
			wrapped[i] = step
			wrapped[i].Run = func(ctx context.Context, doc D) (engine.Outcome, error) {
				return f(ctx, resource.Kind(def.Kind), doc, step.Name, func(ctx context.Context) (engine.Outcome, error) {
					return step.Run(ctx, doc)
				})
			}
		}
		return wrapped
	}
	for i := range def.Transitions {
		def.Transitions[i].Steps = wrap(def.Transitions[i].Steps)
	}
	for i := range def.Settled {
		def.Settled[i].Steps = wrap(def.Settled[i].Steps)
	}
	return def
}
