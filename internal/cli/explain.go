package cli

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

func explainCommand(env *Env) *cobra.Command {
	var diagram bool
	cmd := &cobra.Command{
		Use:   "explain KIND ID",
		Short: "Say what a document waits for, what will move it next, and what is the matter",
		Long: `Of a gateway it explains the whole tree, and what beneath it contradicts its
phase. With --diagram it draws the kind's lifecycle, as Mermaid, without asking
a server.`,
		Example: `  lockstep explain gateway vn8ofl
  lockstep explain stage vn8ofl-dev
  lockstep explain --diagram gateway`,
		Args:              between(1, 2),
		ValidArgsFunction: completeDocuments(env),
	}
	remoteFlags(env, cmd)
	format := outputFlag(cmd, asTable, asJSON, asYAML)
	cmd.Flags().BoolVar(&diagram, "diagram", false, "draw the kind's state diagram (Mermaid)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		k, err := kindOf(args[0])
		if err != nil {
			return err
		}
		if diagram {
			return env.diagram(k)
		}
		if len(args) < 2 {
			return usage("the id of the %s is missing: `lockstep explain %s ID`, or --diagram for the kind's lifecycle", k.name, k.name)
		}
		return env.explain(cmd, k, args[1], *format)
	}
	return cmd
}

func (e *Env) diagram(k *kind) error {
	diagrams, err := e.Diagrams()
	if err != nil {
		return err
	}
	diagram, has := diagrams[k.Kind]
	if !has {
		return usage("%s has no lifecycle of its own: its gateway's steps make and remove it; see `lockstep explain --diagram gateway`", k.one())
	}
	e.printf("%s", diagram)
	return nil
}

// explanation is what the server says of a document, and for a gateway of what
// is beneath it.
type explanation struct {
	Summary  string               `json:"summary"`
	Gateway  *engine.Explanation  `json:"gateway"`
	Findings []finding            `json:"findings"`
	Children []engine.Explanation `json:"children"`
}

type finding struct {
	Sort    string        `json:"sort"`
	Kind    resource.Kind `json:"kind"`
	ID      string        `json:"id"`
	Problem string        `json:"problem"`
	Next    string        `json:"next"`
	Fix     string        `json:"fix"`
}

func (e *Env) explain(cmd *cobra.Command, k *kind, id, format string) error {
	path, err := k.item(id)
	if err != nil {
		return err
	}
	if path += "/explain"; k.Kind != resource.KindApiGateway {
		path = documentPath(k, id) + "/explain"
	}
	r, err := connect(e, cmd)
	if err != nil {
		return err
	}
	if format != asTable {
		raw, err := r.call(cmd.Context(), http.MethodGet, path, nil, nil)
		if err != nil {
			return err
		}
		return e.encode(raw, format)
	}
	whole, err := r.explanation(cmd.Context(), k, path)
	if err != nil {
		return err
	}
	e.printf("%s", e.explained(whole))
	return nil
}

// explanation reads that of any kind into one form.
func (r *remote) explanation(ctx context.Context, k *kind, path string) (*explanation, error) {
	whole := &explanation{}
	if k.Kind == resource.KindApiGateway {
		return whole, r.read(ctx, path, whole)
	}
	whole.Gateway = &engine.Explanation{}
	err := r.read(ctx, path, whole.Gateway)
	whole.Summary = whole.Gateway.Summary
	return whole, err
}

// explained is an explanation for people.
func (e *Env) explained(x *explanation) string {
	var b strings.Builder
	if own := x.Gateway; own != nil {
		fmt.Fprintf(&b, "%s %s: %s\n\n", own.Kind, own.ID, e.paint(moodOf(own.Condition), string(own.Condition)))
	}
	b.WriteString(e.wrap("", x.Summary))
	if x.Gateway != nil {
		b.WriteString(e.steps(x.Gateway))
		b.WriteString(lastError(x.Gateway))
	}
	for i, f := range x.Findings {
		if i == 0 {
			b.WriteString("\n" + e.paint(strong, "What is the matter:") + "\n")
		}
		b.WriteString("\n" + e.wrap("  ", e.paint(bad, "!")+" "+f.Problem))
		b.WriteString(e.wrap("    ", "next: "+f.Next))
		b.WriteString(e.wrap("    ", "fix:  "+f.Fix))
	}
	title := "\n" + e.paint(strong, "Beneath it:") + "\n\n"
	for i := range x.Children {
		c := &x.Children[i]
		// What a finding is about has been said.
		if slices.ContainsFunc(x.Findings, func(f finding) bool { return string(f.Kind) == c.Kind && f.ID == c.ID }) {
			continue
		}
		b.WriteString(title)
		title = ""
		b.WriteString(e.wrap("  ", fmt.Sprintf("%s %s (%s, %s, %s): %s",
			c.Kind, c.ID, c.State, c.Phase, e.paint(moodOf(c.Condition), string(c.Condition)), c.Summary)))
	}
	return b.String()
}

// steps shows how far the present transition has come.
func (e *Env) steps(x *engine.Explanation) string {
	if len(x.Steps) == 0 || x.Condition == engine.IsSettled {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", x.Transition)
	mark, moodNow := e.paint(good, "✓"), plain
	for _, step := range x.Steps {
		if step == x.Step {
			mark, moodNow = e.paint(busy, "▸"), strong
		}
		fmt.Fprintf(&b, "  %s %s\n", mark, e.paint(moodNow, step))
		if step == x.Step {
			mark, moodNow = e.paint(faint, "·"), faint
		}
	}
	if !x.Deadline.IsZero() {
		fmt.Fprintf(&b, "  %s\n", deadline(x.Deadline))
	}
	return b.String()
}

func deadline(at time.Time) string {
	if left := time.Until(at); left > 0 {
		return "due within " + span(left)
	}
	return "overdue for " + age(at)
}

func lastError(x *engine.Explanation) string {
	if x.LastError == nil {
		return ""
	}
	return fmt.Sprintf("\nLatest error, %s ago in step %q: %s\n", age(x.LastError.At), x.LastError.Step, x.LastError.Message)
}

// wrap breaks text to the width of the terminal, indented.
func (e *Env) wrap(indent, s string) string {
	if width := e.width(); width > 0 {
		s = text.WrapSoft(s, width-len(indent)-1)
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(indent+line, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}
