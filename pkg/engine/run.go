package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// maxMessage bounds an error's message on the document, in bytes.
const maxMessage = 1 << 10

// work carries a claimed document as far as it goes, and returns the change
// that ends the claim. It returns false if the lock was lost: then nothing
// more may be written.
func (s *Service[D]) work(c *claim[D]) (Change, bool) {
	m := c.doc.Lifecycle()
	if m.Unreadable != "" {
		s.log.Warn("document cannot be read", slog.String("id", m.ID), slog.String("error", m.Unreadable))
		return s.failure(m, "read", errors.New(m.Unreadable)), true
	}
	ctx := WithClaim(c.ctx, &Claim{
		Ref:    c.ref,
		update: func(ctx context.Context, f map[string]any) error { return s.store.Update(ctx, c.ref, f) },
		verify: func(ctx context.Context) error { return s.store.Verify(ctx, c.ref) },
	})
	if t, ok := s.def.transition(m.State, m.Phase); ok {
		return s.transit(ctx, c, t)
	}
	if rest, ok := s.def.settled(m.State, m.Phase); ok {
		return s.resync(ctx, c, rest)
	}
	err := Terminal(fmt.Errorf("state %q in phase %q: no transition and not settled", m.State, m.Phase))
	return s.failure(m, "", err), true
}

// transit runs a transition's steps up to the first that is not done.
func (s *Service[D]) transit(ctx context.Context, c *claim[D], t *Transition[D]) (Change, bool) {
	m := c.doc.Lifecycle()
	if overdue(m, t.Within, m.LockedAt) {
		s.obs.Overdue(s.def.Kind, m.Phase)
	}
	recorded := slices.IndexFunc(t.Steps, func(step Step[D]) bool { return step.Name == m.Step })
	for i := range t.Steps {
		step := &t.Steps[i]
		end, ended, ok := s.step(ctx, c, step)
		if !ok || ended {
			return end, ok
		}
		if last := i == len(t.Steps)-1; i >= recorded && !last {
			if err := s.checkpoint(c, step.Name, t.Steps[i+1].Name); err != nil {
				return s.change(m, Change{Kind: Release}), !errors.Is(err, ErrLockLost)
			}
		}
	}
	if t.To == Purged {
		return s.change(m, Change{Kind: Purge}), true
	}
	move := Change{Kind: Move, To: t.To}
	state := m.State
	if t.Completes != nil && t.Completes.From == state {
		move.OneShot, state = *t.Completes, t.Completes.To
	}
	if rest, ok := s.def.settled(state, t.To); ok {
		move.Resync = rest.Resync
	}
	return s.change(m, move), true
}

// resync runs the steps of a settled pair, which put right what has drifted.
func (s *Service[D]) resync(ctx context.Context, c *claim[D], rest *Settled[D]) (Change, bool) {
	for i := range rest.Steps {
		end, ended, ok := s.step(ctx, c, &rest.Steps[i])
		if !ok || ended {
			// It was as wanted before: what is refused now may be taken again
			// without anybody changing their mind, as when a policy was wrong.
			end.Terminal = false
			return end, ok
		}
	}
	return s.change(c.doc.Lifecycle(), Change{Kind: Rest, Resync: rest.Resync}), true
}

// step runs one step. ended is true if the claim ends here, by the change
// returned; ok is false if the lock was lost.
func (s *Service[D]) step(ctx context.Context, c *claim[D], step *Step[D]) (end Change, ended, ok bool) {
	m := c.doc.Lifecycle()
	began := s.now()
	outcome, err := s.call(ctx, c, step)
	took := s.now().Sub(began)
	if c.lost() || errors.Is(err, ErrLockLost) {
		s.obs.StepRan(s.def.Kind, step.Name, "lost", took)
		s.lockLost(c, "step "+step.Name)
		return Change{}, true, false
	}
	if err != nil && ctx.Err() != nil {
		return s.change(m, Change{Kind: Release}), true, true
	}
	if err != nil {
		result := "error"
		if IsTerminal(err) {
			result = "terminal"
		}
		s.obs.StepRan(s.def.Kind, step.Name, result, took)
		s.log.Warn("step failed", slog.String("id", m.ID), slog.String("phase", string(m.Phase)),
			slog.String("step", step.Name), slog.Int("attempt", m.Attempts+1), slog.Any("error", err))
		return s.failure(m, step.Name, err), true, true
	}
	if reason, waiting := outcome.Waiting(); waiting {
		s.obs.StepRan(s.def.Kind, step.Name, "wait", took)
		return s.change(m, Change{Kind: Relock, Step: step.Name, Reason: clip(reason)}), true, true
	}
	s.obs.StepRan(s.def.Kind, step.Name, "done", took)
	if m.Step == step.Name && !m.WaitingSince.IsZero() {
		s.obs.Waited(s.def.Kind, step.Name, m.LockedAt.Sub(m.WaitingSince))
	}
	return Change{}, false, true
}

// call runs the step's function under its timeout, keeps the lock renewed
// meanwhile, and turns a panic into an error.
func (s *Service[D]) call(ctx context.Context, c *claim[D], step *Step[D]) (outcome Outcome, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, step.timeout(), fmt.Errorf("step timed out after %s", step.timeout()))
	defer cancel()
	defer s.keepRenewed(ctx, c)()
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("step panicked", slog.String("id", c.ref.ID), slog.String("step", step.Name),
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = fmt.Errorf("step panicked: %v", p)
		}
	}()
	outcome, err = step.Run(ctx, c.doc)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && c.ctx.Err() == nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return outcome, err
}

// keepRenewed renews the lock each third of its timeout until the returned
// function is called. The first renewal is due by the age of the lock, not of
// the step: many short steps are long work too.
func (s *Service[D]) keepRenewed(ctx context.Context, c *claim[D]) (stop func()) {
	renewals, cancel := context.WithCancel(ctx)
	every := s.rules.LockTimeout / 3
	renew := s.change(c.doc.Lifecycle(), Change{Kind: Renew})
	done := make(chan struct{})
	age := s.window - c.left(s.now)
	timer := time.AfterFunc(max(0, every-age), func() {
		defer close(done)
		// An error other than a lost lock is no reason to stop: the trust
		// window closes by itself if renewals keep failing.
		for !errors.Is(s.hold(c, renew), ErrLockLost) {
			select {
			case <-renewals.Done():
				return
			case <-time.After(every):
			}
		}
	})
	return func() {
		cancel()
		if !timer.Stop() {
			<-done
		}
	}
}

// checkpoint records a finished step and goes on to the next.
func (s *Service[D]) checkpoint(c *claim[D], step, next string) error {
	m := c.doc.Lifecycle()
	if err := s.hold(c, s.change(m, Change{Kind: Checkpoint, Step: step, Next: next})); err != nil {
		return err
	}
	m.Step, m.WaitingFor, m.WaitingSince = next, "", time.Time{}
	return nil
}

// hold makes a change that keeps the claim, and with it moves the trust window.
func (s *Service[D]) hold(c *claim[D], ch Change) error {
	answer := make(chan error, 1)
	s.applier.submit(ch, write{ref: c.ref, done: func(sent time.Time, err error) {
		if err == nil {
			c.extend(s.now, sent, s.window)
		}
		answer <- err
	}})
	select {
	case err := <-answer:
		if errors.Is(err, ErrLockLost) {
			s.lockLost(c, string(ch.Kind))
		}
		return err
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// change completes a change with what all changes carry.
func (s *Service[D]) change(m *Meta, ch Change) Change {
	ch.Holder, ch.LockTimeout, ch.From = s.opts.Holder, s.rules.LockTimeout, m.Phase
	return ch
}

// failure is the change that ends a claim in an error.
func (s *Service[D]) failure(m *Meta, step string, err error) Change {
	return s.change(m, Change{
		Kind: Fail, Step: step, Message: clip(err.Error()), Terminal: IsTerminal(err),
		Delay: ErrorDelay(m.Attempts+1, rand.Float64()), //nolint:gosec // spreads retries, guards nothing
	})
}

func clip(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}

// overdue reports whether a document has been in its phase for longer than
// allowed, at the given time of the database.
func overdue(m *Meta, within time.Duration, now time.Time) bool {
	return within > 0 && !m.PhaseAt.IsZero() && now.Sub(m.PhaseAt) > within
}
