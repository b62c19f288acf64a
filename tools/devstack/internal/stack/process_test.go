package stack

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// A process is found by its environment, or, like PostgreSQL's children, by the log it writes to; never by a pidfile.
func TestProcessesAreFoundAndKilled(t *testing.T) {
	t.Setenv("LOCKSTEP_CACHE", t.TempDir())
	s, other := create(t, "one", "", 0), create(t, "two", "", 0)
	log, err := os.Create(s.logfile(postgres))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	byLog := sleeper(t)
	byLog.Stderr = log
	byEnv := sleeper(t, stackMarker+"="+s.Dir, componentMarker+"="+etcd)
	foreign := sleeper(t, stackMarker+"="+other.Dir, componentMarker+"="+etcd)
	for _, cmd := range []*exec.Cmd{byLog, byEnv, foreign} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
	}
	if err := s.writePidfile(kwok, os.Getpid()); err != nil {
		t.Fatal(err)
	}

	found := map[string]int{}
	for _, p := range s.processes() {
		found[p.Component] = p.PID
		if age := time.Since(p.Since); age < -time.Second || age > time.Minute {
			t.Errorf("%s is %s old", p.Component, age)
		}
	}
	if len(found) != 2 || found[postgres] != byLog.Process.Pid || found[etcd] != byEnv.Process.Pid {
		t.Errorf("found %v", found)
	}

	if err := s.Pause(etcd); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	if p := s.processesOf(etcd); len(p) != 1 || !p[0].Stopped {
		t.Errorf("not paused: %v", p)
	}
	// The dead are zombies here, as nobody has waited for them: they count as gone.
	if err := s.Down(func(string) {}); err != nil {
		t.Errorf("down: %v", err)
	}
	if len(other.processes()) != 1 {
		t.Error("the other stack's process is gone")
	}
	if _, err := os.Stat(s.pidfile(kwok)); err == nil {
		t.Error("a pidfile is left")
	}
}

func sleeper(t *testing.T, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	return cmd
}
