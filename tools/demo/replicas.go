package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// replicaCount is how many replicas of the service the demo runs.
const replicaCount = 3

// stopGrace is how long a replica may take to shut down.
const stopGrace = 20 * time.Second

// replicas are the running processes of the service.
type replicas struct {
	basePort int
	procs    []*exec.Cmd
	ended    []chan error
}

// startReplicas starts the replicas and waits until each is ready. It returns
// a token for their API.
func startReplicas(ctx context.Context, o settings) (*replicas, string, error) {
	token := rand.Text()
	settings, err := writeSettings(o, token)
	if err != nil {
		return nil, "", err
	}
	r := &replicas{basePort: o.basePort}
	for i := range replicaCount {
		if err := r.start(o, settings, i); err != nil {
			r.stop()
			return nil, "", err
		}
	}
	for i := range replicaCount {
		if err := r.awaitReady(ctx, i); err != nil {
			r.stop()
			return nil, "", fmt.Errorf("replica %d did not get ready: %w; its log: %s", i+1, err, logPath(o, i))
		}
	}
	return r, token, nil
}

func (r *replicas) start(o settings, settings []string, i int) error {
	log, err := os.Create(logPath(o, i))
	if err != nil {
		return fmt.Errorf("make a replica's log: %w", err)
	}
	defer log.Close() //nolint:errcheck // the child has its own copy
	args := append([]string{"serve", "--replica", name(i), "--listen", fmt.Sprintf("127.0.0.1:%d", o.basePort+i)}, settings...)
	cmd := exec.Command(o.binary, args...)
	cmd.Env = append(os.Environ(), "LOCKSTEP_MONGODB_URI="+o.mongoURI)
	cmd.Stdout, cmd.Stderr = log, log
	// Should the demo itself be killed, its replicas end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a replica: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	r.procs, r.ended = append(r.procs, cmd), append(r.ended, ended)
	return nil
}

func name(i int) string { return fmt.Sprintf("replica-%d", i+1) }

func logPath(o settings, i int) string { return filepath.Join(o.folder, name(i)+".log") }

func (r *replicas) url(i int) string {
	return fmt.Sprintf("http://127.0.0.1:%d", r.basePort+i%replicaCount)
}

func (r *replicas) names() []string {
	var names []string
	for i := range r.procs {
		names = append(names, name(i))
	}
	return names
}

func (r *replicas) awaitReady(ctx context.Context, i int) error {
	return poll(ctx, time.Minute, func() (bool, error) {
		select {
		case err := <-r.ended[i]:
			return false, fmt.Errorf("it has ended: %w", err)
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url(i)+"/readyz", nil)
		if err != nil {
			return false, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, nil //nolint:nilerr // not listening yet
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK, nil
	})
}

// kill ends one replica as a crash would.
func (r *replicas) kill(i int) { _ = r.procs[i].Process.Kill() }

// stop asks all replicas to shut down, and waits for them.
func (r *replicas) stop() {
	for _, p := range r.procs {
		_ = p.Process.Signal(syscall.SIGTERM)
	}
	deadline := time.After(stopGrace)
	for i, p := range r.procs {
		select {
		case <-r.ended[i]: //nolint:errcheck // how it ended does not matter
		case <-deadline:
			_ = p.Process.Kill()
		}
	}
}

// poll calls f until it says true or fails, or the time is over.
func poll(ctx context.Context, within time.Duration, f func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not within %s", within))
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		done, err := f()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
