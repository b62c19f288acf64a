package config

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

const document = "../../docs/configuration.md"

// The table has what help and messages need, and names nothing twice.
func TestTable(t *testing.T) {
	fields, flags, regions := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, o := range options {
		if fields[o.field.Name] || flags[o.Flag] || o.region != "" && regions[o.region] {
			t.Errorf("%s: its field, flag or region's field is another's, too", o.name())
		}
		fields[o.field.Name], flags[o.Flag], regions[o.region] = true, true, true
		if o.Unit == "" {
			t.Errorf("%s has no unit", o.name())
		}
		if (o.min == "") != (o.max == "") {
			t.Errorf("%s has one bound", o.name())
		}
		if strings.HasSuffix(o.Doc, ".") {
			t.Errorf("%s: the description ends in a full stop", o.name())
		}
	}
	for _, field := range regionFields {
		if !regions[field] {
			t.Errorf("no option sets the region's field %s", field)
		}
	}
}

func TestHelp(t *testing.T) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(set)
	help := set.FlagUsages()
	for _, o := range Options() {
		if !strings.Contains(help, "--"+o.Flag) || !strings.Contains(help, o.Env) {
			t.Errorf("%s is not in the help", o.name())
		}
	}
	if strings.Contains(help, "test-clock-offset") {
		t.Error("an option for tests is in the help")
	}
}

// docs/configuration.md is the table, in words.
func TestDocument(t *testing.T) {
	var doc bytes.Buffer
	doc.WriteString("# Configuration\n\n" +
		"Options of `lockstep serve`. Each is a flag and a variable; the flag goes before. Wrong values are refused at start.\n\n" +
		"| flag | variable | default | unit | meaning |\n|---|---|---|---|---|\n")
	for _, o := range Options() {
		fallback := o.Default
		if o.Required {
			fallback = "required"
		}
		fmt.Fprintf(&doc, "| `--%s` | `%s` | %s | %s | %s |\n", o.Flag, o.Env, fallback, o.Unit, o.Doc)
	}
	doc.WriteString("\nThe options of a region are required only without `--regions`. The file is a list of regions, strictly decoded:\n\n```yaml\n" +
		strings.TrimSpace(strings.ReplaceAll(twoRegions, "hunter2", "PASSWORD")) + "\n```\n")
	if *update {
		if err := os.WriteFile(document, doc.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, doc.Bytes()) {
		t.Errorf("%s is not the table any more: run `make generate`", document)
	}
}
