// Package e2e brings up a second stack beside whatever runs on this machine, uses it, hurts it, and takes it down.
package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testStack is a stack under test.
type testStack struct {
	binary, name, dir string
	env               map[string]string
}

func TestStack(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("run as root: the stack unpacks a Debian and mounts inside it")
	}
	s := &testStack{binary: build(t), name: fmt.Sprintf("e2e-%d", os.Getpid()), dir: t.TempDir()}
	t.Cleanup(func() { s.downLeavesNothing(t) })
	s.up(t)

	t.Run("two gateways, one store", s.testGateways)
	t.Run("users log in with a password", s.testUsers)
	t.Run("a deployment, a job and a volume", s.testWorkloads)
	t.Run("certificates", s.testCertificates)
	t.Run("validation and rights", s.testRules)
	t.Run("up keeps what is well", s.testUpTwice)
	t.Run("pause and resume", s.testPause)
	t.Run("acknowledged writes survive the death of PostgreSQL", s.testDurability)
	t.Run("up after everything was killed", s.testKillAll)
	t.Run("a foreign process on a port", s.testForeignPort)
}

// build builds the binary into the cache, or finds it there.
func build(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("../build.sh")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// run runs a devstack command on the stack and returns all it printed.
func (s *testStack) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.try(args...)
	if err != nil {
		t.Fatalf("devstack %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (s *testStack) try(args ...string) (string, error) {
	cmd := exec.Command(s.binary, append(args, "--name", s.name)...)
	cmd.Env = cleanEnv()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *testStack) up(t *testing.T) {
	t.Helper()
	t.Log(s.run(t, "up", "--dir", s.dir))
	s.env = map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(s.run(t, "env")), "\n") {
		key, value, _ := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		s.env[key] = strings.Trim(value, "'")
	}
}

// cleanEnv is the environment without servers that a developer may have chosen.
func cleanEnv() []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "MONGODB_URI=") && !strings.HasPrefix(entry, "KUBECONFIG=") {
			env = append(env, entry)
		}
	}
	return env
}

// kubectl runs kubectl on the stack's cluster, with the text as its input.
func (s *testStack) kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := s.tryKubectl(input, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (s *testStack) tryKubectl(input string, args ...string) (string, error) {
	cmd := exec.Command(s.binary, append([]string{"kubectl"}, args...)...)
	cmd.Env = append(cleanEnv(), "KUBECONFIG="+s.env["KUBECONFIG"])
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// pids are the pids of all components, as status shows them.
func (s *testStack) pids(t *testing.T) map[string]string {
	t.Helper()
	pids := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(s.run(t, "status")))
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 2 && fields[0] != "COMPONENT" {
			pids[fields[0]] = fields[1]
		}
	}
	return pids
}

func (s *testStack) downLeavesNothing(t *testing.T) {
	t.Helper()
	if t.Failed() {
		s.showLogs(t)
	}
	ports := strings.Fields(s.run(t, "status"))
	t.Log(s.run(t, "down", "--purge"))
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, environ := range environs {
		if raw, err := os.ReadFile(environ); err == nil && bytes.Contains(raw, []byte("LOCKSTEP_STACK="+s.dir)) {
			t.Errorf("still running after down: %s", environ)
		}
	}
	if mounts, _ := os.ReadFile("/proc/self/mounts"); bytes.Contains(mounts, []byte("documentdb")) {
		t.Errorf("mounts are left after down:\n%s", mounts)
	}
	for _, address := range ports {
		if strings.HasPrefix(address, "127.0.0.1:") {
			listener, err := net.Listen("tcp", address)
			if err != nil {
				t.Errorf("port is still taken after down: %v", err)
				continue
			}
			listener.Close()
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, "*")); len(left) > 0 {
		t.Errorf("files are left after down --purge: %v", left)
	}
}

func (s *testStack) showLogs(t *testing.T) {
	logs, _ := filepath.Glob(filepath.Join(s.dir, "log", "*.log"))
	for _, log := range logs {
		raw, _ := os.ReadFile(log)
		t.Logf("%s ends with:\n%s", log, raw[max(0, len(raw)-2000):])
	}
}
