package platform

import (
	"context"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// service is the task service of one kind, whatever its documents' type.
type service struct {
	kind     resource.Kind
	rules    engine.Rules
	validate func() error
	run      func(ctx context.Context) error
	hint     func(ids ...string)
	explain  func(m *engine.Meta, now time.Time) engine.Explanation
	diagram  func() string
}

// newService makes the task service of a kind. moved is told of each change of
// phase.
func newService[D engine.Document](def *engine.Definition[D], store engine.Store[D], opts Options, moved func(doc D, to engine.Phase)) service {
	def = around(around(def, opts.Around), skipSteps) // what is skipped is not even tried
	def.LockTimeout = opts.LockTimeout
	store = aroundStore(resource.Kind(def.Kind), store, opts.AroundStore)
	store = &pausable[D]{Store: store, paused: opts.paused(resource.Kind(def.Kind))}
	s := engine.NewService(def, store, opts.Engine)
	s.OnMove(moved)
	return service{
		kind: resource.Kind(def.Kind), rules: def.Rules(), validate: def.Validate,
		run: s.Run, hint: s.Hint, explain: def.Explain, diagram: def.Diagram,
	}
}
