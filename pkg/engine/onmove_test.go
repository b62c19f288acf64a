package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

// OnMove tells every change of phase and the end, once, with the document as
// it was claimed.
func TestOnMove(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		def := things(takes("start", 0))
		r := engine.NewService(def, w.store, engine.Options{Holder: "r"})
		var told journal
		r.OnMove(func(doc *thing, to engine.Phase) { told.note(string(doc.Phase) + " to " + string(to)) })
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		for _, state := range []engine.State{on, off, on, gone} {
			w.wants("a", state)
			w.pass(3 * tick)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		var got []string
		for _, e := range told.all() {
			got = append(got, e.what)
		}
		want := []string{"Fresh to Up", "Up to Down", "Down to Up", "Up to Leaving", "Leaving to Purged"}
		if !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

// Nobody is told of a move that was refused, or of which it is not known
// whether it was made.
func TestOnMoveOnlyOfMoves(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var line cable
		lostOne := false
		line.onAfter(func(_ context.Context, op enginetest.Op) error {
			if op.Change == engine.Move && !lostOne {
				lostOne = true
				return errCut
			}
			return nil
		})
		r := w.runOn(line.to(w.store), "r", things())
		var told journal
		r.OnMove(func(*thing, engine.Phase) { told.note("moved") })
		w.pass(10 * time.Second)
		w.inPhase("a", up)
		if n := told.count("moved"); n != 0 || r.seen.count("lost: settle") != 1 {
			t.Errorf("told %d times of a move whose answer was lost", n)
		}
	})
}
