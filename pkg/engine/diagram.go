package engine

import (
	"fmt"
	"strings"
	"time"
)

// Diagram draws the definition as a Mermaid state diagram: an arrow for each
// transition, labelled with the states that ask for it and its steps.
func (d *Definition[D]) Diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	fmt.Fprintf(&b, "    [*] --> %s\n", d.Initial)
	for i := range d.Transitions {
		t := &d.Transitions[i]
		for _, from := range t.From {
			to := string(t.To)
			if t.To == Purged {
				to = "[*]"
			}
			fmt.Fprintf(&b, "    %s --> %s: %s\n", from, to, d.label(t))
		}
	}
	for _, s := range d.Settled {
		note := fmt.Sprintf("%s rests here", s.State)
		if s.Resync > 0 {
			note += ", looked at every " + period(s.Resync)
		}
		fmt.Fprintf(&b, "    note right of %s: %s\n", s.Phase, note)
	}
	return b.String()
}

func (d *Definition[D]) label(t *Transition[D]) string {
	var lines []string
	states := make([]string, len(t.When))
	for i, s := range t.When {
		states[i] = string(s)
	}
	asked := strings.Join(states, " or ")
	if len(t.When) == len(d.States) {
		asked = "any state"
	}
	lines = append(lines, asked)
	for i, s := range t.Steps {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, s.Name))
	}
	if t.Within > 0 {
		lines = append(lines, "within "+period(t.Within))
	}
	if t.Completes != nil {
		lines = append(lines, fmt.Sprintf("%s becomes %s", t.Completes.From, t.Completes.To))
	}
	return strings.Join(lines, "<br/>")
}

// period writes a duration without units that are zero: 5m instead of 5m0s.
func period(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-len("0s")]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-len("0m")]
	}
	return s
}
