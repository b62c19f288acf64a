package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// lockTimeout of all replicas: as short as is sensible, because tests wait it
// out.
const lockTimeout = 5 * time.Second

// replica is one process of the service.
type replica struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	log   string // the file
	url   string
	ended chan struct{}
}

// launch is how a replica is started.
type launch struct {
	name     string
	mongoURI string
	regions  []resource.Region
	args     []string
	env      []string
}

// start starts a replica and does not wait for anything. It is killed when the
// test ends, if it has not ended before.
func (w *world) start(name string, change ...func(*launch)) *replica {
	w.t.Helper()
	l := launch{name: name, mongoURI: testenv.MongoURI(w.t), regions: []resource.Region{w.region}}
	for _, f := range change {
		f(&l)
	}
	regions := filepath.Join(w.folder, name+"-regions.json")
	text, err := json.Marshal(l.regions)
	must(w.t, err)
	must(w.t, os.WriteFile(regions, text, 0o600))
	args := append([]string{
		"serve", "--replica", name, "--listen", "127.0.0.1:0", "--database", w.db.Name(), "--regions", regions,
		"--lock-timeout", lockTimeout.String(), "--auth-open",
	}, l.args...)
	return w.run(name, append([]string{"LOCKSTEP_MONGODB_URI=" + l.mongoURI}, l.env...), args...)
}

// run starts the binary with its output in a log.
func (w *world) run(name string, env []string, args ...string) *replica {
	w.t.Helper()
	r := &replica{t: w.t, name: name, log: filepath.Join(w.folder, name+".log"), ended: make(chan struct{})}
	log, err := os.OpenFile(r.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must(w.t, err)
	defer log.Close()
	r.cmd = exec.Command(binary, args...)
	r.cmd.Env = append(cleanEnv(), append(env, "GORACE=halt_on_error=1")...)
	r.cmd.Stdout, r.cmd.Stderr = log, log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(w.t, r.cmd.Start())
	go func() {
		_ = r.cmd.Wait()
		close(r.ended)
	}()
	w.t.Cleanup(func() {
		r.kill()
		if w.t.Failed() {
			w.t.Logf("the log of %s:\n%s", name, tail(r.logged(), 60))
		}
		if strings.Contains(r.logged(), "DATA RACE") {
			w.t.Errorf("%s has a data race:\n%s", name, r.logged())
		}
	})
	return r
}

// cleanEnv is the environment without settings of the service.
func cleanEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "LOCKSTEP_") && !strings.HasPrefix(v, "MONGODB_") && !strings.HasPrefix(v, "KUBECONFIG") {
			env = append(env, v)
		}
	}
	return env
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// ready starts a replica and waits until it is ready.
func (w *world) ready(name string, change ...func(*launch)) *replica {
	w.t.Helper()
	r := w.start(name, change...)
	r.listens()
	await(w.t, name+" to be ready", func() error { return r.probe("/readyz", http.StatusOK) })
	return r
}

// listens waits until the replica serves its API: it says where in its log.
func (r *replica) listens() {
	r.t.Helper()
	await(r.t, r.name+" to listen", func() error {
		for _, line := range r.lines() {
			if line.Message == "serving" {
				r.url = "http://" + line.Address
				return nil
			}
		}
		if r.hasEnded() {
			r.t.Fatalf("%s has ended: %s", r.name, r.logged())
		}
		return errors.New("it does not")
	})
}

// line is a line of the log.
type line struct {
	Level   string `json:"level"`
	Message string `json:"msg"`
	Error   string `json:"error"`
	Address string `json:"address"`
	Replica string `json:"replica"`
}

func (r *replica) lines() (all []line) {
	scanner := bufio.NewScanner(strings.NewReader(r.logged()))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var l line
		if json.Unmarshal(scanner.Bytes(), &l) == nil {
			all = append(all, l)
		}
	}
	return all
}

func (r *replica) logged() string {
	text, err := os.ReadFile(r.log)
	must(r.t, err)
	return string(text)
}

// says waits for a line of the log that contains all of the texts.
func (r *replica) says(texts ...string) {
	r.t.Helper()
	await(r.t, fmt.Sprintf("%s to log %q", r.name, texts), func() error {
		for _, l := range strings.Split(r.logged(), "\n") {
			found := true
			for _, text := range texts {
				found = found && strings.Contains(l, text)
			}
			if found {
				return nil
			}
		}
		return errors.New("no such line")
	})
}

// probe is an error unless the path answers with the status.
func (r *replica) probe(path string, want int) error {
	status, body, err := r.request(http.MethodGet, path, nil)
	if err == nil && status != want {
		err = fmt.Errorf("%s: %d %s", path, status, body)
	}
	return err
}

var client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (r *replica) request(method, path string, body any) (status int, answer []byte, err error) {
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		must(r.t, err)
		payload = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, r.url+path, payload)
	must(r.t, err)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// call makes a request, which must be answered with the status, and decodes
// the answer.
func (r *replica) call(method, path string, body any, want int, into any) {
	r.t.Helper()
	must(r.t, r.try(method, path, body, want, into))
}

// try is call for those that go on if it fails.
func (r *replica) try(method, path string, body any, want int, into any) error {
	status, answer, err := r.request(method, path, body)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	if status != want {
		return fmt.Errorf("%s: %s %s: %d %s, want %d", r.name, method, path, status, answer, want)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// create makes a gateway by the API.
func (r *replica) create(change ...func(map[string]any)) string {
	r.t.Helper()
	body := map[string]any{"name": "shop", "region": "eu"}
	for _, f := range change {
		f(body)
	}
	var answer resource.ApiGateway
	r.call(http.MethodPost, "/v1/api-gateways", body, http.StatusCreated, &answer)
	return answer.GatewayID
}

// set asks for a state by the API.
func (r *replica) set(state engine.State, ids ...string) {
	r.t.Helper()
	for _, id := range ids {
		if state == resource.Deleted {
			r.call(http.MethodDelete, "/v1/api-gateways/"+id, nil, http.StatusAccepted, nil)
		} else {
			r.call(http.MethodPatch, "/v1/api-gateways/"+id, map[string]any{"state": state}, http.StatusAccepted, nil)
		}
	}
}

// metric sums a metric over its labels.
func (r *replica) metric(name string) float64 {
	r.t.Helper()
	_, answer, err := r.request(http.MethodGet, "/metrics", nil)
	must(r.t, err)
	var sum float64
	for _, line := range strings.Split(string(answer), "\n") {
		if !strings.HasPrefix(line, name+"{") && !strings.HasPrefix(line, name+" ") {
			continue
		}
		var value float64
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &value); err != nil {
			r.t.Fatalf("metric %s: %v", line, err)
		}
		sum += value
	}
	return sum
}

// signal sends one.
func (r *replica) signal(s syscall.Signal) { _ = r.cmd.Process.Signal(s) }

func (r *replica) hasEnded() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// kill ends the replica as a crash does.
func (r *replica) kill() {
	r.signal(syscall.SIGKILL)
	<-r.ended
}

// ends waits for the end of the process and returns its exit code: -1 if it
// was ended by a signal.
func (r *replica) ends() int {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.t.Fatalf("%s does not end", r.name)
	}
	return r.cmd.ProcessState.ExitCode()
}
