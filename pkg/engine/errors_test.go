package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Hole: an error leaves the lock to time out, unseen, for ever. Protection: it
// is counted and told on the document, and the lock is given up for a backoff
// that grows. Fails if an error only releases, or leaves, the lock.
func TestErrorsBackOff(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var tries journal
		w.run("r", things(does("work", func(_ context.Context, doc *thing) (engine.Outcome, error) {
			tries.note("try")
			if tries.count("try") > 14 {
				return engine.Done(), nil
			}
			return engine.Done(), errors.New("no such luck")
		})), func(o *engine.Options) { o.Interval = 100 * time.Millisecond })
		w.pass(time.Minute)

		m := w.get("a")
		if n := tries.count("try"); m.Attempts != n || n < 5 || n > 9 {
			t.Errorf("%d attempts after %d tries in a minute", m.Attempts, n)
		}
		if e := m.LastError; e == nil || e.Step != "work" || e.Message != "no such luck" || e.Terminal || e.At.IsZero() {
			t.Errorf("last error %+v", e)
		}
		if m.LockedBy != "" || m.Step != "work" {
			t.Errorf("the document says %+v", m.Meta)
		}
		w.pass(time.Hour)
		times := tries.times("try")
		for i := 1; i < len(times); i++ {
			most := engine.ErrorDelay(i, 0)
			if gap := times[i].Sub(times[i-1]); gap < most*3/4 || gap > most+110*time.Millisecond {
				t.Errorf("after error %d the next try came in %s, want %s less a quarter at most", i, gap, most)
			}
		}
		if m := w.get("a"); m.Phase != up || m.Attempts != 0 || m.LastError != nil {
			t.Errorf("after success the document says %+v", m.Meta)
		}
	})
}

// What failed together does not try again together. Fails without the jitter.
func TestErrorsSpread(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert(names(50)...)
		w.run("r", things(does("work", func(context.Context, *thing) (engine.Outcome, error) {
			return engine.Done(), errors.New("all at once")
		})))
		w.pass(time.Minute)
		times := map[time.Time]bool{}
		for _, id := range names(50) {
			times[w.get(id).LockedAt] = true
		}
		if len(times) < 25 {
			t.Errorf("50 documents try again at %d different times", len(times))
		}
	})
}

// A terminal error stops: neither ticks nor hints try again, until the intent
// changes. Fails if Terminal is not honoured.
func TestTerminalErrorStops(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		var tries journal
		r := w.run("r", things(does("work", func(context.Context, *thing) (engine.Outcome, error) {
			tries.note("try")
			return engine.Done(), engine.Terminal(errors.New("never"))
		})))
		w.pass(2 * tick)
		for range 100 {
			r.Hint("a")
			w.pass(time.Minute)
		}
		if n := tries.count("try"); n != 1 {
			t.Errorf("%d tries", n)
		}
		if m := w.get("a"); m.LastError == nil || !m.LastError.Terminal || !m.LockedAt.Equal(engine.Never) {
			t.Errorf("the document says %+v", m.Meta)
		}
		w.wants("a", off)
		w.pass(2 * tick)
		if m := w.get("a"); m.Phase != down || m.LastError != nil || m.Attempts != 0 {
			t.Errorf("after the change of intent the document says %+v", m.Meta)
		}
		w.wants("a", on)
		w.pass(2 * tick)
		if n := tries.count("try"); n != 2 {
			t.Errorf("%d tries after a second change of intent", n)
		}
	})
}

// A panic in a step is that step's error, and nobody else's. Fails without the
// recover: the whole test does.
func TestPanicIsAnError(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a", "b")
		r := w.run("r", things(does("work", func(_ context.Context, doc *thing) (engine.Outcome, error) {
			if doc.ID == "a" {
				panic("oh no")
			}
			return engine.Done(), nil
		})))
		w.pass(2 * tick)
		if e := w.get("a").LastError; e == nil || e.Message != "step panicked: oh no" || e.Terminal {
			t.Errorf("last error %+v", e)
		}
		w.inPhase("b", up)
		if r.seen.count("work error") == 0 {
			t.Error("the error was not observed")
		}
	})
}

// A step that takes too long is cancelled, and the error says so.
func TestStepTimeout(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		w.run("r", things(within(7*time.Second, does("work", func(ctx context.Context, _ *thing) (engine.Outcome, error) {
			<-ctx.Done()
			return engine.Done(), ctx.Err()
		}))))
		w.pass(8 * time.Second)
		if e := w.get("a").LastError; e == nil || !strings.HasPrefix(e.Message, "step timed out after 7s") {
			t.Errorf("last error %+v", e)
		}
	})
}

// A step that ignores both its timeout and its context does not keep its
// document for ever: its lock is not renewed past the timeout, and others go
// on. Its late result changes nothing. Fails if renewals outlast the timeout.
func TestHangingStepLosesItsLock(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		release := make(chan struct{})
		r := w.run("hanging", things(within(time.Minute, does("work", func(context.Context, *thing) (engine.Outcome, error) {
			<-release
			return engine.Wait("nothing"), nil
		}))))
		w.pass(2 * tick)
		w.run("other", things())
		w.pass(time.Minute + lockTimeout)
		w.inPhase("a", up)
		close(release)
		w.pass(tick)
		if m := w.get("a"); m.WaitingFor != "" || r.seen.count("work lost") != 1 {
			t.Errorf("the document says %+v", m.Meta)
		}
	})
}

// A long message is cut on the document, between characters.
func TestLongMessageIsCut(t *testing.T) {
	inWorld(t, func(w *world) {
		w.insert("a")
		w.run("r", things(does("work", func(context.Context, *thing) (engine.Outcome, error) {
			return engine.Done(), errors.New("x" + strings.Repeat("ü", 5000))
		})))
		w.pass(2 * tick)
		if s := w.get("a").LastError.Message; len(s) > 1100 || !utf8.ValidString(s) || !strings.HasSuffix(s, "ü…") {
			t.Errorf("a message of %d bytes, ending in %q", len(s), s[len(s)-8:])
		}
	})
}

// A document that nothing handles says so, and goes on once its state does.
func TestUnhandledPairFailsForGood(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add(&thing{Meta: engine.Meta{ID: "a", State: "Onn", Phase: fresh}})
		w.run("r", things())
		w.pass(2 * tick)
		if e := w.get("a").LastError; e == nil || !e.Terminal || !strings.Contains(e.Message, `state "Onn" in phase "Fresh"`) {
			t.Errorf("last error %+v", e)
		}
		w.wants("a", on)
		w.pass(2 * tick)
		w.inPhase("a", up)
	})
}
