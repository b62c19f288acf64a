package platform_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The tests of this package run the gateway family on real servers, each on a
// database of its own and with gateways of its own. They wait far more than
// they work (a namespace takes 5 s to go), so many run at once.
func TestMain(m *testing.M) {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := parallel.Value.Set("8"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait: far longer than anything should take on a busy
// machine, so that only what never comes fails.
const patience = 180 * time.Second

// await polls until f returns nil, and fails the test with its last error if
// that takes too long.
func await(t testing.TB, what string, f func() error) {
	t.Helper()
	awaitWithin(t, patience, what, f)
}

func awaitWithin(t testing.TB, within time.Duration, what string, f func() error) {
	t.Helper()
	began := time.Now()
	deadline := began.Add(within)
	for {
		err := f()
		if err == nil {
			t.Logf("%s: %s", what, time.Since(began).Round(time.Millisecond))
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, within, err)
		}
		pause(20 * time.Millisecond)
	}
}

// holds fails the test if f returns an error at any time within the duration:
// for what must not happen, however long one waits.
func holds(t testing.TB, for_ time.Duration, what string, f func() error) {
	t.Helper()
	for end := time.Now().Add(for_); time.Now().Before(end); pause(20 * time.Millisecond) {
		if err := f(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// pause is the rhythm of polling.
func pause(d time.Duration) { <-time.After(d) }

// bounded is a context for one call to a server.
func bounded(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(context.Background(), 2*time.Minute)
}
