package config

import (
	"fmt"
	"strings"
)

// Mistake is one wrong value of a configuration.
type Mistake struct {
	// Where is the option ("--workers (LOCKSTEP_WORKERS)"), or the place in
	// the file of regions.
	Where string
	// Problem says what is wrong, with the value unless it is secret.
	Problem string
	// Fix says what to do.
	Fix string
}

// Error says it in a line.
func (m Mistake) Error() string {
	return fmt.Sprintf("%s %s: %s", m.Where, m.Problem, m.Fix)
}

// Mistakes are all that is wrong with a configuration.
type Mistakes []Mistake

// Error says it in a line each.
func (m Mistakes) Error() string {
	lines := []string{"the configuration is wrong:"}
	for _, mistake := range m {
		lines = append(lines, "  "+mistake.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each mistake as an error.
func (m Mistakes) Unwrap() []error {
	errs := make([]error, len(m))
	for i, mistake := range m {
		errs[i] = mistake
	}
	return errs
}

const notSet = "is not set"

// is says of what value the mistake is.
func is(value string) string { return fmt.Sprintf("is %q", clip(value)) }

// clip keeps a value that is no option's from filling the screen.
func clip(value string) string {
	const most = 80
	if len(value) <= most {
		return value
	}
	return strings.ToValidUTF8(value[:most], "") + "…"
}
