package e2e

import (
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func (s *testStack) testUpTwice(t *testing.T) {
	before := s.pids(t)
	if len(before) != 10 {
		t.Fatalf("want ten components, got %v", before)
	}
	s.up(t)
	if after := s.pids(t); !maps.Equal(before, after) {
		t.Errorf("a second up changed the processes:\n%v\n%v", before, after)
	}
}

// testKillAll kills all processes by the stack's pidfiles, as a crash of the machine would, and leaves the pidfiles behind.
func (s *testStack) testKillAll(t *testing.T) {
	pidfiles, _ := filepath.Glob(filepath.Join(s.dir, "run", "*.pid"))
	for _, pidfile := range pidfiles {
		raw, err := os.ReadFile(pidfile)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("kill %s: %v", pidfile, err)
		}
	}
	s.up(t)
	things := connect(t, s.env["MONGODB_URI"]).Database("e2e").Collection("things")
	if err := things.FindOne(t.Context(), bson.D{{Key: "_id", Value: "one"}}).Err(); err != nil {
		t.Errorf("the store has lost its data: %v", err)
	}
	s.kubectl(t, "", "get", "-n", "default", "certificate", "leaf")
}

func (s *testStack) testForeignPort(t *testing.T) {
	s.run(t, "kill", "ferretdb-1")
	uri, err := url.Parse(s.env["MONGODB_URI"])
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", uri.Host)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.try("up")
	listener.Close()
	if err == nil || !strings.Contains(out, "is taken by e2e.test, pid "+strconv.Itoa(os.Getpid())) {
		t.Errorf("up should say who holds the port, got %v:\n%s", err, out)
	}
	s.up(t)
}
