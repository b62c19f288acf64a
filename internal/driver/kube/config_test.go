package kube_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// Guards: a broken kubeconfig is found at the start, by an error that names
// the region, the file and what to do, and shows nothing of what is in it.
func TestBrokenKubeconfig(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	const secret = "do-not-show-me"
	for want, content := range map[string]string{
		"not a kubeconfig":          "users: [{name: a, user: {token: " + secret + "}}",
		"current-context is empty":  "",
		"not among its contexts":    "current-context: a",
		`names the cluster "c"`:     "{current-context: a, contexts: [{name: a, context: {cluster: c}}]}",
		`cluster "c" has no server`: "{current-context: a, contexts: [{name: a, context: {cluster: c}}], clusters: [{name: c, cluster: {}}]}",
		`names the user "u"`:        "{current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: 'https://x'}}]}",
		"kubectl --kubeconfig":      "{current-context: a, contexts: [{name: a, context: {cluster: c}}], clusters: [{name: c, cluster: {server: 'https://x', certificate-authority: /not/there}}]}",
	} {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := kube.New(resource.Region{Name: "eu", Kubeconfig: file}, kube.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) ||
			!strings.Contains(err.Error(), `"eu"`) || strings.Contains(err.Error(), secret) {
			t.Errorf("err = %v, want %q", err, want)
		}
	}
	for file, want := range map[string]string{"/not/there": "there is no such file", "": "set kubeconfig to a file"} {
		if _, err := kube.New(resource.Region{Name: "eu", Kubeconfig: file}, kube.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: err = %v", file, err)
		}
	}
}

// Guards: Ping tells a cluster that answers from one that does not.
func TestPing(t *testing.T) {
	t.Parallel()
	if err := drivertest.Client(t, kube.Options{}).Ping(t.Context()); err != nil {
		t.Error(err)
	}
	faults := &drivertest.Faults{}
	faults.On(drivertest.Hook{Method: "GET", Path: "/readyz", Answer: drivertest.Reply(503, "text/plain", "not yet")})
	if err := drivertest.Client(t, kube.Options{WrapTransport: faults.Wrap}).Ping(t.Context()); err == nil {
		t.Error("no error")
	}
}
