package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Mongosh finds mongosh: MONGOSH, the one that devstack has installed, or the
// one in PATH.
func Mongosh(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("MONGOSH"); path != "" {
		return path
	}
	cache := os.Getenv("LOCKSTEP_CACHE")
	if cache == "" {
		if dir, err := os.UserCacheDir(); err == nil {
			cache = filepath.Join(dir, "lockstep")
		}
	}
	if found, _ := filepath.Glob(filepath.Join(cache, "mongosh-*", "mongosh")); len(found) > 0 {
		return found[len(found)-1]
	}
	path, err := exec.LookPath("mongosh")
	if err != nil {
		t.Fatal("no mongosh to test with: run `$(tools/devstack/build.sh) tools`, or set MONGOSH to the path of one")
	}
	return path
}
