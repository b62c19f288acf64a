package cli_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.uber.org/goleak"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/cli"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is the command line before a live API on a database of the test's own.
// The task services do not run: documents stay as they are put.
type world struct {
	t    *testing.T
	db   *mongo.Database
	docs *documents.Documents
	run  *platform.Platform
	url  string
	vars map[string]string
	in   string
	// terminal is the width of the terminal; 0 is none.
	terminal int
}

func start(t *testing.T, change ...func(*api.Config)) *world {
	t.Helper()
	w := &world{t: t, db: testenv.Database(t), vars: map[string]string{"HOME": t.TempDir()}}
	w.docs = documents.Open(w.db)
	if err := w.docs.EnsureIndexes(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.run, err = platform.New(w.docs, nil, platform.Options{}); err != nil {
		t.Fatal(err)
	}
	cfg := api.Config{
		Documents: w.docs, Auth: api.Open{}, Version: "test", Explain: map[resource.Kind]api.Explainer{},
		Resolver: nowhere{},
		Regions:  []api.Region{{Name: "eu", DomainSuffix: "eu.example.com", TLS: true}, {Name: "us", DomainSuffix: "us.example.com"}},
	}
	for _, name := range platform.Kinds() {
		kind := resource.Kind(name)
		cfg.Explain[kind] = func(m *engine.Meta, now time.Time) engine.Explanation {
			e, _ := w.run.Explain(kind, m, now)
			return e
		}
	}
	for _, f := range change {
		f(&cfg)
	}
	handler, err := api.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	w.url, w.vars["LOCKSTEP_SERVER"] = server.URL, server.URL
	return w
}

// nowhere is a resolver that knows no host.
type nowhere struct{}

func (nowhere) LookupCNAME(context.Context, string) (string, error) {
	return "", &net.DNSError{IsNotFound: true}
}

func (nowhere) LookupHost(context.Context, string) ([]string, error) {
	return nil, &net.DNSError{IsNotFound: true}
}

// lockstep runs the command line.
func (w *world) lockstep(args ...string) (out, errs string, code cli.Code) {
	w.t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	var stdout, stderr bytes.Buffer
	env := &cli.Env{
		In: strings.NewReader(w.in), Out: &stdout, Err: &stderr, Getenv: func(name string) string { return w.vars[name] },
		Terminal: w.terminal > 0, Width: func() int { return w.terminal }, Version: "test", Transport: transport,
		Diagrams: func() (map[resource.Kind]string, error) { return w.run.Diagrams(), nil },
	}
	root := &cobra.Command{Use: "lockstep", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(cli.Commands(env)...)
	cli.Subcommands(root)
	root.SetArgs(args)
	root.SetOut(&stdout)
	root.SetErr(io.Discard)
	err := root.ExecuteContext(w.t.Context())
	if err != nil {
		stderr.WriteString("lockstep: " + err.Error() + "\n")
	}
	return stdout.String(), stderr.String(), cli.ExitCode(err)
}

// must runs the command line and returns what it printed.
func (w *world) must(args ...string) string {
	w.t.Helper()
	out, errs, code := w.lockstep(args...)
	if code != cli.OK {
		w.t.Fatalf("lockstep %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// put inserts a document as it is to be found.
func (w *world) put(kind resource.Kind, id, state, phase string, fields bson.M) {
	w.t.Helper()
	doc := bson.M{
		"_id": id, "gatewayId": id[:6], "state": state, "phase": phase, "generation": int64(1), "region": "eu",
		"observedState": state, "observedGeneration": int64(1), "lockedAt": engine.Epoch,
		"phaseAt": time.Now().Add(-time.Hour - time.Minute), "createdAt": time.Now().Add(-2 * time.Hour),
	}
	for name, value := range fields {
		doc[name] = value
	}
	if _, err := w.db.Collection(string(kind)).InsertOne(w.t.Context(), doc); err != nil {
		w.t.Fatal(err)
	}
}

// story puts the gateway vn8ofl: it is stopped, but its runtime domain is
// still wanted. And start0, which waits for its pods.
func (w *world) story() {
	w.t.Helper()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w.put(resource.KindApiGateway, "vn8ofl", "Stopped", "Stopped", bson.M{"name": "shop", "runtime": bson.M{"replicas": 2}, "history": bson.A{
		bson.M{"from": "Creating", "to": "Creating", "step": "namespace", "by": "replica-1", "at": began, "took": int64(15)},
		bson.M{"from": "Stopping", "to": "Stopped", "by": "replica-2", "at": began.Add(time.Hour), "took": int64(75_000)},
	}})
	w.put(resource.KindRuntimeDomain, "vn8ofl", "Active", "Created", nil)
	w.put(resource.KindDatabase, "vn8ofl", "Active", "Created", bson.M{"name": "gw_vn8ofl", "user": "gw_vn8ofl"})
	for _, name := range resource.Environments {
		w.put(resource.KindEnvironment, "vn8ofl-"+name, "Active", "Created", bson.M{"name": name, "host": resource.EnvironmentHost("vn8ofl", name, "eu.example.com")})
		w.put(resource.KindStage, "vn8ofl-"+name, "Inactive", "Deleted", bson.M{"environment": name})
	}
	w.put(resource.KindClientApp, "vn8ofl-dev-web", "Active", "Created", bson.M{"environment": "dev", "name": "web"})
	w.put(resource.KindCloudFunction, "vn8ofl-hello", "Active", "Created", bson.M{"name": "hello", "runtime": "javascript", "code": "export default () => 1", "version": int64(1)})
	w.put(resource.KindCronTrigger, "vn8ofl-nightly", "Inactive", "Deleted", bson.M{"name": "nightly", "schedule": "0 3 * * *", "function": "hello"})
	w.put(resource.KindRuntimeDomain, "start0", "Active", "Created", bson.M{"customDomain": "blog.example.org", "region": "us"})
	w.put(resource.KindApiGateway, "start0", "Running", "Starting", bson.M{
		"name": "blog", "region": "us", "step": "pods ready", "waitingFor": "1 of 2 pods ready", "waitingSince": time.Now().Add(-30 * time.Minute),
		"lockedAt": time.Now().Add(time.Hour),
	})
}

// passing are ages and times that differ from run to run.
var passing = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?s\b|\b(\d+h)?\d+m\b|(\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[.\d]*( UTC|Z)`)

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = passing.ReplaceAllString(got, "~")
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("differs from %s (%v); got:\n%s", path, err, got)
	}
}

// refusal is a command line that is refused, and what is said of it on standard
// error; on standard output there is nothing.
type refusal struct {
	line string
	code cli.Code
	says string
}

func (w *world) refuses(all []refusal) {
	w.t.Helper()
	for _, c := range all {
		out, errs, code := w.lockstep(strings.Fields(c.line)...)
		if code != c.code || !strings.HasPrefix(errs, "lockstep: "+c.says) {
			w.t.Errorf("lockstep %s: exit code %d, want %d:\n got %s want lockstep: %s", c.line, code, c.code, errs, c.says)
		}
		if out != "" {
			w.t.Errorf("lockstep %s: printed %s", c.line, out)
		}
	}
}
