package cli_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/cli"
)

// docs/cli.md names every command and every exit code.
func TestDocumentation(t *testing.T) {
	raw, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, cmd := range cli.Commands(&cli.Env{Getenv: func(string) string { return "" }}) {
		if !strings.Contains(page, "`lockstep "+cmd.Name()) {
			t.Errorf("docs/cli.md does not name lockstep %s", cmd.Name())
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("lockstep %s: %q is no short description", cmd.Name(), cmd.Short)
		}
	}
	for _, c := range cli.Codes {
		if row := fmt.Sprintf("| %d | %s |\n", c.Code, c.Means); !strings.Contains(page, row) {
			t.Errorf("docs/cli.md lacks the row %s", row)
		}
	}
}
