package engine_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

var errCut = errors.New("the store cannot be reached")

// lateStore delays changes of one kind, and renewals, on their way: the caller
// gives up, and long after that the write arrives and is made.
type lateStore struct {
	engine.Store[*thing]
	kind    engine.ChangeKind
	by      time.Duration
	flights sync.WaitGroup
}

func (s *lateStore) Apply(ctx context.Context, ch engine.Change, claims []engine.Ref) ([]string, error) {
	if ch.Kind != s.kind && ch.Kind != engine.Renew {
		return s.Store.Apply(ctx, ch, claims)
	}
	s.flights.Go(func() {
		time.Sleep(s.by)
		_, _ = s.Store.Apply(context.WithoutCancel(ctx), ch, claims)
	})
	<-ctx.Done()
	return nil, ctx.Err()
}

// Hole: a holder that outlives its lock writes over its successor.
// Protection: the fencing token. Whatever write a zombie sent before it was
// replaced, and however late it arrives, it changes nothing. Fails without the
// token (and the batch, which stands for it) in the store's filter.
func TestZombieCannotWrite(t *testing.T) {
	for kind, zombie := range map[engine.ChangeKind]func() (engine.Outcome, error){
		engine.Move:       func() (engine.Outcome, error) { return engine.Done(), nil },
		engine.Checkpoint: func() (engine.Outcome, error) { return engine.Done(), nil },
		engine.Relock:     func() (engine.Outcome, error) { return engine.Wait("nothing"), nil },
		engine.Fail:       func() (engine.Outcome, error) { return engine.Done(), errors.New("of the zombie") },
	} {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.insert("a")
				run := func(context.Context, *thing) (engine.Outcome, error) { return zombie() }
				old := things(does("work", run))
				if kind == engine.Checkpoint {
					old = things(does("work", run), takes("more", 0))
				}
				late := &lateStore{Store: w.store, kind: kind, by: lockTimeout + 10*tick}
				defer late.flights.Wait()
				// It claims once, by a hint, and not again where its claim is given back.
				w.runOn(late, "old", old, func(o *engine.Options) { o.Interval = 1000 * lockTimeout }).Hint("a")
				w.pass(2 * tick)
				w.run("new", things(takes("work", 3*lockTimeout), takes("more", 0)),
					func(o *engine.Options) { o.Interval = tick / 10 })
				w.pass(lockTimeout)

				held := w.get("a")
				if held.LockedBy != "new" {
					t.Fatalf("held by %q, want the successor", held.LockedBy)
				}
				w.pass(2 * lockTimeout) // the zombie's writes arrive
				now := w.get("a")
				if now.LockedAt = held.LockedAt; !reflect.DeepEqual(now, held) {
					t.Errorf("the zombie changed the document:\n%+v\n%+v", now.Meta, held.Meta)
				}
				w.pass(2 * lockTimeout)
				w.inPhase("a", up)
				for _, h := range w.get("a").History {
					if h.By != "new" {
						t.Errorf("an entry of the zombie: %+v", h)
					}
				}
			})
		})
	}
}

// Hole: the same zombie goes on working. Protection: the token in Update and
// Verify, by which a step that ignores its context learns that it is a zombie.
// Fails without the token in the filter.
func TestZombieStepIsTold(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var line cable
		told := make(chan [2]error, 1)
		old := things(within(3*lockTimeout, does("work", func(ctx context.Context, _ *thing) (engine.Outcome, error) {
			line.cut()
			time.Sleep(2 * lockTimeout) // a step that does not look at its context
			line.mend()
			c := engine.ClaimOf(ctx)
			ctx = context.WithoutCancel(ctx)
			told <- [2]error{c.Update(ctx, map[string]any{"note": "late"}), c.Verify(ctx)}
			return engine.Done(), nil
		})))
		r := w.runOn(line.to(w.store), "old", old)
		w.pass(2 * tick)
		w.run("new", things(does("work", func(ctx context.Context, _ *thing) (engine.Outcome, error) {
			return engine.Done(), engine.ClaimOf(ctx).Update(ctx, map[string]any{"note": "new"})
		})))
		for _, err := range <-told {
			if !errors.Is(err, engine.ErrLockLost) {
				t.Errorf("the zombie was told %v, want ErrLockLost", err)
			}
		}
		w.pass(tick)
		if doc := w.get("a"); doc.Note != "new" || doc.Phase != up {
			t.Errorf("the document is %+v", doc)
		}
		if n := r.seen.count("work lost"); n != 1 {
			t.Errorf("the loss was observed %d times", n)
		}
	})
}

// The holder's own later claim is another claim: a step cannot write by one
// that has ended.
func TestClaimEndsWithItsWork(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var first *engine.Claim
		w.run("r", things(does("work", func(ctx context.Context, _ *thing) (engine.Outcome, error) {
			if first == nil {
				first = engine.ClaimOf(ctx)
				return engine.Wait("a second look"), nil
			}
			if err := first.Update(ctx, map[string]any{"note": "x"}); !errors.Is(err, engine.ErrLockLost) {
				t.Errorf("the former claim's update: %v", err)
			}
			return engine.Done(), engine.ClaimOf(ctx).Verify(ctx)
		})))
		w.pass(3 * tick)
		w.inPhase("a", up)
	})
}
