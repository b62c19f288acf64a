package debian

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLookupUser(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	passwd := "root:x:0:0::/root:/bin/sh\npostgres:x:101:103::/var/lib/postgresql:/bin/sh\n"
	if err := os.WriteFile(filepath.Join(root, "etc/passwd"), []byte(passwd), 0o600); err != nil {
		t.Fatal(err)
	}
	if uid, gid, err := LookupUser(root, "postgres"); err != nil || uid != 101 || gid != 103 {
		t.Errorf("postgres is %d:%d, %v", uid, gid, err)
	}
	if _, _, err := LookupUser(root, "nobody"); err == nil {
		t.Error("found a user that is not there")
	}
}

func TestRunTellsWhatFailed(t *testing.T) {
	var said []string
	err := Run(t.Context(), filepath.Join(t.TempDir(), "log"), func(line string) { said = append(said, line) },
		"sh", "-c", "echo fetching; echo no such package >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no such package") {
		t.Errorf("error: %v", err)
	}
	if strings.Join(said, ",") != "fetching,no such package" {
		t.Errorf("said %q", said)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	err := Run(ctx, filepath.Join(t.TempDir(), "log"), func(string) {}, "sh", "-c", "sleep 30; true")
	if err == nil || time.Since(begun) > 10*time.Second {
		t.Errorf("ended after %s with %v", time.Since(begun), err)
	}
}
