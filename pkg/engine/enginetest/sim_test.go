//go:build !race

// The race detector of Go 1.26 crashes (SIGSEGV in its runtime) on the
// simulator's many bubbles, so `make test` runs these without it, in a step of
// its own.

package enginetest_test

import (
	"flag"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine/enginetest"
)

var (
	simSeed    = flag.Uint64("sim.seed", 0, "run the simulation of this seed only")
	simWithout = flag.String("sim.without", "", "and take out this protection")
)

// simSeeds is how many seeds every run of the tests tries.
const simSeeds = 60

// All properties hold in every simulation.
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		enginetest.Sim{Seed: *simSeed, Without: enginetest.Protection(*simWithout)}.Check(t)
		return
	}
	simulate(t, 1, func(n uint64) bool { return n <= simSeeds && !(testing.Short() && n > 5) })
}

// The same for as long as LOCKSTEP_SOAK says ("30m"), on seeds that were never
// tried before.
func TestSimulationSoak(t *testing.T) {
	soak := os.Getenv("LOCKSTEP_SOAK")
	if soak == "" {
		t.Skip("LOCKSTEP_SOAK says for how long, such as 30m")
	}
	d, err := time.ParseDuration(soak)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	simulate(t, uint64(began.UnixNano()), func(uint64) bool { return time.Since(began) < d }) //nolint:gosec // any seed will do
}

// simulate runs seeds from the given one on, as long as it may, and says how
// fast that was.
func simulate(t *testing.T, first uint64, more func(n uint64) bool) {
	began, used := time.Now(), cpu(t)
	var all enginetest.SimResult
	n := uint64(1)
	for ; more(n) && !t.Failed(); n++ {
		r := enginetest.Sim{Seed: first + n - 1}.Check(t)
		all.Steps += r.Steps
		all.Virtual += r.Virtual
		all.Faults = append(all.Faults[:0], make([]enginetest.Fault, len(all.Faults)+len(r.Faults))...)
		all.Events = append(all.Events[:0], make([]enginetest.Event, len(all.Events)+len(r.Events))...)
	}
	used = cpu(t) - used
	t.Logf("%d seeds from %d: %d steps, %d faults and %d events in %s of virtual time; %.0f steps a minute, %.0f a minute of one core",
		n-1, first, all.Steps, len(all.Faults), len(all.Events), all.Virtual.Round(time.Second),
		float64(all.Steps)/time.Since(began).Minutes(), float64(all.Steps)/used.Minutes())
}

// cpu is the processor time that this process has used.
func cpu(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Without any one of the protections, one of the properties that it is for is
// violated, and the simulator sees it. A seed that shows it is found within
// few.
func TestSimulationCatchesWhatIsMissing(t *testing.T) {
	type properties = []enginetest.Property
	table := map[enginetest.Protection]properties{
		enginetest.FencingToken:   {enginetest.NewestToken},
		enginetest.ClaimEnd:       {enginetest.SettledOnce},
		enginetest.TokenRaised:    {enginetest.TokenGrows},
		enginetest.TrustWindow:    {enginetest.OneTrustedHolder},
		enginetest.WindowMargin:   {enginetest.OneTrustedHolder},
		enginetest.Renewals:       {enginetest.OneTrustedHolder},
		enginetest.RefusedRenewal: {enginetest.NewestToken, enginetest.OneTrustedHolder},
		enginetest.DatabaseTime:   {enginetest.NoClaimUnderLock, enginetest.OneTrustedHolder},
		enginetest.LockInClaim:    {enginetest.NoClaimUnderLock, enginetest.OneTrustedHolder},
		enginetest.LockExpiry:     {enginetest.NobodyStarves, enginetest.EverythingSettles},
		enginetest.LockOnPhases:   {enginetest.NoMoveUnderLock},
		enginetest.ObjectFence:    {enginetest.NoStaleEffect},
		enginetest.StepLooks:      {enginetest.StepsInOrder},
		enginetest.Relocking:      {enginetest.WaitsBackOff},
		enginetest.ErrorBackoff:   {enginetest.WaitsBackOff},
		enginetest.HintBackoff:    {enginetest.WaitsBackOff},
		enginetest.IntentClause:   {enginetest.NobodyStarves, enginetest.EverythingSettles},
		enginetest.CompareOneShot: {enginetest.IntentIsTheUsers},
	}
	for _, p := range constants(t, "Protection") {
		if table[enginetest.Protection(p)] == nil {
			t.Errorf("the table lacks %q", p)
		}
	}
	caught := map[enginetest.Property]bool{}
	for without, want := range table {
		t.Run(string(without), func(t *testing.T) {
			for seed := uint64(1); seed <= 200; seed++ {
				v := enginetest.Sim{Seed: seed, Without: without}.Run(t).Violation
				if v != nil && slices.Contains(want, v.Property) {
					t.Logf("seed %d: %s", seed, v)
					caught[v.Property] = true
					return
				}
			}
			t.Errorf("no seed violates %v", want)
		})
	}
	for _, p := range constants(t, "Property") {
		if p := enginetest.Property(p); !caught[p] && p != enginetest.EverythingSettles { // who starves is seen earlier
			t.Errorf("no protection is missed by %s", p)
		}
	}
}

// What is found is cut down to little: a frozen replica is all it takes to see
// that the trust window is missing.
func TestSimulationShrinks(t *testing.T) {
	for seed := uint64(1); seed <= 50; seed++ {
		c := enginetest.Sim{Seed: seed, Without: enginetest.TrustWindow}
		r := c.Run(t)
		if r.Violation == nil || r.Violation.Property != enginetest.OneTrustedHolder {
			continue
		}
		_, small := c.Shrink(t, r)
		if n := len(small.Faults) + len(small.Events); n > 5 || small.Violation.Property != enginetest.OneTrustedHolder {
			t.Errorf("cut down to %d faults and events: %v", n, small.Violation)
		}
		return
	}
	t.Error("no seed to shrink")
}

// A seed is run again as it was, mostly: what is left to chance is small.
func TestSimulationRepeats(t *testing.T) {
	alike := 0
	for seed := uint64(1); seed <= 10; seed++ {
		a, b := enginetest.Sim{Seed: seed}.Run(t), enginetest.Sim{Seed: seed}.Run(t)
		if a.Steps == b.Steps && slices.Equal(a.Trace, b.Trace) {
			alike++
		}
	}
	if alike < 5 {
		t.Errorf("%d of 10 seeds ran alike twice", alike)
	}
}
