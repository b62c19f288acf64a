// Package mongosh_test runs lockstep.js in real mongosh on a real database.
package mongosh_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/shard"
	"github.com/lockstep-io/lockstep/internal/testenv"
)

var update = flag.Bool("update", false, "write the golden files anew")

// eval runs JavaScript after the script was loaded, and returns what was
// printed and whether mongosh succeeded.
func eval(t *testing.T, db *mongo.Database, js ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	script, err := filepath.Abs("lockstep.js")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--quiet", "--norc", testenv.MongoURI(t),
		"--eval", fmt.Sprintf("db = db.getSiblingDB(%q); load(%q); %s", db.Name(), script, strings.Join(js, "\n")),
	}
	cmd := exec.CommandContext(ctx, testenv.Mongosh(t), args...) //nolint:gosec // the developer's own mongosh
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

func TestMistakes(t *testing.T) {
	db := testenv.Database(t)
	tell(t, db)
	var js []string
	mistakes := []struct{ call, says string }{
		{`ls.tree('nosuch')`, "there is no gateway nosuch, and nothing beneath it: ls.gateways() lists them"},
		{`ls.tree()`, "name a document by its id, such as 'vn8ofl' or 'vn8ofl-dev'"},
		{`ls.explain('stage', 'vn8ofl-dev')`, `"stage" is not a kind: write 'Stage'`},
		{`ls.explain('Pod', 'vn8ofl')`, `"Pod" is not a kind (they are ApiGateway, RuntimeDomain, Database, Environment, ClientApp, CloudFunction, Stage, CronTrigger)`},
		{`ls.history('vn8ofl-dev')`, `2 documents have the id vn8ofl-dev: name the kind, too, as in ('Environment', 'vn8ofl-dev'); it is one of Environment, Stage`},
		{`ls.history('Stage', 'vn8ofl-qa')`, "there is no Stage vn8ofl-qa"},
		{`ls.setState('vn8ofl')`, "say what to set: ls.setState('vn8ofl', 'Stopped') or ls.setState('Stage', 'vn8ofl-dev', 'Inactive')"},
		{`ls.setState('vn8ofl', 'Started')`, `"Started" is not a state of ApiGateway: use one of Running, Stopped, Restarting, Deleted`},
		{`ls.setState('nosuch', 'Stopped')`, "no document has the id nosuch: ls.gateways() lists the gateways"},
		{`ls.setState('Database', 'vn8ofl', 'Deleted')`, "Database vn8ofl has no task service: its gateway's steps make and remove it; set the state of gateway vn8ofl"},
		{`ls.setState('going0', 'Running')`, "ApiGateway going0 is being deleted, which cannot be undone"},
		{`db = db.getSiblingDB('test_none'); ls.stuck()`, "database test_none has no collection ApiGateway: go to Lockstep's own (LOCKSTEP_DATABASE) first, for example with `use lockstep`"},
	}
	var want strings.Builder
	for _, m := range mistakes {
		js = append(js, fmt.Sprintf("try { %s; print('no error') } catch (e) { print(e.message) }", m.call))
		fmt.Fprintln(&want, m.says)
	}
	out, err := eval(t, db, js...)
	if err != nil || out != want.String() {
		t.Errorf("%v, got:\n%s\nwant:\n%s", err, out, want.String())
	}
	// By itself an error ends mongosh, and says so to scripts.
	out, err = eval(t, db, `ls.tree('nosuch'); print('went on')`)
	if err == nil || !strings.HasPrefix(out, "Error: there is no gateway nosuch") || strings.Contains(out, "went on") {
		t.Errorf("mongosh ended with %v and said %s", err, out)
	}
}

// passing are ages and times that differ from run to run.
var passing = regexp.MustCompile(`\b(\d+m)?\d+s\b|since \d{4}\S+ \S+`)

// What is printed about the gateways of [tell].
func TestReports(t *testing.T) {
	db := testenv.Database(t)
	tell(t, db)
	var js []string
	for _, call := range []string{
		"ls.help()", "ls.gateways()", "ls.tree('vn8ofl')", "ls.explain('vn8ofl')", "ls.explain('Stage', 'vn8ofl-dev')",
		"ls.explain('start0')", "ls.explain('broken')", "ls.explain('going0')", "ls.explain('held00')", "ls.explain('gone00')",
		"ls.explain('vn8ofl-nightly')", "ls.history('vn8ofl')", "ls.stuck()", "ls.locks()",
	} {
		js = append(js, fmt.Sprintf("print(%q); %s; print('');", "> "+call, call))
	}
	out, err := eval(t, db, js...)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out = passing.ReplaceAllString(out, "~")
	golden := filepath.Join("testdata", "reports.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != out {
		t.Errorf("differs from %s (%v); got:\n%s", golden, err, out)
	}
}

// Replicas come, and one dies; the script has the same times as the service.
func TestShards(t *testing.T) {
	db := testenv.Database(t)
	tell(t, db)
	if out, err := eval(t, db, `print(ls.heartbeat)`); err != nil || strings.TrimSpace(out) != fmt.Sprint(shard.Expiry.Seconds()) {
		t.Errorf("a heartbeat lasts %s (%v), want %s", out, err, shard.Expiry)
	}
	show := func() string {
		t.Helper()
		out, err := eval(t, db, `ls.shards()`)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return passing.ReplaceAllString(out, "~")
	}
	beat := func(name string, ago time.Duration) {
		t.Helper()
		at := time.Now().Add(-ago)
		_, err := db.Collection("Replica").ReplaceOne(t.Context(), bson.M{"_id": name},
			bson.M{"_id": name, "since": at.Add(-time.Hour), "seenAt": at}, options.Replace().SetUpsert(true))
		if err != nil {
			t.Fatal(err)
		}
	}
	if out := show(); !strings.HasSuffix(out, "No replica is live: nothing is worked on.\n") {
		t.Error(out)
	}
	// Heartbeats ahead of the database's clock stay fresh for as long as the test takes.
	beat("replica-1", -time.Hour)
	beat("replica-2", time.Hour)
	if out := show(); !strings.Contains(out, "replica-2  2h0m   1h0m ago   dead: it went without a word\n"+
		"Sharding is off: replica-1 is the only live replica, and all documents fall to it.\n") {
		t.Error(out)
	}
	beat("replica-2", -time.Hour)
	if out := show(); !strings.Contains(out, "Documents are divided among 2 replicas") {
		t.Error(out)
	}
}

func TestSetState(t *testing.T) {
	db := testenv.Database(t)
	tell(t, db)
	before := read(t, db, "ApiGateway", "start0")
	out, err := eval(t, db, `
		ls.setState('start0', 'Stopped');
		ls.setState('start0', 'Stopped');
		ls.setState('RuntimeDomain', 'vn8ofl', 'Inactive');
		ls.setState('Stage', 'start0-dev', 'Inactive');`)
	want := `ApiGateway start0: state Running -> Stopped. ls.explain('ApiGateway', 'start0') follows it.
ApiGateway start0 is Stopped already (phase Starting).
RuntimeDomain vn8ofl: state Active -> Inactive. ls.explain('RuntimeDomain', 'vn8ofl') follows it.
Stage start0-dev: state Active -> Inactive. ls.explain('Stage', 'start0-dev') follows it.
`
	if err != nil || out != want {
		t.Errorf("%v, got:\n%s\nwant:\n%s", err, out, want)
	}
	// No other field is touched, by whatever name.
	before["state"] = "Stopped"
	if after := read(t, db, "ApiGateway", "start0"); !reflect.DeepEqual(after, before) {
		t.Errorf("got %v, want %v", after, before)
	}
	if domain := read(t, db, "RuntimeDomain", "vn8ofl"); domain["state"] != "Inactive" {
		t.Errorf("RuntimeDomain: %v", domain)
	}
}

func read(t *testing.T, db *mongo.Database, kind, id string) bson.M {
	t.Helper()
	var doc bson.M
	if err := db.Collection(kind).FindOne(t.Context(), bson.M{"_id": id}).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc
}
