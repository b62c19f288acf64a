package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The names of the components.
const (
	postgres          = "postgres"
	ferret1           = "ferretdb-1"
	ferret2           = "ferretdb-2"
	ferretAuth        = "ferretdb-auth"
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kwok              = "kwok"
	certManager       = "cert-manager"
)

// component is one process of the stack.
type component struct {
	name    string
	port    int // offset in the stack's block
	after   []string
	command func() (*exec.Cmd, error)
	ready   func(context.Context) error // one quick look
}

const (
	readyTimeout = 2 * time.Minute  // from start to ready, on a busy machine
	keepTimeout  = 15 * time.Second // for a running component to prove that it is well, likewise
	lookTimeout  = 5 * time.Second
)

// ensure leaves the component running and ready: it keeps a healthy one and replaces any other.
func (s *Stack) ensure(ctx context.Context, c component, say func(string)) error {
	if running := s.processesOf(c.name); len(running) > 0 {
		signalAll(running, unix.SIGCONT)
		if waitReady(ctx, c, keepTimeout, s.vanished(c.name)) == nil {
			say(fmt.Sprintf("kept, pid %d", running[0].PID))
			return s.writePidfile(c.name, running[0].PID)
		}
		if ctx.Err() != nil {
			return ctx.Err() // another step failed, or Ctrl-C: that says nothing about this component
		}
		say("not well; starting it anew")
		if err := s.stop(3*time.Second, c.name); err != nil {
			return err
		}
	}
	if who := holder(s.PortBase + c.port); who != "" {
		return fmt.Errorf("port %s is taken by %s: end it, or choose other ports with --port-base", s.port(c.port), who)
	}
	return s.start(ctx, c, say)
}

// start starts the component detached from this process and waits until it is ready or dead.
func (s *Stack) start(ctx context.Context, c component, say func(string)) error {
	cmd, err := c.command()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.logfile(c.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open its log: %w", err)
	}
	defer log.Close()
	fmt.Fprintf(log, "\n# %s: %s\n", time.Now().Format(time.RFC3339), strings.Join(cmd.Args, " "))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), "HOME="+s.Dir, stackMarker+"="+s.Dir, componentMarker+"="+c.name)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start it: %w", err)
	}
	if err := s.writePidfile(c.name, cmd.Process.Pid); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	if err := waitReady(ctx, c, readyTimeout, func() error {
		select {
		case end := <-exited:
			return fmt.Errorf("it ended before it was ready: %v", end)
		default:
			return nil
		}
	}); err != nil {
		return fmt.Errorf("%w\n%s", err, s.logTail(c.name))
	}
	say(fmt.Sprintf("ready, pid %d", cmd.Process.Pid))
	return nil
}

// waitReady looks until the component is ready, dead, or out of time.
func waitReady(ctx context.Context, c component, patience time.Duration, dead func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		look, done := context.WithTimeout(ctx, lookTimeout)
		err := c.ready(look)
		done()
		if err == nil {
			return nil
		}
		if err := dead(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s: %w", patience, errors.Join(err, context.Cause(ctx)))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// vanished looks whether the component, which this process has not started, has no process left.
func (s *Stack) vanished(component string) func() error {
	return func() error {
		if len(s.processesOf(component)) == 0 {
			return errors.New("it has ended")
		}
		return nil
	}
}

func (s *Stack) logfile(component string) string { return s.path("log", component+".log") }
func (s *Stack) pidfile(component string) string { return s.path("run", component+".pid") }

func (s *Stack) writePidfile(component string, pid int) error {
	return writeFile(s.pidfile(component), []byte(strconv.Itoa(pid)+"\n"), 0o644)
}

// logTail is the end of a component's log, for an error message.
func (s *Stack) logTail(component string) string {
	raw, err := os.ReadFile(s.logfile(component))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	const count = 12
	return fmt.Sprintf("the end of %s:\n  %s", s.logfile(component), strings.Join(lines[max(0, len(lines)-count):], "\n  "))
}
