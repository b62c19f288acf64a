package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/lockstep-io/lockstep/tools/bench/internal/chart"
)

// result is what one measurement found.
type result struct {
	// about says what was measured, and what it is compared with.
	about   string
	head    []string
	rows    [][]string
	reaches []reach
	chart   chart.Chart
}

// reach is what a measurement should come to.
type reach struct {
	what string
	got  float64
	// want is the least that is enough, or the most if atMost.
	want   float64
	atMost bool
	unit   string
}

func (r reach) met() bool {
	if r.atMost {
		return r.got <= r.want
	}
	return r.got >= r.want
}

// String says what was reached, and whether that is enough.
func (r reach) String() string {
	sign, verdict := "at least", "met"
	if r.atMost {
		sign = "at most"
	}
	if !r.met() {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%s: %s (reach: %s %s): %s", r.what, number(r.got)+r.unit, sign, number(r.want)+r.unit, verdict)
}

func (m measurement) name() string { return strings.ReplaceAll(strings.ToLower(m.title), " ", "-") }

// text is the result for a terminal.
func (r *result) text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{r.head}, r.rows...) {
		fmt.Fprintln(w, "  "+strings.Join(row, "\t")+"\t") //nolint:errcheck // to memory
	}
	_ = w.Flush()
	for _, reach := range r.reaches {
		fmt.Fprintf(&b, "  %s\n", reach)
	}
	return b.String()
}

// markdown is the result as a section of the report.
func (r *result) markdown(title, plot string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", title, r.about)
	row := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	row(r.head)
	row(append([]string{"---"}, repeat("--:", len(r.head)-1)...))
	for _, cells := range r.rows {
		row(cells)
	}
	b.WriteString("\n")
	for _, reach := range r.reaches {
		fmt.Fprintf(&b, "- %s\n", reach)
	}
	if len(r.reaches) > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "![%s](%s)\n", r.chart.Title, plot)
	return b.String()
}

// report is what a run found.
type report struct {
	machine   machine
	server    string
	short     bool
	loadAfter string
	sections  []section
}

type section struct {
	measurement
	result *result
}

func (r *report) add(m measurement, found *result) {
	r.sections = append(r.sections, section{m, found})
}

func (r *report) missed() bool {
	for _, s := range r.sections {
		for _, reach := range s.result.reaches {
			if !reach.met() {
				return true
			}
		}
	}
	return false
}

// write draws the plots into the folder, and writes the report beside it.
func (r *report) write(folder string) error {
	folder = filepath.Clean(folder)
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	text := r.preamble()
	var errs []error
	for _, s := range r.sections {
		plot := s.name() + ".svg"
		errs = append(errs, save(filepath.Join(folder, plot), s.result.chart.SVG()))
		text += s.result.markdown(fmt.Sprintf("(%s) %s", s.letter, s.title), filepath.Base(folder)+"/"+plot)
	}
	return errors.Join(append(errs, save(folder+".md", text))...)
}

func save(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a document for everybody
		return fmt.Errorf("-out: %w", err)
	}
	return nil
}

func (r *report) preamble() string {
	sizes := "The full sizes"
	if r.short {
		sizes = "Small sizes (`-short`)"
	}
	return fmt.Sprintf(`# Benchmarks

Written by `+"`make bench`"+`; each number was measured beside what it is compared with, in one run, by turns: the ratios mean more
than the numbers. The bench and the server shared the machine. %s.

| | |
|---|---|
| machine | %s, %d cores, %s of memory, %s |
| server | %s |
| Go | %s |
| load (1 min) | %s before, %s after |
`, sizes, r.machine.processor, r.machine.cores, r.machine.memory, r.machine.system, r.server, r.machine.golang, r.machine.load, r.loadAfter)
}

func repeat(s string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}
