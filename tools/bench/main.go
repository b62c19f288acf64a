// Command bench measures the engine on a real server, each number beside what
// it is to be compared with, in the same run: throughput against the same work
// done by hand, the cost of an idle tick, the time from a PATCH to the first
// step, the deletion of many gateways against the plain pattern, claimers in
// contention, and requests of the API against the round trips they need.
//
// It is started by `make bench`, which brings a server up first.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"
)

// settings are the command's.
type settings struct {
	only    string
	short   bool
	out     string
	check   bool
	profile string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, parse())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\nbench: "+err.Error())
		os.Exit(1)
	}
}

func parse() settings {
	var s settings
	flag.StringVar(&s.only, "only", "", "which to run, such as a,b; all if empty")
	flag.BoolVar(&s.short, "short", false, "small sizes: less than a minute in all, and numbers to match")
	flag.StringVar(&s.out, "out", "", "folder for the plots; the report is written beside it, as FOLDER.md")
	flag.BoolVar(&s.check, "check", false, "fail if a reach is missed")
	flag.StringVar(&s.profile, "cpuprofile", "", "write a CPU profile of this process to the file")
	flag.Parse()
	return s
}

// errMissed is what -check fails with.
var errMissed = errors.New("a reach was missed")

func run(ctx context.Context, s settings) error {
	chosen, err := choose(s.only)
	if err != nil {
		return err
	}
	env, err := newEnvironment(ctx, s.short)
	if err != nil {
		return err
	}
	defer env.close()
	stopProfile, err := profile(s.profile)
	if err != nil {
		return err
	}
	defer stopProfile()

	report := &report{machine: describeMachine(), server: env.server, short: s.short}
	fmt.Printf("%s\n%s\n", report.machine, report.server)
	for _, m := range chosen {
		fmt.Printf("\n(%s) %s\n", m.letter, m.title)
		result, err := m.run(ctx, env)
		if err != nil {
			return fmt.Errorf("(%s) %s: %w", m.letter, m.title, err)
		}
		report.add(m, result)
		fmt.Print(result.text())
	}
	report.loadAfter = load()
	fmt.Printf("\nLoad of the machine: %s before, %s after.\n", report.machine.load, report.loadAfter)
	if s.out != "" {
		if err := report.write(s.out); err != nil {
			return err
		}
	}
	if s.check && report.missed() {
		return errMissed
	}
	return nil
}

// measurement is one of the things that the command measures.
type measurement struct {
	letter, title string
	run           func(ctx context.Context, env *environment) (*result, error)
}

var measurements = []measurement{
	{"a", "Throughput of no-op documents", throughput},
	{"b", "Cost of an idle tick", idle},
	{"c", "From PATCH to the first step", latency},
	{"d", "Deletion of gateways", deletion},
	{"e", "Contention of claimers", contention},
	{"f", "Requests of the API", requests},
}

// choose returns the measurements of the given letters, in their order.
func choose(letters string) ([]measurement, error) {
	if letters == "" {
		return measurements, nil
	}
	var chosen []measurement
	wanted := strings.Split(letters, ",")
	for _, m := range measurements {
		for i, w := range wanted {
			if strings.TrimSpace(w) == m.letter {
				chosen = append(chosen, m)
				wanted = append(wanted[:i:i], wanted[i+1:]...)
				break
			}
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("-only %s: there is no measurement %q: use letters of a to %s", letters, wanted[0], measurements[len(measurements)-1].letter)
	}
	return chosen, nil
}

func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("-cpuprofile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { pprof.StopCPUProfile(); _ = file.Close() }, nil
}
