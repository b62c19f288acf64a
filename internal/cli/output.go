package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The formats of -o.
const (
	asTable = "table"
	asWide  = "wide"
	asJSON  = "json"
	asYAML  = "yaml"
	asID    = "id"
)

var formats = []string{asTable, asWide, asJSON, asYAML, asID}

// outputFlag adds -o with the formats that a command has; the first is its
// default.
func outputFlag(cmd *cobra.Command, has ...string) *string {
	format := cmd.Flags().StringP("output", "o", has[0], "format: "+strings.Join(has, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(has, cobra.ShellCompDirectiveNoFileComp))
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(has, *format) {
			return usage("--output: %q is not a format: use one of %s", *format, strings.Join(has, ", "))
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
	return format
}

// show prints one document.
func (e *Env) show(k *kind, d *document, format string) error {
	switch format {
	case asJSON, asYAML:
		return e.encode(d.raw, format)
	case asID:
		e.printf("%s\n", d.ID)
		return nil
	}
	e.printf("%s", e.documents(k.columns, []*document{d}, format == asWide))
	return nil
}

// showAll prints a list.
func (e *Env) showAll(columns []column, docs []*document, format string) error {
	switch format {
	case asJSON, asYAML:
		return e.encodeValue(map[string]any{"items": docs}, format)
	case asID:
		for _, d := range docs {
			e.printf("%s\n", d.ID)
		}
		return nil
	}
	e.printf("%s", e.documents(columns, docs, format == asWide))
	return nil
}

// encode prints JSON as it is read best.
func (e *Env) encode(raw json.RawMessage, format string) error {
	if format == asYAML {
		text, err := yaml.JSONToYAML(raw)
		if err != nil {
			return fmt.Errorf("write as YAML: %w", err)
		}
		e.printf("%s", text)
		return nil
	}
	var text bytes.Buffer
	if err := json.Indent(&text, bytes.TrimSpace(raw), "", "  "); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	e.printf("%s\n", text.String())
	return nil
}

// encodeValue prints a value of ours.
func (e *Env) encodeValue(value any, format string) error {
	var raw bytes.Buffer
	encoder := json.NewEncoder(&raw)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return e.encode(raw.Bytes(), format)
}

// documents is a table of documents. Columns in which nothing is are left out
// unless all are wanted.
func (e *Env) documents(columns []column, docs []*document, all bool) string {
	shown := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		filled := slices.ContainsFunc(docs, func(d *document) bool { return c.value(d) != "" })
		return c.wide && !all || !filled && !all && c.title != "id"
	})
	titles := make([]string, len(shown))
	for i, c := range shown {
		titles[i] = c.title
	}
	t := newTable(e, titles...)
	for _, d := range docs {
		values := make([]string, len(shown))
		for i, c := range shown {
			values[i] = e.paint(c.mood(d), c.value(d))
		}
		t.row(values...)
	}
	return t.String()
}

func (c column) mood(d *document) mood {
	switch c.title {
	case "phase":
		return moodOfPhase(&d.Meta)
	case "condition":
		return moodOf(d.condition())
	}
	return plain
}

func plural(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
