package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// stack is the servers: a devstack of the run's own.
type stack struct {
	binary, name string
	log          string
	env          map[string]string
}

// stackTimeout bounds one command of devstack; building it the first time
// takes minutes.
const stackTimeout = 15 * time.Minute

// upStack builds devstack and the service, and starts servers without data.
func upStack(ctx context.Context, o settings) (*stack, error) {
	binary, err := output(ctx, nil, "tools/devstack/build.sh")
	if err != nil {
		return nil, err
	}
	s := &stack{binary: strings.TrimSpace(binary), name: o.stack, log: filepath.Join(o.folder, "devstack.log")}
	if err := s.command(ctx, "down", "--purge"); err != nil {
		return s, err
	}
	if err := s.command(ctx, "up"); err != nil {
		return s, err
	}
	text, err := output(ctx, s.environ(), s.binary, "env", "--name", s.name)
	if err != nil {
		return s, err
	}
	s.env = map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		s.env[name] = strings.Trim(value, "'")
	}
	return s, nil
}

// environ leaves out what would make devstack use servers that it did not start.
func (s *stack) environ() []string {
	var environ []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MONGODB_URI=") && !strings.HasPrefix(v, "KUBECONFIG=") {
			environ = append(environ, v)
		}
	}
	return environ
}

// command runs a command of devstack; what it says goes to a log.
func (s *stack) command(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, stackTimeout)
	defer cancel()
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own copy
	cmd := exec.CommandContext(ctx, s.binary, append(args, "--name", s.name)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = s.environ(), log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("devstack %s: %w; its log: %s", strings.Join(args, " "), err, s.log)
	}
	return nil
}

// restart begins to bring a component back, however it ended. It waits for the
// component to be well, unless ctx ends before.
func (s *stack) restart(ctx context.Context, component string) error {
	return s.command(ctx, "restart", component)
}

func (s *stack) down() {
	if err := s.command(context.Background(), "down", "--purge"); err != nil {
		say("%v", err)
	}
}

// output runs a command and returns what it prints.
func output(ctx context.Context, environ []string, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, stackTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Stderr = environ, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return string(text), nil
}
