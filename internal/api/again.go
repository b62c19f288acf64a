package api

import (
	"errors"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// readAgain is how often a change that rests on what was read is begun anew
// when somebody else was quicker.
const readAgain = 5

// again makes a change that counts on what it reads, and makes it anew if
// somebody else has changed the document in between: unless the caller has
// said which version of the document they mean.
func again[T any](match MatchParams, change func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		out, err := change()
		var p *Problem
		outrun := errors.As(err, &p) && p.Code == CodePreconditionFailed && match.generation() == nil
		if !outrun {
			return out, err
		}
		if attempt == readAgain {
			return out, fail(CodeConflict, "others are changing the document all the time: try again")
		}
	}
}

// check refuses a change of a document that is not (any more) the one that the
// caller means.
func (m MatchParams) check(kind resource.Kind, doc *engine.Meta) error {
	if g := m.generation(); g != nil && *g != doc.Generation {
		return refused(kind, doc, mongostore.Intent{IfGeneration: g})
	}
	return nil
}
