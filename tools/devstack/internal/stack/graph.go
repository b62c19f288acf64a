package stack

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// step is one thing `up` does, once the steps before it are done.
type step struct {
	name  string
	after []string // names that are not among the steps count as done
	run   func(ctx context.Context, say func(string)) error
}

// runSteps runs all steps, side by side where the order allows. The first error stops the rest.
func runSteps(ctx context.Context, out io.Writer, steps []step) error {
	report := newReport(out)
	defer report.close()
	done := map[string]chan struct{}{}
	for _, st := range steps {
		done[st.name] = make(chan struct{})
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, st := range steps {
		group.Go(func() error {
			for _, name := range st.after {
				if before, ok := done[name]; ok {
					select {
					case <-before:
					case <-ctx.Done():
						return nil // the step that failed says why
					}
				}
			}
			line := report.begin(st.name)
			if err := st.run(ctx, line.say); err != nil {
				if ctx.Err() == nil {
					line.end("failed")
				}
				return fmt.Errorf("%s: %w", st.name, err)
			}
			line.end("")
			close(done[st.name])
			return nil
		})
	}
	return group.Wait()
}

// report prints a line when a step ends, and every few seconds one for each step that is still at it.
type report struct {
	mu      sync.Mutex
	out     io.Writer
	start   time.Time
	running []*line
	stop    chan struct{}
}

// line is what a step has to say.
type line struct {
	report *report
	name   string
	begun  time.Time
	detail string
}

const heartbeat = 5 * time.Second

func newReport(out io.Writer) *report {
	r := &report{out: out, start: time.Now(), stop: make(chan struct{})}
	go func() {
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-r.stop:
				return
			case <-ticker.C:
				r.beat()
			}
		}
	}()
	return r
}

func (r *report) close() { close(r.stop) }

func (r *report) begin(name string) *line {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &line{report: r, name: name, begun: time.Now()}
	r.running = append(r.running, l)
	return l
}

func (r *report) beat() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.running {
		if time.Since(l.begun) >= heartbeat {
			r.print(l, "... "+l.detail)
		}
	}
}

func (r *report) print(l *line, text string) {
	fmt.Fprintf(r.out, "%6.1fs  %-24s %s (%.1fs)\n", time.Since(r.start).Seconds(), l.name, text, time.Since(l.begun).Seconds())
}

// say keeps the newest word of the step, for the heartbeat and the end.
func (l *line) say(text string) {
	l.report.mu.Lock()
	defer l.report.mu.Unlock()
	l.detail = text
}

func (l *line) end(text string) {
	r := l.report
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, other := range r.running {
		if other == l {
			r.running = append(r.running[:i], r.running[i+1:]...)
			break
		}
	}
	if text == "" {
		text = l.detail
	}
	r.print(l, text)
}
