package engine

import (
	"fmt"
	"strings"
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
			fmt.Fprintf(&b, "    %s --> %s: %s\n", from, to, t.label())
		}
	}
	for _, s := range d.Settled {
		note := fmt.Sprintf("%s rests here", s.State)
		if s.Resync > 0 {
			note += fmt.Sprintf(", looked at every %s", s.Resync)
		}
		fmt.Fprintf(&b, "    note right of %s: %s\n", s.Phase, note)
	}
	return b.String()
}

func (t *Transition[D]) label() string {
	var lines []string
	states := make([]string, len(t.When))
	for i, s := range t.When {
		states[i] = string(s)
	}
	lines = append(lines, strings.Join(states, " or "))
	for i, s := range t.Steps {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, s.Name))
	}
	if t.Within > 0 {
		lines = append(lines, fmt.Sprintf("within %s", t.Within))
	}
	if t.Completes != nil {
		lines = append(lines, fmt.Sprintf("%s becomes %s", t.Completes.From, t.Completes.To))
	}
	return strings.Join(lines, "<br/>")
}
