package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/cli"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Everything that can be made and changed, is so in the documents.
func TestChanging(t *testing.T) {
	w := start(t)
	w.story()
	file := filepath.Join(t.TempDir(), "bye.js")
	if err := os.WriteFile(file, []byte("export default () => 'bye'"), 0o600); err != nil {
		t.Fatal(err)
	}
	gateway := strings.TrimSpace(w.must("create", "gateway", "blog", "--region", "us", "--state", "Stopped", "--replicas", "3", "--env", "A=1", "--env", "B=x=y", "-o", "id"))
	w.must("create", "function", "bye", "-g", "vn8ofl", "--code", file)
	w.in = "from stdin"
	w.must("set", "function", "vn8ofl-hello", "--code", "-")
	w.must("create", "app", "ios", "--gateway", "vn8ofl", "--environment", "prod", "--state", "Inactive")
	w.must("create", "trigger", "hourly", "-g", "vn8ofl", "--schedule", "@hourly", "--time-zone", "Europe/Berlin", "--function", "bye")
	w.must("set", "gateway", "vn8ofl", "--state", "Running", "--name", "store", "--cpu", "500m")
	w.must("set", "domain", "vn8ofl", "--custom-domain", "API.example.org")
	w.must("set", "app", "vn8ofl-dev-web", "--state", "Inactive")
	w.must("set", "stage", "vn8ofl-dev", "--route", "GET,POST /hello=hello", "--route", "/bye/*=bye", "--state", "Active")
	w.must("set", "trigger", "vn8ofl-nightly", "--state", "Inactive", "--schedule", "0 4 * * *")
	w.must("delete", "gateway", "start0")
	w.must("delete", "gateway", "start0")

	for _, c := range []struct {
		kind resource.Kind
		id   string
		want bson.M
	}{
		{resource.KindApiGateway, gateway, bson.M{"state": "Stopped", "region": "us", "runtime.replicas": 3, "runtime.env.A": "1", "runtime.env.B": "x=y"}},
		{resource.KindApiGateway, "vn8ofl", bson.M{"state": "Running", "name": "store", "runtime.cpu": "500m", "runtime.replicas": 2, "phase": "Stopped"}},
		{resource.KindApiGateway, "start0", bson.M{"state": "Deleted", "generation": 2}},
		{resource.KindCloudFunction, "vn8ofl-bye", bson.M{"code": "export default () => 'bye'"}},
		{resource.KindCloudFunction, "vn8ofl-hello", bson.M{"code": "from stdin", "version": 2}},
		{resource.KindClientApp, "vn8ofl-prod-ios", bson.M{"state": "Inactive", "environment": "prod"}},
		{resource.KindClientApp, "vn8ofl-dev-web", bson.M{"state": "Inactive"}},
		{resource.KindCronTrigger, "vn8ofl-hourly", bson.M{"schedule": "@hourly", "timeZone": "Europe/Berlin", "function": "bye"}},
		{resource.KindCronTrigger, "vn8ofl-nightly", bson.M{"schedule": "0 4 * * *", "suspended": true}},
		{resource.KindRuntimeDomain, "vn8ofl", bson.M{"customDomain": "api.example.org"}},
		{resource.KindStage, "vn8ofl-dev", bson.M{"state": "Active", "routes.1.path": "/bye/*", "routes.0.methods": bson.A{"GET", "POST"}}},
	} {
		c.want["_id"] = c.id
		if n, err := w.db.Collection(string(c.kind)).CountDocuments(t.Context(), c.want); err != nil || n != 1 {
			var is bson.M
			_ = w.db.Collection(string(c.kind)).FindOne(t.Context(), bson.M{"_id": c.id}).Decode(&is)
			t.Errorf("%s %s is not %v (%v) but %v", c.kind, c.id, c.want, err, is)
		}
	}
	w.must("set", "domain", "vn8ofl", "--unbind")
	w.must("set", "stage", "vn8ofl-dev", "--no-routes")
	w.must("delete", "trigger", "vn8ofl-nightly")
	w.must("delete", "fn", "vn8ofl-hello", "-o", "json")
}

// play moves a new gateway as its task services would, with a pause before
// each move; the last phase is "" if the document is removed.
func (w *world) play(id string, phases ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	w.t.Cleanup(cancel)
	coll := w.db.Collection(string(resource.KindApiGateway))
	done := make(chan struct{})
	w.t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		var was string
		for _, phase := range phases {
			time.Sleep(300 * time.Millisecond)
			filter := bson.M{}
			if id != "" {
				filter["_id"] = id
			}
			if phase == "" {
				_, _ = coll.DeleteOne(ctx, filter)
				return
			}
			_, _ = coll.UpdateOne(ctx, filter, bson.M{
				"$set":  bson.M{"phase": phase, "phaseAt": time.Now(), "observedState": "Running", "observedGeneration": int64(1), "resyncAt": time.Now()},
				"$push": bson.M{"history": bson.M{"from": was, "to": phase, "by": "replica-1", "at": time.Now(), "took": int64(300)}},
			})
			was = phase
		}
	}()
}

// A gateway that is created with --wait shows its way to Started, and ends
// with the URLs to call.
func TestWaitForStarted(t *testing.T) {
	w := start(t)
	w.play("", "Creating", "Created", "Starting", "Started")
	out, errs, code := w.lockstep("create", "gateway", "shop", "--region", "eu", "--wait")
	if code != cli.OK || !strings.Contains(out, "is Started") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	for _, want := range []string{"Creating -> Created after 300ms", "Starting -> Started"} {
		if !strings.Contains(errs, want) {
			t.Errorf("the way does not show %q: %s", want, errs)
		}
	}
	// Its environments are made by the steps, which nobody has run here.
	id := strings.Fields(out)[1]
	w.put(resource.KindEnvironment, id+"-dev", "Active", "Created", bson.M{"name": "dev", "host": id + "-dev.eu.example.com"})
	if out := w.must("describe", "gateway", id); !strings.Contains(out, "https://"+id+"-dev.eu.example.com/") {
		t.Errorf("no URL: %s", out)
	}
}

func TestWaitForGone(t *testing.T) {
	w := start(t)
	w.story()
	w.play("vn8ofl", "Deleting", "Deleted", "")
	if out := w.must("delete", "gateway", "vn8ofl", "--wait"); !strings.Contains(out, "gateway vn8ofl is gone") {
		t.Error(out)
	}
}

// Waiting ends early where it is in vain, and in time.
func TestWaitInVain(t *testing.T) {
	w := start(t)
	w.story()
	_, errs, code := w.lockstep("set", "gateway", "vn8ofl", "--state", "Running", "--wait", "--timeout", "1s")
	if code != cli.TimedOut || !strings.Contains(errs, "what was asked for stands; see `lockstep explain gateway vn8ofl`") {
		t.Errorf("timeout: exit code %d: %s", code, errs)
	}
	w.put(resource.KindApiGateway, "broken", "Running", "Starting", bson.M{
		"step": "instance", "attempts": 1, "observedGeneration": int64(2), "lockedAt": engine.Never,
		"lastError": bson.M{"step": "instance", "message": "the image is not allowed", "terminal": true, "at": time.Now()},
	})
	_, errs, code = w.lockstep("set", "gateway", "broken", "--replicas", "2", "--wait", "--timeout", "20s")
	if code != cli.Stuck || !strings.Contains(errs, "the image is not allowed") {
		t.Errorf("failed for good: exit code %d: %s", code, errs)
	}
	w.play("start0", "Starting", "")
	_, errs, code = w.lockstep("set", "gateway", "start0", "--state", "Running", "--wait", "--timeout", "20s")
	if code != cli.Stuck || !strings.Contains(errs, "somebody has deleted it meanwhile") {
		t.Errorf("gone: exit code %d: %s", code, errs)
	}
}

// A watch prints a line for each change, and ends when its document is gone.
func TestWatch(t *testing.T) {
	w := start(t)
	w.story()
	w.play("start0", "Starting", "Started", "Stopping", "Stopped", "Stopped", "")
	out := w.must("watch", "gateway", "start0")
	for _, want := range []string{"gateway  start0  Running  Starting  pods ready: 1 of 2 pods ready", "gateway start0 is gone."} {
		if !strings.Contains(out, want) {
			t.Errorf("the watch does not show %q: %s", want, out)
		}
	}
}
