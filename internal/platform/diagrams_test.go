package platform_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/platform"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

var update = flag.Bool("update", false, "write the diagrams in docs anew")

// The diagrams in docs/lifecycles are those of the definitions.
func TestDiagrams(t *testing.T) {
	// A client connects when it is first used, which here is never.
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	p, err := platform.New(documents.Open(client.Database("none")), nil, platform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for kind, diagram := range p.Diagrams() {
		path := filepath.Join("..", "..", "docs", "lifecycles", strings.ToLower(string(kind))+".md")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%s has no page: %v", kind, err)
		}
		want, err := withDiagram(string(text), diagram)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if want == string(text) {
			continue
		}
		if !*update {
			t.Errorf("%s does not show the present definition: run `make generate`", path)
		} else if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // a public document
			t.Fatal(err)
		}
	}
}

// withDiagram puts the diagram into the page's only mermaid block.
func withDiagram(page, diagram string) (string, error) {
	const begin, end = "```mermaid\n", "```"
	before, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", fmt.Errorf("it has no mermaid block")
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("its mermaid block has no end")
	}
	return before + begin + diagram + end + after, nil
}
