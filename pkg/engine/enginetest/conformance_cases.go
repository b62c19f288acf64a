package enginetest

import (
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// claimableCase is a document, and who can claim it: a tick, or also whoever
// follows a hint.
type claimableCase struct {
	name       string
	tick, hint bool
	edit       func(b *bench, w *Widget)
}

// The edits of a widget that the cases are made of.
func pair(w *Widget, state engine.State, phase engine.Phase) {
	w.State, w.ObservedState, w.Phase = state, state, phase
}

func lock(w *Widget, at time.Time) { w.LockedAt, w.LockedBy = at, bob }

func wait(b *bench, w *Widget) {
	w.WaitingFor, w.WaitingSince = "water", b.ago(3*time.Minute)
	w.LockedAt = b.ago(5 * time.Second)
}

func backOff(b *bench, w *Widget) {
	w.Attempts = 12
	w.LastError = &engine.LastError{Step: "brew", Message: "no water", At: b.ago(time.Second)}
	w.LockedAt = b.start.Add(4 * time.Minute)
}

func giveUp(b *bench, w *Widget) {
	backOff(b, w)
	w.LastError.Terminal = true
	w.LockedAt = engine.Never
}

var unsettledCases = []claimableCase{
	{"new", true, true, func(_ *bench, w *Widget) {
		w.Meta = engine.Meta{ID: w.ID, State: Running, Phase: Pending, LockedAt: engine.Epoch}
	}},
	{"unlocked", true, true, func(*bench, *Widget) {}},
	{"in a phase that matches in whatever state", true, true, func(_ *bench, w *Widget) {
		pair(w, "Nonsense", Pending)
	}},
	{"in a state that matches in whatever phase", true, true, func(_ *bench, w *Widget) {
		pair(w, Deleted, "Nowhere")
	}},
	{"in a pair that matches", true, true, func(_ *bench, w *Widget) { pair(w, Stopped, Ready) }},
	// Hole: a holder that died must not keep its document.
	{"under an expired lock", true, true, func(b *bench, w *Widget) { lock(w, b.ago(31*time.Second)) }},
	// Hole: nobody else may work at what is held.
	{"under a live lock", false, false, func(b *bench, w *Widget) { lock(w, b.ago(5*time.Second)) }},
	// Hole: a change of intent, as any set-based write, respects the lock.
	{"under a live lock, intent changed", false, false, func(b *bench, w *Widget) {
		lock(w, b.ago(5*time.Second))
		w.Generation++
	}},
	// Hole: what waits must not be taken at every tick and starve the rest.
	{"waiting", false, true, wait},
	{"waiting, its time come", true, true, func(b *bench, w *Widget) {
		wait(b, w)
		w.LockedAt = b.ago(31 * time.Second)
	}},
	{"waiting, state changed", true, true, func(b *bench, w *Widget) {
		wait(b, w)
		w.State = Deleted
	}},
	{"waiting, settings changed", true, true, func(b *bench, w *Widget) {
		wait(b, w)
		w.Generation++
	}},
	{"waiting, never claimed before", true, true, func(b *bench, w *Widget) {
		wait(b, w)
		w.ObservedState, w.ObservedGeneration = "", 0
	}},
	// Hole: an error backs off. The lock of a long backoff lies in the future.
	{"backing off", false, false, backOff},
	{"backing off, its time come", true, true, func(b *bench, w *Widget) {
		backOff(b, w)
		w.LockedAt = b.ago(31 * time.Second)
	}},
	{"backing off, settings changed", true, true, func(b *bench, w *Widget) {
		backOff(b, w)
		w.Generation++
	}},
	// Hole: a terminal error is not retried, and not for ever either.
	{"given up", false, false, giveUp},
	{"given up, state changed", true, true, func(b *bench, w *Widget) {
		giveUp(b, w)
		w.State = Deleted
	}},
	{"given up, settings changed", true, true, func(b *bench, w *Widget) {
		giveUp(b, w)
		w.Generation++
	}},
}

var settledCases = []claimableCase{
	// Hole: idle cost is flat, because what is settled is not looked at.
	{"settled for good", false, false, func(_ *bench, w *Widget) { pair(w, Stopped, Idle) }},
	{"settled for good, resyncAt past", false, false, func(b *bench, w *Widget) {
		pair(w, Stopped, Idle)
		w.ResyncAt = b.ago(time.Minute)
	}},
	{"settled for good, settings changed", false, false, func(_ *bench, w *Widget) {
		pair(w, Stopped, Idle)
		w.Generation++
	}},
	{"in an unknown pair", false, false, func(_ *bench, w *Widget) { pair(w, "Nonsense", Ready) }},
	{"resync past", true, true, func(b *bench, w *Widget) {
		pair(w, Running, Ready)
		w.ResyncAt = b.ago(time.Minute)
	}},
	{"resync missing", true, true, func(_ *bench, w *Widget) { pair(w, Running, Ready) }},
	{"resync to come", false, true, func(b *bench, w *Widget) {
		pair(w, Running, Ready)
		w.ResyncAt = b.start.Add(time.Hour)
	}},
	{"resync past, under a live lock", false, false, func(b *bench, w *Widget) {
		pair(w, Running, Ready)
		w.ResyncAt = b.ago(time.Minute)
		lock(w, b.ago(5*time.Second))
	}},
	{"resync past, under an expired lock", true, true, func(b *bench, w *Widget) {
		pair(w, Running, Ready)
		w.ResyncAt = b.ago(time.Minute)
		lock(w, b.ago(31*time.Second))
	}},
	{"resync past, waiting", false, true, func(b *bench, w *Widget) {
		wait(b, w)
		pair(w, Running, Ready)
		w.ResyncAt = b.ago(time.Minute)
	}},
	{"resync past, backing off", false, false, func(b *bench, w *Widget) {
		backOff(b, w)
		pair(w, Running, Ready)
		w.ResyncAt = b.ago(time.Minute)
	}},
	// Hole: a terminal error outlives its intent, where the next one rests.
	{"resync given up", false, false, func(b *bench, w *Widget) {
		giveUp(b, w)
		pair(w, Running, Ready)
	}},
	{"resync given up, state changed", true, true, func(b *bench, w *Widget) {
		giveUp(b, w)
		pair(w, Running, Ready)
		w.ObservedState = Restarting
	}},
	{"resync given up, settings changed", true, true, func(b *bench, w *Widget) {
		giveUp(b, w)
		pair(w, Running, Ready)
		w.Generation++
	}},
	{"resync given up, settings changed, under a live lock", false, false, func(b *bench, w *Widget) {
		pair(w, Running, Ready)
		lock(w, b.ago(5*time.Second))
		w.Generation++
	}},
	{"resync to come, after errors", false, false, func(b *bench, w *Widget) {
		pair(w, Running, Ready)
		w.Attempts = 1
		w.ResyncAt = b.start.Add(time.Hour)
	}},
	{"resync to come, after errors, settings changed", false, true, func(b *bench, w *Widget) {
		pair(w, Running, Ready)
		w.Attempts = 1
		w.ResyncAt = b.start.Add(time.Hour)
		w.Generation++
	}},
}
