package enginetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// This file says in Go what the documentation of engine.Rules,
// engine.ClaimRequest and engine.ChangeKind says in words, as pure functions of
// a document's fields and the database's time.

// claimable reports whether a tick can claim the document.
func claimable(m *engine.Meta, rules engine.Rules, now time.Time) bool {
	expired := m.LockedAt.Before(now.Add(-rules.LockTimeout))
	switch {
	case matches(rules.Unsettled, m):
		return expired || m.LockedBy == "" && m.IntentChanged()
	case matches(rules.Resync, m):
		// A missing resyncAt is the zero time: long past.
		changed := m.LockedBy == "" && m.IntentChanged() && m.ResyncAt.IsZero()
		return expired && m.ResyncAt.Before(now) || changed
	default:
		return false
	}
}

// claimableBy reports whether the request can claim the document: as a tick
// can, and if it follows a hint, earlier.
func claimableBy(m *engine.Meta, req engine.ClaimRequest, now time.Time) bool {
	if claimable(m, req.Rules, now) {
		return true
	}
	known := matches(req.Rules.Unsettled, m) || matches(req.Rules.Resync, m)
	return req.Hinted && known && m.LockedBy == "" && (m.Attempts == 0 || m.IntentChanged())
}

func matches(list []engine.Match, m *engine.Meta) bool {
	return slices.ContainsFunc(list, func(match engine.Match) bool { return match.Matches(m.State, m.Phase) })
}

// claim gives the document to the request's holder.
func claim(m *engine.Meta, req engine.ClaimRequest, now time.Time) {
	m.LockedAt, m.LockedBy, m.LockBatch = now, req.Holder, req.Batch
	m.LockToken++
	m.ResyncAt = time.Time{}
	if m.PhaseAt.IsZero() {
		m.PhaseAt = now
	}
	if m.CreatedAt.IsZero() {
		m.CreatedAt = now
	}
	if m.IntentChanged() {
		clearErrors(m)
		clearWait(m)
		m.ObservedState, m.ObservedGeneration = m.State, m.Generation
	}
}

// apply makes one change, of any kind but Purge, to a claimed document.
func apply(m *engine.Meta, c engine.Change, now time.Time) error {
	if c.Kind.Ends() {
		m.LockedBy = ""
	}
	if c.Kind != engine.Release && c.Kind != engine.Renew {
		m.UpdatedAt = now
	}
	switch c.Kind {
	case engine.Move:
		record := engine.HistoryEntry{From: c.From, To: c.To, By: c.Holder, At: now, Took: millis(m.PhaseAt, now)}
		m.History = remember(m.History, record)
		m.Phase, m.PhaseAt = c.To, now
		if m.State == c.OneShot.From && !m.IntentChanged() {
			m.State, m.ObservedState = c.OneShot.To, c.OneShot.To
		}
		rest(m, c.Resync, now)
	case engine.Relock:
		if m.Step != c.Step || m.WaitingSince.IsZero() {
			m.WaitingSince = now
		}
		setStep(m, c.Step, now)
		clearErrors(m)
		m.WaitingFor = c.Reason
		m.LockedAt = now.Add(engine.RelockDelay(now.Sub(m.WaitingSince), c.LockTimeout) - c.LockTimeout)
	case engine.Fail:
		setStep(m, c.Step, now)
		clearWait(m)
		m.Attempts++
		m.LastError = &engine.LastError{Step: c.Step, Message: c.Message, At: now, Terminal: c.Terminal}
		m.LockedAt = now.Add(c.Delay - c.LockTimeout)
		if c.Terminal {
			m.LockedAt = engine.Never
		}
	case engine.Rest:
		rest(m, c.Resync, now)
	case engine.Release:
		m.LockedAt = engine.Epoch
	case engine.Checkpoint:
		began := m.StepAt
		if began.IsZero() {
			began = m.PhaseAt
		}
		record := engine.HistoryEntry{From: c.From, To: c.From, Step: c.Step, By: c.Holder, At: now, Took: millis(began, now)}
		m.History = remember(m.History, record)
		m.Step, m.StepAt = c.Next, now
		clearWait(m)
		m.LockedAt = now
	case engine.Renew:
		m.LockedAt = now
	default:
		return fmt.Errorf("unknown kind of change %q", c.Kind)
	}
	return nil
}

// rest is what Move and Rest have in common: nothing is being done any more.
func rest(m *engine.Meta, resync time.Duration, now time.Time) {
	m.Step, m.StepAt = "", time.Time{}
	clearWait(m)
	clearErrors(m)
	m.LockedAt = engine.Epoch
	m.ResyncAt = time.Time{}
	if resync > 0 {
		m.ResyncAt = now.Add(resync)
	}
}

// setStep keeps stepAt while the step is the same.
func setStep(m *engine.Meta, step string, now time.Time) {
	if m.Step != step || m.StepAt.IsZero() {
		m.StepAt = now
	}
	m.Step = step
}

func clearWait(m *engine.Meta) { m.WaitingFor, m.WaitingSince = "", time.Time{} }

func clearErrors(m *engine.Meta) { m.Attempts, m.LastError = 0, nil }

// remember adds an entry to a copy of the history and drops the oldest.
func remember(history []engine.HistoryEntry, entry engine.HistoryEntry) []engine.HistoryEntry {
	history = append(slices.Clip(history), entry)
	return history[max(0, len(history)-engine.HistoryLimit):]
}

func millis(from, to time.Time) int64 {
	if from.IsZero() {
		return 0
	}
	return to.Sub(from).Milliseconds()
}
