package enginetest

import (
	"slices"
	"testing"
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

// claimableTests check which documents can be claimed: that Due finds them,
// and that Claim, which is asked for all, takes no others.
func claimableTests(t *testing.T, open func(*testing.T) Harness) {
	cases := slices.Concat(unsettledCases, settledCases)
	for _, way := range []struct {
		name string
		ask  func(b *bench, ids []string) []string
		want func(c claimableCase) bool
	}{
		{"Due", dueOf, func(c claimableCase) bool { return c.tick }},
		{"Tick", func(b *bench, ids []string) []string { return claimedOf(b, ids, false) },
			func(c claimableCase) bool { return c.tick }},
		{"Hint", func(b *bench, ids []string) []string { return claimedOf(b, ids, true) },
			func(c claimableCase) bool { return c.hint }},
	} {
		test(t, open, way.name, func(b *bench) {
			var ids []string
			for _, c := range cases {
				b.insert(b.widget(c.name, func(w *Widget) { c.edit(b, w) }))
				ids = append(ids, c.name)
			}
			found := way.ask(b, ids)
			for _, c := range cases {
				if got := slices.Contains(found, c.name); got != way.want(c) {
					b.Errorf("%s: claimable %v, want %v", c.name, got, !got)
				}
			}
		})
	}
	test(t, open, "LockTimeout", lockTimeoutOfRules)
	test(t, open, "MatchAll", matchOfAll)
}

func dueOf(b *bench, ids []string) []string {
	due, err := b.store.Due(b.ctx, b.rules, len(ids))
	b.check(err)
	return due
}

func claimedOf(b *bench, ids []string, hinted bool) []string {
	req := b.request(alice, ids...)
	req.Hinted = hinted
	docs, err := b.store.Claim(b.ctx, req)
	b.check(err)
	return idsOf(docs)
}

// The lock timeout is that of the rules, not a constant of the store.
func lockTimeoutOfRules(b *bench) {
	b.insert(
		b.widget("5 s", func(w *Widget) { lock(w, b.ago(5*time.Second)) }),
		b.widget("31 s", func(w *Widget) { lock(w, b.ago(31*time.Second)) }),
		b.widget("11 min", func(w *Widget) { lock(w, b.ago(11*time.Minute)) }),
	)
	b.rules.LockTimeout = 10 * time.Minute
	b.ids("due after 10 minutes", dueOf(b, make([]string, 3)), "11 min")
	b.rules.LockTimeout = time.Second
	b.ids("due after a second", dueOf(b, make([]string, 3)), "5 s", "31 s", "11 min")
	b.rules.LockTimeout = 10 * time.Minute
	b.ids("claimed after 10 minutes", idsOf(b.tryClaim(alice, "5 s", "31 s", "11 min")), "11 min")
	b.rules.LockTimeout = time.Second
	b.ids("claimed after a second", idsOf(b.tryClaim(alice, "5 s", "31 s")), "5 s", "31 s")
}

// An empty state and phase match all; no matches match nothing.
func matchOfAll(b *bench) {
	b.insert(b.widget("here"), b.widget("there", func(w *Widget) { pair(w, "Nonsense", "Nowhere") }))
	b.rules.Unsettled, b.rules.Resync = nil, nil
	b.ids("due without rules", dueOf(b, make([]string, 2)))
	b.ids("claimed without rules", idsOf(b.tryClaim(alice, "here", "there")))
	b.rules.Unsettled = []engine.Match{{}}
	b.ids("due", dueOf(b, make([]string, 2)), "here", "there")
	b.ids("claimed", idsOf(b.tryClaim(alice, "here", "there")), "here", "there")
}
