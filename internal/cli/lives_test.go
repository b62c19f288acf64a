package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/testenv"
)

// rest makes a request of the service, and returns the answer.
func (b *binary) rest(method, path string, body any) (status int, answer map[string]any) {
	b.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, bytes.NewReader(raw))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	if raw, err = io.ReadAll(res.Body); err != nil {
		b.t.Fatal(err)
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &answer); err != nil {
			b.t.Fatalf("%s %s: %v: %s", method, path, err, raw)
		}
	}
	return res.StatusCode, answer
}

// A gateway's whole life, by REST alone, on real servers: what the demo does.
func TestLifeByREST(t *testing.T) {
	b := build(t)
	defer http.DefaultClient.CloseIdleConnections()
	ask := func(method, path string, body any) map[string]any {
		t.Helper()
		status, answer := b.rest(method, path, body)
		if status >= http.StatusMultipleChoices {
			t.Fatalf("%s %s: status %d: %v", method, path, status, answer)
		}
		return answer
	}
	const wait = "?timeout=2m&wait="
	type object = map[string]any
	id, _ := ask("POST", "/v1/api-gateways"+wait+"phase:Started", object{"name": "shop", "region": "eu"})["id"].(string)
	gateway := "/v1/api-gateways/" + id

	ask("POST", gateway+"/functions"+wait+"settled", object{"name": "hello", "runtime": "javascript", "code": "export default () => 'hello'"})
	route := object{"path": "/hello", "methods": []string{"GET"}, "function": "hello"}
	if stage := ask("PUT", gateway+"/stages/dev"+wait+"settled", object{"routes": []any{route}}); stage["publishedGeneration"] != stage["generation"] {
		t.Errorf("the stage is not published: %v", stage)
	}
	ask("POST", gateway+"/client-apps"+wait+"settled", object{"name": "web", "environment": "dev"})
	ask("POST", gateway+"/triggers"+wait+"settled", object{"name": "nightly", "schedule": "0 3 * * *", "function": "hello"})
	for _, change := range []struct{ state, phase string }{{"Stopped", "Stopped"}, {"Running", "Started"}, {"Restarting", "Started"}} {
		gw := ask("PATCH", gateway+wait+"settled", object{"state": change.state})
		if gw["phase"] != change.phase || gw["state"] == "Restarting" {
			t.Errorf("%s came to %s, with state %s", change.state, gw["phase"], gw["state"])
		}
	}
	custom := "shop-" + id + ".example.org"
	if domain := ask("PUT", gateway+"/runtime-domain/custom-domain"+wait+"settled", object{"domain": custom}); domain["customDomainReady"] != custom {
		t.Errorf("the custom domain is not served: %v", domain)
	}
	tree := fmt.Sprint(ask("GET", gateway+"/tree", nil))
	for _, want := range []string{"Certificate", "ApisixRoute", "Deployment", id + "-dev-web", id + "-nightly"} {
		if !strings.Contains(tree, want) {
			t.Errorf("the tree has no %s: %s", want, tree)
		}
	}
	if domain := ask("DELETE", gateway+"/runtime-domain/custom-domain"+wait+"settled", nil); domain["customDomainReady"] != nil {
		t.Errorf("the custom domain is still served: %v", domain)
	}
	ask("DELETE", gateway+"/client-apps/dev/web"+wait+"gone", nil)
	ask("DELETE", gateway+wait+"gone", nil)
	if status, _ := b.rest("GET", gateway, nil); status != http.StatusNotFound {
		t.Errorf("the gateway is still there: status %d", status)
	}
	b.nothingLeft(id)
}

// The changes of a gateway's life, by mongosh alone, on real servers: by the
// helpers, and by plain updates of the one field that people write.
func TestLifeByMongosh(t *testing.T) {
	b := build(t)
	out, _ := b.must("create", "gateway", "shop", "--region", "eu", "--wait")
	id := strings.Fields(out)[1]
	script, err := filepath.Abs("../../scripts/mongosh/lockstep.js")
	if err != nil {
		t.Fatal(err)
	}
	// until waits in the shell for what a document comes to.
	const until = `
		const until = (kind, id, words, reached) => {
			for (let i = 0; i < 1200; i++) {
				if (reached(db.getCollection(kind).findOne({_id: id}))) return;
				sleep(100);
			}
			throw new Error(words + ' has not come: ' + JSON.stringify(db.getCollection(kind).findOne({_id: id})));
		};
		const rests = (kind, id, state, phase) => until(kind, id, phase, (d) => d && d.state === state && d.phase === phase && !d.waitingFor);`
	js := strings.NewReplacer("ID", id).Replace(`
		ls.setState('ID', 'Stopped'); rests('ApiGateway', 'ID', 'Stopped', 'Stopped');
		db.ApiGateway.updateOne({gatewayId: 'ID'}, {$set: {state: 'Running'}}); rests('ApiGateway', 'ID', 'Running', 'Started');
		const revision = () => Number(db.ApiGateway.findOne({_id: 'ID'}).revision || 0), before = revision();
		ls.setState('ID', 'Restarting');
		rests('ApiGateway', 'ID', 'Running', 'Started');
		if (revision() === before) throw new Error('nothing was restarted');
		ls.tree('ID');
		ls.setState('ID', 'Deleted');
		until('ApiGateway', 'ID', 'deletion', (d) => !d);`)
	cmd := exec.CommandContext(t.Context(), testenv.Mongosh(t), "--quiet", "--norc", testenv.MongoURI(t), //nolint:gosec // the developer's own mongosh
		"--eval", fmt.Sprintf("db = db.getSiblingDB(%q); load(%q); %s%s", b.database, script, until, js))
	cmd.Env, cmd.WaitDelay = append(os.Environ(), "HOME="+t.TempDir()), time.Second
	if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "state Running -> Deleted") {
		t.Fatalf("%v: %s", err, said)
	}
	b.nothingLeft(id)
}

// nothingLeft looks at the servers themselves.
func (b *binary) nothingLeft(id string) {
	b.t.Helper()
	if out, errs := b.must("orphans", "--gateway", id); out != "" || !strings.Contains(errs, "There are no orphans.") {
		b.t.Errorf("orphans:\n%s%s", out, errs)
	}
}
