package cli_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/cli"
)

func TestContexts(t *testing.T) {
	w := start(t, func(cfg *api.Config) { cfg.Auth = viewer{} })
	w.story()
	delete(w.vars, "LOCKSTEP_SERVER")
	if _, errs, code := w.lockstep("get", "gateways"); code != cli.Usage || !strings.Contains(errs, "no server is named") {
		t.Errorf("without a context: exit code %d: %s", code, errs)
	}
	w.in = "viewer\n"
	w.must("context", "add", "here", "--server", w.url, "--token-stdin")
	w.must("context", "add", "there", "--server", "https://lockstep.example.com", "--token-file", "token")
	path := filepath.Join(w.vars["HOME"], ".config", "lockstep", "contexts.json")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file of contexts: %v, mode %v, want 0600", err, info.Mode())
	}
	w.must("get", "gateways")
	list := w.must("context", "list")
	if !strings.Contains(list, "*   here    "+w.url) || strings.Contains(list, "viewer") {
		t.Errorf("the list: %s", list)
	}
	w.must("context", "use", "there")
	if _, errs, code := w.lockstep("get", "gateways"); code != cli.Failed || !strings.Contains(errs, "the token of context there") {
		t.Errorf("another context: exit code %d: %s", code, errs)
	}
	w.must("get", "gateways", "--context", "here")
	w.vars["LOCKSTEP_CONTEXT"] = "here"
	w.must("get", "gateways")
	w.must("context", "remove", "there")
	if _, errs, code := w.lockstep("context", "use", "there"); code != cli.Usage || !strings.Contains(errs, "use one of here") {
		t.Errorf("a removed context: exit code %d: %s", code, errs)
	}
	if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // what is to be refused
		t.Fatal(err)
	}
	if _, errs, code := w.lockstep("get", "gateways"); code != cli.Failed || !strings.Contains(errs, "chmod 600 "+path) {
		t.Errorf("a file that others can read: exit code %d: %s", code, errs)
	}
}

// A context's token goes to that context's server alone; that of the variable
// goes before it.
func TestTokens(t *testing.T) {
	var seen []string
	w := start(t, func(cfg *api.Config) { cfg.Auth = witness{&seen} })
	w.in = "secret"
	w.must("context", "add", "elsewhere", "--server", "http://127.0.0.1:1", "--token-stdin")
	w.must("get", "gateways", "--server", w.url)
	delete(w.vars, "LOCKSTEP_SERVER")
	w.must("context", "add", "here", "--server", w.url, "--token-stdin")
	w.must("get", "gateways", "--context", "here")
	w.vars["LOCKSTEP_TOKEN"] = "mine"
	w.must("get", "gateways", "--context", "here")
	if got := strings.Join(seen, ","); got != ",Bearer secret,Bearer mine" {
		t.Errorf("the server saw %q", got)
	}
	if _, errs, _ := w.lockstep("get", "gateways", "--server", "http://192.0.2.1.invalid"); !strings.Contains(errs, "warning: the token goes to http://192.0.2.1.invalid unencrypted") {
		t.Errorf("no warning: %s", errs)
	}
}

// witness lets everybody in and remembers their tokens.
type witness struct{ seen *[]string }

func (a witness) Authenticate(r *http.Request) (api.Caller, error) {
	*a.seen = append(*a.seen, r.Header.Get("Authorization"))
	return api.Open{}.Authenticate(r)
}
