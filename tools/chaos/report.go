package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// properties are what is checked, in the order of the report.
var properties = []struct{ name, what string }{
	{"locks", "lock histories that no order explains"},
	{"exclusion", "claims before the lock of the last holder had expired"},
	{"trust", "work after the trust window had closed"},
	{"phases", "phases that moved past the definition's edges"},
	{"objects", "objects written or removed under an older token"},
	{"stuck", "documents that stood still after a fault"},
	{"unsettled", "documents unsettled at the end"},
	{"world", "clusters not as wanted at the end"},
	{"left", "documents and objects left after deletion"},
	{"record", "records that cannot be read"},
}

// conclude prints the report, writes it to its file, and returns an error if
// anything was violated.
func (w *world) conclude() error {
	text := w.report()
	fmt.Print("\n", text)
	if w.o.report != "" {
		if err := writeReport(w.o.report, text); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	var broken []string
	for _, p := range properties {
		for i, v := range w.result.violations[p.name] {
			if i < 5 {
				say("VIOLATION (%s): %s", p.name, v)
			}
		}
		if n := len(w.result.violations[p.name]); n > 0 {
			broken = append(broken, fmt.Sprintf("%d %s", n, p.what))
		}
	}
	if len(broken) > 0 {
		return errors.New(strings.Join(broken, ", ") + "; the records are in " + w.o.folder)
	}
	return nil
}

// Between these lines of a file that is there already, the report is put; a
// file without them becomes the report.
const (
	reportBegin = "<!-- chaos report: begin -->\n"
	reportEnd   = "<!-- chaos report: end -->"
)

func writeReport(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before, rest, found := strings.Cut(string(old), reportBegin)
	_, after, ended := strings.Cut(rest, reportEnd)
	if found && ended {
		text = before + reportBegin + text + reportEnd + after
	}
	return os.WriteFile(file, []byte(text), 0o644) //nolint:gosec // for everybody to read
}

func (w *world) report() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	r := &w.result
	line("Chaos run of %s, with faults for %s; seed %d; %d replicas, %d gateways at a time, lock timeout %s.",
		w.began.UTC().Format("2006-01-02 15:04 UTC"), w.o.lasts, w.o.seed, w.o.replicas, w.o.gateways, w.o.lock)
	if w.o.without != "" {
		line("\n**Without the protection %q: this run must fail.**", w.o.without)
	}
	line("\n| nemesis | faults | longest recovery | median |\n|---|---:|---:|---:|")
	var longest time.Duration
	injected := 0
	for _, name := range slices.Sorted(maps.Keys(w.faults.injected)) {
		n, times := w.faults.injected[name], slices.Sorted(slices.Values(w.faults.recovery[name]))
		injected += n
		if len(times) == 0 {
			line("| %s | %d | | |", name, n)
			continue
		}
		longest = max(longest, times[len(times)-1])
		line("| %s | %d | %.1f s | %.1f s |", name, n, times[len(times)-1].Seconds(), times[len(times)/2].Seconds())
	}
	line("\n| what | how many |\n|---|---:|")
	row := func(what string, n any) { line("| %s | %v |", what, n) }
	row("faults injected", injected)
	row("faults that could not be injected or measured as meant", len(w.faults.failed))
	row("users' operations done / failed during faults", fmt.Sprintf("%d / %d", w.load.done.Load(), w.load.failed.Load()))
	row("documents seen", len(w.history.documents))
	row("processes of the service", r.processes)
	row("recorded calls / of which unanswered", fmt.Sprintf("%d / %d", r.calls, r.unanswered))
	row("claims", r.claims)
	row("renewals", r.renewals)
	row("other writes under a claim", r.writes)
	row("writes and verifications refused by token", r.refusals)
	lost := 0
	for _, n := range r.lost {
		lost += n
	}
	row("locks lost", lost)
	row("runs of steps", r.steps)
	row("writing requests to Kubernetes", r.requests)
	row("phases moved, as read in histories", w.history.moves)
	row("states of objects seen by the audit / gaps in it", fmt.Sprintf("%d / %d", w.audit.events, w.audit.gaps))
	row("lock histories checked / undecided in time", fmt.Sprintf("%d / %d", r.histories, r.undecided))
	row("longest recovery", fmt.Sprintf("%.1f s", longest.Seconds()))
	if n := len(r.takeovers); n > 0 {
		slices.Sort(r.takeovers)
		row("documents that a killed replica held", n)
		row("longest time from its last word to their next claim / median",
			fmt.Sprintf("%.2f s / %.2f s", r.takeovers[n-1].Seconds(), r.takeovers[n/2].Seconds()))
	}
	if frozen := w.freezes.between(0, math.MaxInt64); frozen > 0 {
		row("time for which the whole run stood still, which does not count", fmt.Sprintf("%.1f s", frozen.Seconds()))
	}
	row("latest that work was seen after its trust window, by a process that ran", r.latest.Round(time.Millisecond))
	row("time to settle after the last fault", fmt.Sprintf("%.1f s", r.settled.Seconds()))
	row("time to delete everything", fmt.Sprintf("%.1f s", r.deleted.Seconds()))
	row("documents left unsettled", len(r.unsettled))
	row("documents left after deletion", len(r.documents))
	row("objects orphaned", len(r.orphans))
	line("\n| property | violations |\n|---|---:|")
	for _, p := range properties {
		line("| %s | %d |", p.what, len(r.violations[p.name]))
	}
	return b.String()
}
