package enginetest

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

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
