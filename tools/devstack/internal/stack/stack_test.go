package stack

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCreateChoosesPortsAndRemembersThem(t *testing.T) {
	t.Setenv("LOCKSTEP_CACHE", t.TempDir())
	first := create(t, "default", "", 0)
	if first.PortBase != DefaultPortBase {
		t.Errorf("the default stack's ports start at %d", first.PortBase)
	}
	second := create(t, "second", "", 0)
	if second.PortBase < DefaultPortBase+portCount {
		t.Errorf("ports of two stacks overlap: %d and %d", first.PortBase, second.PortBase)
	}
	if again := create(t, "second", "", 0); again.PortBase != second.PortBase {
		t.Errorf("the stack has moved from %d to %d", second.PortBase, again.PortBase)
	}
	if _, err := Create("third", "", second.PortBase+1); err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("overlapping ports were taken: %v", err)
	}
	if _, err := Open("third"); !errors.Is(err, ErrNone) {
		t.Errorf("a stack that could not be made is there: %v", err)
	}
}

func TestStackElsewhereIsFoundByName(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	t.Setenv("LOCKSTEP_CACHE", cache)
	create(t, "far", filepath.Join(dir, "stack"), 0)
	s, err := Open("far")
	if err != nil || s.Dir != filepath.Join(dir, "stack") {
		t.Fatalf("open: %v, in %s", err, s.Dir)
	}
	if _, err := Create("far", t.TempDir(), 0); err == nil || !strings.Contains(err.Error(), "lives in") {
		t.Errorf("a stack got a second folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, "*")); len(left) != 1 {
		t.Errorf("purge should leave the developer's file alone, and nothing else: %v", left)
	}
	if _, err := os.Lstat(filepath.Join(cache, "stacks", "far")); err == nil {
		t.Error("the link is left")
	}
}

func TestOwnServersAreNotExternal(t *testing.T) {
	t.Setenv("LOCKSTEP_CACHE", t.TempDir())
	s := create(t, "default", "", 0)
	if os.Geteuid() != 0 {
		t.Skip("only root has servers of its own")
	}
	t.Setenv("MONGODB_URI", s.mongoURI(portFerret1))
	t.Setenv("KUBECONFIG", "/elsewhere")
	s.chooseExternal()
	if s.ExternalMongo != "" || s.ExternalKube != "/elsewhere" {
		t.Errorf("external: %q and %q", s.ExternalMongo, s.ExternalKube)
	}
	if components := s.components(); len(components) != 4 || components[0].name != postgres {
		t.Errorf("want only the Mongo part, got %d components", len(components))
	}
}

func create(t *testing.T, name, dir string, portBase int) *Stack {
	t.Helper()
	s, err := Create(name, dir, portBase)
	if err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	return s
}
