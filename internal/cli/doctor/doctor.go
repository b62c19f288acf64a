// Package doctor looks at the servers that the service needs, from where it is
// run, and says of each thing that is wrong what to do. It only reads.
package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-io/lockstep/internal/config"
)

// Grade is the outcome of a check.
type Grade string

// The grades.
const (
	Good    Grade = "ok"
	Warning Grade = "warning"
	Bad     Grade = "bad"
)

// Check is one thing that was looked at.
type Check struct {
	// Where is the server, What the thing.
	Where string `json:"where"`
	What  string `json:"what"`
	Grade Grade  `json:"grade"`
	// Found is what was found, Fix what to do about it.
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"`
}

// timeout bounds the checks of one server.
const timeout = 20 * time.Second

// Skew is how far clocks may be apart: locks, tokens and certificates are
// judged by time.
const Skew = 2 * time.Second

// report collects the checks of one server.
type report struct {
	where  string
	checks []Check
}

func (r *report) add(what string, grade Grade, fix, format string, args ...any) {
	r.checks = append(r.checks, Check{Where: r.where, What: what, Grade: grade, Found: fmt.Sprintf(format, args...), Fix: fix})
}

func (r *report) good(what, format string, args ...any) { r.add(what, Good, "", format, args...) }

func (r *report) bad(what, fix, format string, args ...any) { r.add(what, Bad, fix, format, args...) }

// Service checks the servers of a configuration.
func Service(ctx context.Context, cfg config.Config) []Check {
	checks := Documents(ctx, cfg)
	for _, region := range cfg.Regions {
		checks = append(checks, Runtime(ctx, region)...)
		checks = append(checks, Cluster(ctx, region)...)
	}
	for _, w := range cfg.Warnings {
		checks = append(checks, Check{Where: "configuration", What: "option", Grade: Warning, Found: w})
	}
	return checks
}

// ClockCheck judges the difference between a server's clock and this one's,
// known to within tolerance.
func ClockCheck(where string, theirs, ours time.Time, tolerance time.Duration) Check {
	r := &report{where: where}
	apart := theirs.Sub(ours)
	said := fmt.Sprintf("%s apart from this machine's", apart.Abs().Round(time.Millisecond))
	if apart.Abs() <= Skew+tolerance {
		r.good("clock", "%s", said)
	} else {
		r.bad("clock", "synchronise the clocks of both machines (NTP)", "%s", said)
	}
	return r.checks[0]
}
