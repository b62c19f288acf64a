package debian

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// InstallOnHost installs packages of the host's own Debian whose programs are missing; the package and the program have
// one name.
func InstallOnHost(ctx context.Context, log string, say func(string), packages ...string) error {
	var missing []string
	for _, name := range packages {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("%s is not installed, and there is no apt-get to install it", strings.Join(missing, ", "))
	}
	install := append([]string{"install", "-y", "--no-install-recommends"}, missing...)
	if aptGet(ctx, log, say, install...) == nil {
		return nil
	}
	// The index may be missing or old: fetch it once and try again.
	updateErr := aptGet(ctx, log, say, "-o", "Acquire::Check-Valid-Until=false", "update")
	if err := aptGet(ctx, log, say, install...); err != nil {
		return fmt.Errorf("install %s (log: %s): %w", strings.Join(missing, ", "), log, errors.Join(err, updateErr))
	}
	return nil
}

func aptGet(ctx context.Context, log string, say func(string), args ...string) error {
	cmd := exec.Command("apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	return run(ctx, cmd, log, say)
}

// Run runs a long command of the host; see run.
func Run(ctx context.Context, log string, say func(string), argv ...string) error {
	return run(ctx, exec.Command(argv[0], argv[1:]...), log, say)
}

// run runs a long command: its output goes to the log, each line also to say. When ctx ends, its whole process group does.
func run(ctx context.Context, cmd *exec.Cmd, log string, say func(string)) error {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer file.Close()
	fmt.Fprintf(file, "\n# %s: %s\n", time.Now().Format(time.RFC3339), strings.Join(cmd.Args, " "))

	var tail bytes.Buffer
	reader, writer := io.Pipe()
	lines := make(chan struct{})
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(reader); scanner.Scan(); {
			if line := strings.TrimSpace(scanner.Text()); line != "" {
				say(shorten(line))
				fmt.Fprintln(&tail, line)
			}
		}
		_, _ = io.Copy(io.Discard, reader) // an overlong line ends the scanner, not the command
	}()
	cmd.Stdout = io.MultiWriter(file, writer)
	cmd.Stderr = cmd.Stdout
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = !cmd.SysProcAttr.Setsid
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", cmd.Args[0], err)
	}
	stop := context.AfterFunc(ctx, func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) })
	defer stop()
	err = cmd.Wait()
	writer.Close()
	<-lines
	if err != nil {
		return fmt.Errorf("%s: %w: %s", cmd.Args[0], errors.Join(err, ctx.Err()), lastLines(tail.String(), 5))
	}
	return nil
}

func shorten(line string) string {
	if len(line) > 90 {
		return line[:87] + "..."
	}
	return line
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}

// lock keeps two stacks from unpacking at once; the lock ends with its process.
func (t Tree) lock(ctx context.Context, say func(string)) (unlock func(), err error) {
	file, err := os.OpenFile(t.Root()+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the suite: %w", err)
	}
	for unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		say("another stack is unpacking the suite; waiting for it")
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return func() { file.Close() }, nil
}
