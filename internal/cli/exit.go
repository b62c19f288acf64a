package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

// Code is an exit code of the command line. Codes are never given another
// meaning.
type Code int

// The exit codes.
const (
	OK          Code = 0   // what was asked for has been done
	Failed      Code = 1   // it could not be done, for a reason that has no code of its own
	Usage       Code = 2   // a flag or an argument is wrong; nothing was asked of the server
	NotFound    Code = 3   // there is no such document
	Refused     Code = 4   // the server refused it: wrong values, or a conflict
	Denied      Code = 5   // no valid token, or one that may not do it
	Unreachable Code = 6   // the server does not answer, or not in time, or cannot do its work now
	TimedOut    Code = 7   // --wait has waited in vain; what was asked for stands
	Stuck       Code = 8   // --wait has seen that it will not come by itself; or a check of doctor failed
	Interrupted Code = 130 // by Ctrl-C
)

// Codes describes the exit codes, for help and documentation.
var Codes = []struct {
	Code  Code
	Means string
}{
	{OK, "done"},
	{Failed, "failed, for a reason that has no code of its own"},
	{Usage, "a flag or an argument is wrong; nothing was asked of the server"},
	{NotFound, "there is no such document"},
	{Refused, "the server refused it: wrong values, or a conflict"},
	{Denied, "no valid token, or one that may not do it"},
	{Unreachable, "the server does not answer, or cannot do its work at present"},
	{TimedOut, "--wait has waited in vain; what was asked for stands"},
	{Stuck, "--wait has seen that it will not come by itself, or doctor has found something to fix"},
	{Interrupted, "interrupted by Ctrl-C"},
}

// failure is an error with an exit code of its own.
type failure struct {
	code Code
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(code Code, format string, args ...any) error {
	return &failure{code, fmt.Errorf(format, args...)}
}

// usage says that a flag or an argument is wrong, and how to put it right.
func usage(format string, args ...any) error { return fail(Usage, format, args...) }

// ExitCode is the exit code that an error of a command ends the program with.
func ExitCode(err error) Code {
	var own *failure
	var p *problem
	switch {
	case err == nil:
		return OK
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &p):
		return p.exitCode()
	case errors.Is(err, context.Canceled):
		return Interrupted
	}
	return Failed
}

func (p *problem) exitCode() Code {
	switch {
	case p.Status == http.StatusNotFound:
		return NotFound
	case p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden:
		return Denied
	case p.Status == http.StatusTooManyRequests || p.Status >= http.StatusInternalServerError:
		return Unreachable
	}
	return Refused
}

// exactly checks the number of arguments, and says what they are.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return usage("wrong number of arguments (%d): use `%s`", len(args), cmd.UseLine())
	}
}

// Subcommands completes a command that only has subcommands: by itself it shows
// its help, and what is none of them is a mistake.
func Subcommands(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		cmd.SuggestionsMinimumDistance = 2
		for _, meant := range cmd.SuggestionsFor(args[0]) {
			return usage("%q is not a command of `%s`: did you mean %q?", args[0], cmd.CommandPath(), meant)
		}
		return usage("%q is not a command of `%s`: see `%s --help`", args[0], cmd.CommandPath(), cmd.CommandPath())
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}
