package stack

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Kill ends a component at once with SIGKILL, with all its children, and leaves it dead until `up` or Restart.
func (s *Stack) Kill(name string) error {
	if _, err := s.component(name); err != nil {
		return err
	}
	if len(s.processesOf(name)) == 0 {
		return fmt.Errorf("%s is not running", name)
	}
	return s.kill(name)
}

// Pause stops all processes of a component with SIGSTOP: its connections stay open, and nothing answers.
func (s *Stack) Pause(name string) error { return s.signal(name, unix.SIGSTOP) }

// Resume lets a paused component go on.
func (s *Stack) Resume(name string) error { return s.signal(name, unix.SIGCONT) }

// Restart stops a component in order, starts it and waits until it is ready.
func (s *Stack) Restart(ctx context.Context, name string, say func(string)) error {
	c, err := s.component(name)
	if err != nil {
		return err
	}
	if err := s.stop(10*time.Second, name); err != nil {
		return err
	}
	if err := s.ensure(ctx, c, say); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (s *Stack) signal(name string, signal unix.Signal) error {
	if _, err := s.component(name); err != nil {
		return err
	}
	running := s.processesOf(name)
	if len(running) == 0 {
		return fmt.Errorf("%s is not running", name)
	}
	signalAll(running, signal)
	return nil
}

func (s *Stack) component(name string) (component, error) {
	var names []string
	for _, c := range s.components() {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	return component{}, fmt.Errorf("stack %s has no component %q: there are %s", s.Name, name, strings.Join(names, ", "))
}
