package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testrecord"
)

// databaseName is the database of the documents, issuerName the ClusterIssuer
// of custom domains.
const (
	databaseName = "lockstep_chaos"
	issuerName   = "lockstep-chaos"
)

// pause is a time during which a process was stopped, by [testrecord.Now].
type pause struct {
	process  string
	from, to int64
}

// replica is one of the service's places, in which one process runs after
// another.
type replica struct {
	index    int
	port     int
	db, kube *link
	flags    []string

	mu     sync.Mutex // held by the fault that is at the replica
	life   int
	name   string // of the process
	offset time.Duration
	cmd    *exec.Cmd
	ended  chan struct{}
}

// replicas are all of them.
type replicas struct {
	o     settings
	all   []*replica
	token string

	mu     sync.Mutex
	pauses []pause
}

// startReplicas starts them, the second and third with clocks that are wrong.
func startReplicas(o settings, s *stack, l *links) (*replicas, error) {
	rs := &replicas{o: o, token: rand.Text()}
	for i := range o.replicas {
		r, err := rs.place(i, s, l)
		if err != nil {
			return rs, err
		}
		rs.all = append(rs.all, r)
		switch i % 3 {
		case 1:
			r.offset = 10 * time.Minute
		case 2:
			r.offset = -10 * time.Minute
		}
		if err := rs.start(r); err != nil {
			return rs, err
		}
	}
	for _, r := range rs.all {
		if !within(time.Minute, r.ready) {
			return rs, fmt.Errorf("replica %s did not get ready; its log is in %s", r.name, o.folder)
		}
	}
	return rs, nil
}

// place makes a replica's lines, and the files that tell it to use them.
func (rs *replicas) place(i int, s *stack, l *links) (*replica, error) {
	r := &replica{index: i}
	var err error
	if r.port, err = freePort(); err != nil {
		return nil, err
	}
	uri, err := url.Parse(s.env[[]string{"MONGODB_URI", "MONGODB_URI_2"}[i%2]])
	if err != nil {
		return nil, err
	}
	if r.db, err = l.to(fmt.Sprintf("db-%d", i+1), uri.Host); err != nil {
		return nil, err
	}
	kubeconfig, err := clientcmd.LoadFromFile(s.env["KUBECONFIG"])
	if err != nil {
		return nil, fmt.Errorf("read the stack's kubeconfig: %w", err)
	}
	cluster := kubeconfig.Clusters[kubeconfig.Contexts[kubeconfig.CurrentContext].Cluster]
	if r.kube, err = l.to(fmt.Sprintf("kube-%d", i+1), strings.TrimPrefix(cluster.Server, "https://")); err != nil {
		return nil, err
	}
	cluster.Server = "https://" + r.kube.address()
	file := filepath.Join(rs.o.folder, fmt.Sprintf("kubeconfig-%d", i+1))
	if err := clientcmd.WriteToFile(*kubeconfig, file); err != nil {
		return nil, fmt.Errorf("write a kubeconfig: %w", err)
	}
	r.flags, err = rs.settings(r, "mongodb://"+r.db.address()+"/?directConnection=true", file)
	return r, err
}

// settings writes a replica's files and returns its flags.
func (rs *replicas) settings(r *replica, uri, kubeconfig string) ([]string, error) {
	var regions []resource.Region
	for _, name := range []string{"eu", "us"} {
		regions = append(regions, resource.Region{
			Name: name, Kubeconfig: kubeconfig, IngressClass: "apisix", DomainSuffix: name + ".example.com",
			ClusterIssuer: issuerName, RuntimeMongoURI: uri, RuntimeImage: "lockstep-runtime:1", RuntimeReplicas: 1,
			ApisixAcceptance: resource.AcceptedByAPIServer,
		})
	}
	regionsFile := filepath.Join(rs.o.folder, fmt.Sprintf("regions-%d.json", r.index+1))
	if err := writeJSON(regionsFile, regions); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(rs.token))
	tokensFile := filepath.Join(rs.o.folder, "tokens.json")
	err := writeJSON(tokensFile, []map[string]any{{"name": "chaos", "sha256": hex.EncodeToString(sum[:]), "role": "admin", "tenant": "*"}})
	return []string{
		"--mongodb-uri", uri, "--database", databaseName, "--regions", regionsFile, "--auth-tokens-file", tokensFile,
		"--lock-timeout", rs.o.lock.String(), "--log-format", "console", "--grace", "10s",
		"--listen", fmt.Sprintf("127.0.0.1:%d", r.port),
	}, err
}

func writeJSON(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()                          //nolint:errcheck // nothing was sent
	return l.Addr().(*net.TCPAddr).Port, nil //nolint:forcetypeassert // it is TCP
}

// start starts the next process in a place.
func (rs *replicas) start(r *replica) error {
	r.life++
	r.name = fmt.Sprintf("chaos-%d-%d", r.index+1, r.life)
	log, err := os.Create(filepath.Join(rs.o.folder, r.name+".log"))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own copy
	args := append([]string{
		"serve", "--replica", r.name, "--test-clock-offset", r.offset.String(),
		"--test-record", filepath.Join(rs.o.folder, r.name+".jsonl"),
	}, r.flags...)
	if rs.o.without != "" {
		args = append(args, "--test-without", rs.o.without)
	}
	r.cmd = exec.Command(filepath.Join(rs.o.folder, "lockstep"), args...)
	r.cmd.Env = append(os.Environ(), "LOCKSTEP_TESTING=1")
	r.cmd.Stdout, r.cmd.Stderr = log, log
	// Should this program be killed, its replicas end with it.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		return fmt.Errorf("start a replica: %w", err)
	}
	ended, cmd := make(chan struct{}), r.cmd
	go func() { _ = cmd.Wait(); close(ended) }()
	r.ended = ended
	return nil
}

func (r *replica) url() string { return fmt.Sprintf("http://127.0.0.1:%d", r.port) }

func (r *replica) ready() bool {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get(r.url() + "/readyz")
	if err != nil {
		return false
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is read
	return resp.StatusCode == http.StatusOK
}

// kill ends a process as a crash would.
func (r *replica) kill() {
	_ = r.cmd.Process.Kill()
	<-r.ended
}

// terminate asks a process to end, as a rolling update does.
func (r *replica) terminate() {
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.ended:
	case <-time.After(20 * time.Second):
		r.kill()
	}
}

// stopFor stops a process for a while, as a long garbage collection or a
// moved virtual machine does. The process does not notice.
func (rs *replicas) stopFor(r *replica, d time.Duration) {
	p := pause{process: r.name, from: testrecord.Now()}
	_ = r.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(d)
	_ = r.cmd.Process.Signal(syscall.SIGCONT)
	p.to = testrecord.Now()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.pauses = append(rs.pauses, p)
}

// stop ends all processes.
func (rs *replicas) stop() {
	var wg sync.WaitGroup
	for _, r := range rs.all {
		if r.cmd != nil && r.cmd.Process != nil {
			wg.Go(r.terminate)
		}
	}
	wg.Wait()
}

// within calls f until it says true; it returns false if that takes too long.
func within(d time.Duration, f func() bool) bool {
	for deadline := time.Now().Add(d); ; time.Sleep(200 * time.Millisecond) {
		if f() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}
