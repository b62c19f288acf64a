package engine_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The diagram is kept in a golden file, which shows what it looks like
// (anywhere that draws Mermaid).
func TestDiagram(t *testing.T) {
	d := things(takes("rent a place", 0), takes("move in", 0))
	d.Settled[0].Resync = time.Minute
	d.Transitions[0].Within = 10 * time.Minute
	golden(t, "thing.mmd", d.Diagram())
}

// golden compares with a file of testdata, which -update writes anew.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (run with -update to accept it):\n%s", file, got)
	}
}
