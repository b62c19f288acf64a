package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// stop ends components: it asks the started processes nicely, waits, and kills what is left.
func (s *Stack) stop(grace time.Duration, components ...string) error {
	for _, name := range components {
		family := s.processesOf(name)
		if len(family) == 0 {
			continue
		}
		signalAll(family, unix.SIGCONT) // a stopped process would not hear
		if name == postgres {
			_ = unix.Kill(family[0].PID, unix.SIGINT) // its fast shutdown; on SIGTERM it waits for clients to leave
		} else {
			signalAll(family, unix.SIGTERM)
		}
	}
	if s.gone(grace, components...) {
		return nil
	}
	return s.kill(components...)
}

// kill ends all processes of the components at once, as a crash would.
func (s *Stack) kill(components ...string) error {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		signalAll(s.processesOf(components...), unix.SIGKILL)
		if s.gone(500*time.Millisecond, components...) {
			return nil
		}
	}
	return fmt.Errorf("killed processes are still there after 10 s: %v", s.processesOf(components...))
}

// gone waits until no process of the components is left.
func (s *Stack) gone(patience time.Duration, components ...string) bool {
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if len(s.processesOf(components...)) == 0 {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// signalAll sends the signal to each of the processes; one that is gone is no error.
func signalAll(processes []Process, signal unix.Signal) {
	for _, p := range processes {
		_ = unix.Kill(p.PID, signal)
	}
}

// Down stops everything that runs for the stack, whoever started it and whatever its pidfiles say. The stores stop after
// those that use them.
func (s *Stack) Down(say func(string)) error {
	var others []string
	for _, p := range s.processes() {
		if p.Component != postgres && p.Component != etcd && !slices.Contains(others, p.Component) {
			others = append(others, p.Component)
		}
	}
	for _, wave := range [][]string{others, {postgres, etcd}} {
		running := s.processesOf(wave...)
		if len(running) == 0 {
			continue
		}
		say(fmt.Sprintf("stopping %d processes of %s", len(running), s.Name))
		if err := s.stop(10*time.Second, wave...); err != nil {
			return err
		}
	}
	if left := s.processes(); len(left) > 0 {
		return fmt.Errorf("still running after everything was stopped: %v", left)
	}
	pidfiles, _ := filepath.Glob(s.path("run", "*.pid"))
	for _, pidfile := range pidfiles {
		if err := os.Remove(pidfile); err != nil {
			return fmt.Errorf("remove a pidfile: %w", err)
		}
	}
	return nil
}
