package cli

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// grid is a table without lines, as wide as its contents; on a terminal it is
// cut at the right edge.
type grid struct {
	env    *Env
	writer table.Writer
	rows   int
}

func newTable(env *Env, titles ...string) *grid {
	t := &grid{env: env, writer: table.NewWriter()}
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "   "
	style.Format.Header = text.FormatUpper
	style.Size.WidthMax = env.width()
	style.Box.UnfinishedRow = "…"
	t.writer.SetStyle(style)
	t.writer.SuppressTrailingSpaces()
	t.writer.AppendHeader(cells(titles))
	return t
}

func cells(values []string) table.Row {
	row := make(table.Row, len(values))
	for i, v := range values {
		row[i] = strings.ReplaceAll(v, "\n", " ")
	}
	return row
}

func (t *grid) row(values ...string) {
	t.rows++
	t.writer.AppendRow(cells(values))
}

func (t *grid) String() string { return t.writer.Render() + "\n" }

func (t *grid) print() { t.env.printf("%s", t.String()) }

// paint colours a word by how it stands with its document.
func (e *Env) paint(mood mood, s string) string {
	color, has := colors[mood]
	if !has || s == "" || !e.colored() {
		return s
	}
	return color + s + "\x1b[0m"
}

// mood is how it stands with a document, as far as colours go.
type mood int

const (
	plain mood = iota
	good
	busy
	bad
	faint
	strong
)

var colors = map[mood]string{good: "\x1b[32m", busy: "\x1b[33m", bad: "\x1b[31m", faint: "\x1b[2m", strong: "\x1b[1m"}

func moodOf(condition engine.Condition) mood {
	switch condition {
	case engine.IsSettled:
		return good
	case engine.IsMoving, engine.IsLocked, engine.IsWaiting, isPaused:
		return busy
	case engine.IsBacking, engine.IsFailed, engine.IsOverdue, engine.IsUnhandled:
		return bad
	}
	return plain
}

// moodOfPhase is for lists that do not say more than the phase.
func moodOfPhase(m *engine.Meta) mood {
	switch {
	case m.LastError != nil:
		return bad
	case m.Phase == resource.PhaseStarted, m.Phase == resource.PhaseCreated:
		return good
	case strings.HasSuffix(string(m.Phase), "ing"):
		return busy
	}
	return plain
}
