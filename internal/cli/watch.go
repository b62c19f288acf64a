package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Pauses between looks.
const (
	watchPause = time.Second
	waitPause  = 250 * time.Millisecond
)

func watchCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch KIND [ID]",
		Short: "Show documents as they change, until Ctrl-C",
		Long: `On a terminal the table is drawn again as documents change; elsewhere each
change is a line. A document that is gone says so, and if it was the only one
that was asked for, the command ends.`,
		Args:              between(1, 2),
		ValidArgsFunction: completeDocuments(env),
	}
	remoteFlags(env, cmd)
	format := outputFlag(cmd, asTable, asWide)
	q := queryFlags(env, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v, err := viewOf(env, cmd, args, q)
		if err != nil {
			return err
		}
		return v.watch(cmd.Context(), *format)
	}
	return cmd
}

// watch shows the view until ctx ends. A server that is away for a while is
// waited for, and said to be.
func (v *view) watch(ctx context.Context, format string) error {
	if format != asTable && format != asWide {
		return usage("--watch shows tables: leave --output out, or use table or wide")
	}
	s := &screen{env: v.env}
	var before []*document
	for first := true; ; first = false {
		docs, err := v.read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // Ctrl-C is how a watch ends
		case v.id != "" && ExitCode(err) == NotFound && !first:
			s.line("%s %s is gone.", v.kind.name, v.id)
			return nil
		case err != nil && (first || ExitCode(err) != Unreachable):
			return err
		case err != nil:
			s.away(err)
		case v.env.Terminal:
			s.draw(v.env.documents(v.columnsOf(), docs, format == asWide))
		default:
			v.changes(before, docs, first)
			before = docs
		}
		if pause(ctx, watchPause) != nil {
			return nil //nolint:nilerr // the user has seen enough
		}
	}
}

func (v *view) columnsOf() []column {
	if v.id != "" {
		return v.kind.columns
	}
	return v.columns()
}

// changes prints a line for each document that is another than before.
func (v *view) changes(before, now []*document, first bool) {
	line := func(d *document, gone bool) {
		words := []string{v.kind.name, d.ID, string(d.State), string(d.Phase)}
		if gone {
			words = []string{v.kind.name, d.ID, "gone"}
		} else if w := d.waitingFor(); w != "" {
			words = append(words, d.Step+": "+w)
		} else if d.Step != "" {
			words = append(words, d.Step)
		}
		v.env.printf("%s  %s\n", time.Now().Format("15:04:05"), strings.Join(words, "  "))
	}
	for _, d := range now {
		i := slices.IndexFunc(before, func(b *document) bool { return b.ID == d.ID })
		if first || i < 0 || place(before[i]) != place(d) {
			line(d, false)
		}
	}
	for _, b := range before {
		if !slices.ContainsFunc(now, func(d *document) bool { return d.ID == b.ID }) {
			line(b, true)
		}
	}
}

// place is all of a document that a watcher cares for.
func place(d *document) string {
	return strings.Join([]string{string(d.State), string(d.Phase), d.Step, d.waitingFor()}, "\x00")
}

// screen draws over what it drew before.
type screen struct {
	env   *Env
	lines int
}

func (s *screen) draw(text string) {
	s.clear()
	s.env.printf("%s", text)
	s.lines = strings.Count(text, "\n")
}

// clear takes away what was drawn.
func (s *screen) clear() {
	if s.lines > 0 {
		s.env.printf("\x1b[%dA\x1b[J", s.lines)
	}
	s.lines = 0
}

// line prints something that stays.
func (s *screen) line(format string, args ...any) {
	s.clear()
	s.env.printf(format+"\n", args...)
}

// away says that the server does not answer.
func (s *screen) away(err error) {
	if s.env.Terminal {
		s.draw(s.env.paint(bad, err.Error()) + "\n")
		return
	}
	s.env.notef("%s; trying again", err)
}

// pause waits, or returns an error once ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return errors.Join(ctx.Err())
	case <-timer.C:
		return nil
	}
}
