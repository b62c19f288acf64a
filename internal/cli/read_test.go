package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"sigs.k8s.io/yaml"

	"github.com/lockstep-io/lockstep/internal/cli"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// What is shown of the gateways of [world.story], by every command that reads.
func TestReading(t *testing.T) {
	w := start(t)
	w.story()
	var said strings.Builder
	for _, line := range []string{
		"get gateways", "get gateways -o wide", "get gateway vn8ofl", "get gateways --phase Starting", "get gateways --name nosuch",
		"get domains -g vn8ofl", "get database vn8ofl", "get envs -g vn8ofl", "get apps -g vn8ofl --environment dev", "get fn -g vn8ofl",
		"get stages", "get triggers -g vn8ofl -o id", "get gateways --stuck", "get gw --stuck -o wide",
		"tree vn8ofl", "tree start0 -o wide", "explain gateway vn8ofl", "explain gateway start0", "explain stage vn8ofl-dev",
		"explain trigger --diagram", "describe gateway vn8ofl", "describe function vn8ofl-hello", "describe domain start0", "get app vn8ofl-dev-web -o yaml",
	} {
		out, errs, code := w.lockstep(strings.Fields(line)...)
		fmt.Fprintf(&said, "$ lockstep %s\n%s%s", line, out, errs)
		if code != cli.OK {
			fmt.Fprintf(&said, "exit code %d\n", code)
		}
		said.WriteString("\n")
	}
	golden(t, "reading.txt", said.String())
}

// JSON and YAML are what the server answered, with nothing lost.
func TestFormats(t *testing.T) {
	w := start(t)
	w.story()
	var one, same map[string]any
	if err := json.Unmarshal([]byte(w.must("get", "gateway", "vn8ofl", "-o", "json")), &one); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(w.must("get", "gateway", "vn8ofl", "-o", "yaml")), &same); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(one) != fmt.Sprint(same) || one["name"] != "shop" || len(one["history"].([]any)) != 2 {
		t.Errorf("JSON %v and YAML %v", one, same)
	}
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(w.must("get", "stages", "-g", "vn8ofl", "-o", "json")), &list); err != nil || len(list.Items) != 3 {
		t.Errorf("%v: %v", err, list)
	}
	for _, command := range []string{"tree vn8ofl", "explain gateway vn8ofl", "explain stage vn8ofl-dev"} {
		if out := w.must(append(strings.Fields(command), "-o", "json")...); !json.Valid([]byte(out)) {
			t.Errorf("%s: not JSON: %s", command, out)
		}
	}
}

// Lists are read to their last page.
func TestPages(t *testing.T) {
	w := start(t)
	var many []any
	for i := range 1100 {
		id := fmt.Sprintf("g%05d", i)
		many = append(many, bson.M{"_id": id, "gatewayId": id, "state": "Running", "phase": "Started", "generation": int64(1)})
	}
	if _, err := w.db.Collection(string(resource.KindApiGateway)).InsertMany(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(w.must("get", "gateways", "-o", "id"), "\n"); lines != len(many) {
		t.Errorf("%d gateways, want %d", lines, len(many))
	}
}

// A child whose gateway is gone is found nevertheless.
func TestOrphanIsFound(t *testing.T) {
	w := start(t)
	w.put(resource.KindStage, "gone00-dev", "Active", "Created", nil)
	if out := w.must("get", "stage", "gone00-dev"); !strings.Contains(out, "gone00-dev") {
		t.Error(out)
	}
	if out := w.must("explain", "gateway", "gone00"); !strings.Contains(out, "orphan") {
		t.Error(out)
	}
}

// Colours and cut lines are for terminals alone.
func TestTerminal(t *testing.T) {
	w := start(t)
	w.story()
	plain := w.must("tree", "vn8ofl")
	w.terminal = 80
	colored := w.must("tree", "vn8ofl")
	w.vars["NO_COLOR"] = "1"
	without := w.must("tree", "vn8ofl")
	if strings.Contains(plain, "\x1b") || !strings.Contains(colored, "\x1b[32m") || strings.Contains(without, "\x1b") {
		t.Errorf("colours: plain %q, on a terminal %q, with NO_COLOR %q", plain, colored, without)
	}
	for line := range strings.SplitSeq(w.must("explain", "gateway", "vn8ofl")+w.must("get", "gateways", "-o", "wide"), "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("wider than the terminal: %q", line)
		}
	}
}

func TestCompletion(t *testing.T) {
	w := start(t)
	w.story()
	for _, c := range []struct{ args, want string }{
		{"get |", "gateway domain database environment app function stage trigger"},
		{"get gateway |", "start0 vn8ofl"},
		{"get stage v|", "start0- vn8ofl-"},
		{"get stage vn8ofl-|", "vn8ofl-dev vn8ofl-prod vn8ofl-staging"},
		{"set app vn8ofl-|", "vn8ofl-dev-web"},
		{"delete gateway |", "start0 vn8ofl"},
		{"tree |", "start0 vn8ofl"},
		{"create gateway x --region |", "eu us"},
		{"get gateways -o |", "table wide json yaml id"},
		{"create app x --gateway |", "start0 vn8ofl"},
	} {
		args := strings.Split(c.args, " ")
		args[len(args)-1] = strings.TrimSuffix(args[len(args)-1], "|")
		out := w.must(append([]string{"__complete"}, args...)...)
		var got []string
		for line := range strings.Lines(out) {
			if name, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); !strings.HasPrefix(name, ":") {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s completes to %q, want %q", c.args, got, c.want)
		}
	}
	// A server that is away completes nothing, and says nothing.
	w.vars["LOCKSTEP_SERVER"] = "http://127.0.0.1:1"
	if out, errs, _ := w.lockstep("__complete", "get", "gateway", ""); out != ":4\n" || errs != "" {
		t.Errorf("completion without a server: %q, %q", out, errs)
	}
}
