package enginetest

import (
	"fmt"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// simTrace is how many lines of a trace are kept.
const simTrace = 600

// line is one line of a trace, written out only if it is read.
type line struct {
	at    time.Duration
	who   string
	id    string
	what  string
	token int64
}

// ring keeps the latest lines.
type ring struct {
	lines []line
	next  int
}

func (r *ring) add(l line) {
	if len(r.lines) < simTrace {
		r.lines = append(r.lines, l)
		return
	}
	r.lines[r.next] = l
	r.next = (r.next + 1) % simTrace
}

func (r *ring) strings() []string {
	var out []string
	for i := range r.lines {
		l := r.lines[(r.next+i)%len(r.lines)]
		s := fmt.Sprintf("%9s  %-5s %-3s %s", l.at.Round(time.Millisecond), l.who, l.id, l.what)
		if l.token > 0 {
			s += fmt.Sprintf(" (token %d)", l.token)
		}
		out = append(out, s)
	}
	return out
}

// note adds a line to the trace, up to the first violation. The caller holds
// the lock.
func (s *simulation) note(p *port, id, what string, token int64) {
	if s.result.Violation != nil {
		return
	}
	who := "user"
	if p != nil {
		who = p.name
	} else if id == "" {
		who = ""
	}
	s.trace.add(line{time.Since(s.began), who, id, what, token})
}

// describe says what a change does.
func describe(ch engine.Change) string {
	switch ch.Kind {
	case engine.Move:
		return "moves it to " + string(ch.To)
	case engine.Relock:
		return "waits at " + ch.Step
	case engine.Fail:
		if ch.Terminal {
			return "fails for good at " + ch.Step
		}
		return "fails at " + ch.Step
	case engine.Checkpoint:
		return "records " + ch.Step
	}
	return string(ch.Kind) + "s it"
}
