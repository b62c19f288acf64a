package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-io/lockstep/internal/cli"
	"github.com/lockstep-io/lockstep/internal/testenv"
)

// issuerName is the ClusterIssuer of this test's custom domains.
const issuerName = "lockstep-cli-test"

// binary is the program itself, and a service of it on real servers.
type binary struct {
	t    *testing.T
	path string
	env  []string
	// url is where the service answers, database that of its documents.
	url, database string
}

// build builds the program and starts the service.
func build(t *testing.T) *binary {
	t.Helper()
	b := &binary{t: t, path: filepath.Join(t.TempDir(), "lockstep")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", b.path, "../../cmd/lockstep").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	issuer(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	db := testenv.Database(t)
	b.url, b.database = "http://"+address, db.Name()
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LOCKSTEP_SERVER=" + b.url, "LOCKSTEP_LISTEN=" + address,
		"LOCKSTEP_MONGODB_URI=" + testenv.MongoURI(t), "LOCKSTEP_DATABASE=" + db.Name(), "LOCKSTEP_KUBECONFIG=" + testenv.Kubeconfig(t),
		"LOCKSTEP_REGION_NAME=eu", "LOCKSTEP_DOMAIN_SUFFIX=eu.example.com", "LOCKSTEP_CLUSTER_ISSUER=" + issuerName,
		"LOCKSTEP_RUNTIME_IMAGE=runtime:1", "LOCKSTEP_APISIX_ACCEPTANCE=apiserver", "LOCKSTEP_AUTH_OPEN=true", "LOCKSTEP_LOG_FORMAT=console",
	}
	b.serve()
	return b
}

// serve runs the service until the test ends.
func (b *binary) serve() {
	b.t.Helper()
	var log bytes.Buffer
	serve := exec.Command(b.path, "serve")
	serve.Env, serve.Stdout, serve.Stderr = b.env, &log, &log
	serve.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := serve.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		_ = serve.Wait()
		if b.t.Failed() {
			b.t.Logf("the service's log:\n%s", log.String())
		}
	})
	deadline := time.Now().Add(30 * time.Second)
	for {
		if _, _, code := b.lockstep("get", "gateways"); code == cli.OK {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatal("the service does not answer")
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (b *binary) lockstep(args ...string) (out, errs string, code cli.Code) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = b.env, &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = cli.Code(exit.ExitCode())
	} else if err != nil {
		b.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), code
}

func (b *binary) must(args ...string) (out, errs string) {
	b.t.Helper()
	out, errs, code := b.lockstep(args...)
	if code != cli.OK {
		b.t.Fatalf("lockstep %s: exit code %d: %s%s", strings.Join(args, " "), code, out, errs)
	}
	return out, errs
}

// issuer makes a self-signed ClusterIssuer.
func issuer(t *testing.T) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", testenv.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer utilnet.CloseIdleConnectionsFor(httpClient.Transport)
	kube, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	_, err = kube.Resource(schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "clusterissuers"}).
		Apply(t.Context(), issuerName, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer", "metadata": map[string]any{"name": issuerName},
			"spec": map[string]any{"selfSigned": map[string]any{}},
		}}, metav1.ApplyOptions{FieldManager: "lockstep-cli-test", Force: true})
	if err != nil {
		t.Fatal(err)
	}
}

// A gateway's whole life, by the command line alone, on real servers.
func TestLifeByCommandLine(t *testing.T) {
	b := build(t)
	out, errs := b.must("create", "gateway", "shop", "--region", "eu", "--wait")
	id := strings.Fields(out)[1]
	if want := fmt.Sprintf("http://%s-dev.eu.example.com/\n", id); !strings.Contains(out, want) {
		t.Errorf("the URLs are not shown:\n%s", out)
	}
	for _, want := range []string{"✓ namespace", "Creating -> Created", "✓ pods ready", "Starting -> Started"} {
		if !strings.Contains(errs, want) {
			t.Errorf("the way does not show %q:\n%s", want, errs)
		}
	}
	code := filepath.Join(t.TempDir(), "hello.js")
	if err := os.WriteFile(code, []byte("export default () => 'hello'"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.must("create", "function", "hello", "--gateway", id, "--code", code, "--wait")
	b.must("set", "stage", id+"-dev", "--route", "GET /hello=hello", "--wait")
	b.must("create", "app", "web", "--gateway", id, "--environment", "dev", "--wait")
	b.must("create", "trigger", "nightly", "--gateway", id, "--schedule", "0 3 * * *", "--function", "hello", "--wait")
	b.must("set", "gateway", id, "--state", "Stopped", "--wait")
	b.must("set", "gateway", id, "--state", "Running", "--wait")
	b.must("set", "gateway", id, "--state", "Restarting", "--wait")
	b.must("set", "gateway", id, "--replicas", "2", "--wait")
	b.must("set", "domain", id, "--custom-domain", "shop-"+id+".example.org", "--wait")
	if out, _ := b.must("describe", "gateway", id); !strings.Contains(out, "https://shop-"+id+".example.org/") {
		t.Errorf("the custom domain is not shown:\n%s", out)
	}
	b.must("set", "stage", id+"-dev", "--state", "Inactive", "--wait")
	b.must("set", "stage", id+"-dev", "--state", "Active", "--wait")
	tree, _ := b.must("tree", id)
	for _, want := range []string{"Deployment +" + id + "-runtime +2/2 available", "ApisixRoute +" + id + "-dev-stage", "ClientApp +" + id + "-dev-web", "Certificate"} {
		if !regexp.MustCompile(want).MatchString(tree) {
			t.Errorf("the tree does not show %q:\n%s", want, tree)
		}
	}
	if out, _ := b.must("explain", "gateway", id); !strings.HasPrefix(out, "ApiGateway "+id+": settled") || strings.Contains(out, "!") {
		t.Errorf("a healthy gateway is explained as:\n%s", out)
	}
	if out, _ := b.must("shards"); !regexp.MustCompile(`\S+ +\d+s +\ds ago +64 +0-63\nSharding is off: `).MatchString(out) {
		t.Errorf("the shards of one replica:\n%s", out)
	}
	if out, _ := b.must("doctor"); strings.Contains(out, "bad") {
		t.Errorf("doctor:\n%s", out)
	}
	b.must("rotate", "app", id+"-dev-web", "--wait")
	b.must("set", "domain", id, "--unbind", "--wait")
	if out, _ := b.must("describe", "gateway", id); strings.Contains(out, "example.org") {
		t.Errorf("the custom domain is still shown:\n%s", out)
	}
	b.must("delete", "trigger", id+"-nightly", "--wait")
	b.must("set", "stage", id+"-dev", "--no-routes", "--wait")
	b.must("delete", "function", id+"-hello", "--wait")
	b.must("delete", "app", id+"-dev-web", "--wait")
	out, errs = b.must("delete", "gateway", id, "--wait")
	if !strings.Contains(out, "is gone") || !strings.Contains(errs, "✓ config map") {
		t.Errorf("the deletion shows:\n%s%s", out, errs)
	}
	if _, _, code := b.lockstep("get", "gateway", id); code != cli.NotFound {
		t.Errorf("the gateway is still there: exit code %d", code)
	}
	b.nothingLeft(id)
}
