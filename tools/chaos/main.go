// Command chaos runs replicas of the service on real servers, hurts both in
// every way it knows while users change their minds, and checks from a record
// of every call that nothing was done twice, late, or by the wrong replica; in
// the end, with all faults over, that everything settles, can be deleted, and
// leaves nothing behind. It exits with 1 on any violation.
//
// It brings up a stack of its own (tools/devstack) and takes it down again. All
// traffic is on the loopback interface.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// settings are the run's.
type settings struct {
	lasts    time.Duration
	seed     uint64
	short    bool
	nemeses  string
	report   string
	folder   string
	stack    string
	keep     bool
	replicas int
	gateways int
	lock     time.Duration
	without  string
	settle   time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, parse())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\nchaos: "+err.Error())
		os.Exit(1)
	}
}

func parse() settings {
	var o settings
	flag.DurationVar(&o.lasts, "for", 30*time.Minute, "how long faults are injected")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of what is chosen at random")
	flag.BoolVar(&o.short, "short", false, "a run of about two minutes in all, with few gateways")
	flag.StringVar(&o.nemeses, "nemeses", "", "which of them, separated by commas (default all: "+strings.Join(nemesisNames(), ",")+")")
	flag.StringVar(&o.report, "report", "", "file to which the report is written, as Markdown; of one that has a place for it, only that is written")
	flag.StringVar(&o.folder, "folder", ".stack/chaos", "where logs, settings and records are kept")
	flag.StringVar(&o.stack, "stack", "chaos", "name of the stack")
	flag.BoolVar(&o.keep, "keep", false, "leave the stack up")
	flag.IntVar(&o.replicas, "replicas", 3, "replicas of the service")
	flag.IntVar(&o.gateways, "gateways", 24, "gateways that live at a time")
	flag.DurationVar(&o.lock, "lock-timeout", 5*time.Second, "the replicas' lock timeout")
	flag.StringVar(&o.without, "without", "", "a protection to take out of the replicas (token, trust): the run must fail")
	flag.DurationVar(&o.settle, "settle", 5*time.Minute, "how long everything may take to settle, and then to be deleted")
	flag.Parse()
	if o.short {
		given := map[string]bool{}
		flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
		if !given["for"] {
			o.lasts = time.Minute
		}
		if !given["gateways"] {
			o.gateways = 8
		}
	}
	return o
}

func run(ctx context.Context, o settings) (err error) {
	chosen, err := chooseNemeses(o.nemeses)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(o.folder); err != nil {
		return fmt.Errorf("clear the folder: %w", err)
	}
	if o.folder, err = filepath.Abs(o.folder); err != nil {
		return err
	}
	if err := os.MkdirAll(o.folder, 0o700); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	say("chaos: seed %d, %s of faults, %d replicas, %d gateways, lock timeout %s", o.seed, o.lasts, o.replicas, o.gateways, o.lock)
	w, err := begin(ctx, o)
	if w != nil {
		defer w.end()
	}
	if err != nil {
		return err
	}
	w.storm(ctx, chosen)
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	w.calm(ctx)
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	w.replicas.stop() // so that the records are whole
	w.check()
	return w.conclude()
}

// say tells the person at the terminal.
func say(format string, args ...any) {
	fmt.Printf("%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}
