package engine

import (
	"errors"
	"fmt"
)

// Outcome is what a step found: that it is done, or what it waits for. An
// error is neither: it is retried with backoff.
type Outcome struct {
	waitingFor string
}

// Done says that the thing the step is for has been observed: the next step
// may run.
func Done() Outcome { return Outcome{} }

// Wait says that the step has done what it can and waits for something
// outside. The reason is shown to people ("2 domains left"): keep it short.
func Wait(format string, args ...any) Outcome {
	reason := fmt.Sprintf(format, args...)
	if reason == "" {
		reason = "an unnamed condition"
	}
	return Outcome{waitingFor: reason}
}

// Waiting reports whether the outcome is a wait, and for what.
func (o Outcome) Waiting() (reason string, waiting bool) {
	return o.waitingFor, o.waitingFor != ""
}

// ErrLockLost is returned by every write of a claim that is not its document's
// latest any more, or has ended: another holder has claimed the document, or
// it is gone. Whoever sees it stops at once and touches nothing more.
var ErrLockLost = errors.New("lock lost")

type terminalError struct{ err error }

func (e *terminalError) Error() string { return e.err.Error() }
func (e *terminalError) Unwrap() error { return e.err }

// Terminal marks an error that trying again cannot cure. The document is left
// with lastError.terminal set, and is not claimed again until its intent
// changes. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

// IsTerminal reports whether err, or an error it wraps, was marked by
// [Terminal].
func IsTerminal(err error) bool {
	var t *terminalError
	return errors.As(err, &t)
}
