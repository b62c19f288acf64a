package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// binary is the service, built once for all tests.
var (
	binary     string
	buildFlags = []string{"build"}
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait far more than they work.
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := parallel.Value.Set("4"); err != nil {
			fail(err)
		}
	}
	folder, err := os.MkdirTemp("", "lockstep-e2e-")
	if err != nil {
		fail(err)
	}
	binary = filepath.Join(folder, "lockstep")
	build := exec.Command("go", append(buildFlags, "-o", binary, "github.com/lockstep-io/lockstep/cmd/lockstep")...)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fail(fmt.Errorf("build the service: %w", err))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(folder)
		os.Exit(code)
	}))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// patience bounds every wait: far longer than anything should take on a busy
// machine, so that only what never comes fails.
const patience = 3 * time.Minute

// await polls until f returns nil, and fails the test with its last error if
// that takes too long. It returns how long it took.
func await(t testing.TB, what string, f func() error) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		err := f()
		took := time.Since(began)
		if err == nil {
			t.Logf("%s: %s", what, took.Round(time.Millisecond))
			return took
		}
		if took > patience {
			t.Fatalf("%s: not within %s: %v", what, patience, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
