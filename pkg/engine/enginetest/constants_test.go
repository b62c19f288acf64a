package enginetest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"
)

// constants are the values of the package's constants of a type of strings.
func constants(t *testing.T, typ string) (values []string) {
	t.Helper()
	files, err := filepath.Glob("sim*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if of, ok := spec.Type.(*ast.Ident); ok && of.Name == typ {
				for _, v := range spec.Values {
					if lit, ok := v.(*ast.BasicLit); ok {
						value, _ := strconv.Unquote(lit.Value)
						values = append(values, value)
					}
				}
			}
			return true
		})
	}
	if len(values) == 0 {
		t.Fatalf("no constants of type %s", typ)
	}
	return values
}
