package cli_test

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/cli"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Administrators step in, and each time say why.
func TestVerbs(t *testing.T) {
	w := start(t)
	w.story()
	w.put(resource.KindApiGateway, "broken", "Running", "Starting", bson.M{
		"step": "instance", "attempts": 1, "lockedAt": engine.Never, "phaseAt": time.Now(),
		"lastError": bson.M{"step": "instance", "message": "the image is not allowed", "terminal": true, "at": time.Now()},
	})
	w.put(resource.KindStage, "broken-dev", "Active", "Creating", bson.M{"lockedAt": time.Now(), "lockedBy": "replica-1", "lockToken": int64(3)})
	if out := w.must("retry", "gateway", "broken", "--reason", "the image was allowed"); out != "gateway broken is tried again.\n" {
		t.Error(out)
	}
	w.put(resource.KindApiGateway, "going0", "Deleted", "Deleting", bson.M{"step": "database"})
	if out := w.must("delete", "gateway", "going0", "--skip-step", "database", "--reason", "its server is gone"); out != "gateway going0 goes without that step.\n" {
		t.Error(out)
	}
	w.must("unlock", "stage", "broken-dev", "--reason", "replica-1 is dead")
	w.must("pause", "gateway", "vn8ofl", "--reason", "it is being moved by hand")
	if out := w.must("get", "gateways", "--name", "shop"); !strings.Contains(out, "paused by anybody") {
		t.Errorf("the pause is not shown:\n%s", out)
	}
	if out := w.must("get", "gateways", "--locked-by", "paused by anybody", "-o", "id"); out != "vn8ofl\n" {
		t.Errorf("paused by anybody: %s", out)
	}
	if _, errs, code := w.lockstep("set", "gateway", "vn8ofl", "--state", "Running", "--wait", "--timeout", "20s"); code != cli.Stuck || !strings.Contains(errs, "paused by") {
		t.Errorf("waiting for a paused gateway: exit code %d: %s", code, errs)
	}
	w.must("resume", "gateway", "vn8ofl", "--reason", "it was moved")
	if out, _, _ := w.lockstep("get", "gateways", "--stuck"); strings.Contains(out, "broken") {
		t.Errorf("still stuck: %s", out)
	}
	events := w.must("events", "vn8ofl")
	for _, want := range []string{"pauseDocument because: it is being moved by hand", "resumeDocument because: it was moved", "Stopping -> Stopped after 1m15s"} {
		if !strings.Contains(events, want) {
			t.Errorf("the events do not show %q:\n%s", want, events)
		}
	}
	w.refuses([]refusal{
		{"pause gateway vn8ofl", cli.Usage, "--reason is missing: why; it is noted on the document"},
		{"resume gateway vn8ofl --reason because", cli.Refused, "ApiGateway vn8ofl is not paused"},
		{"retry database vn8ofl --reason because", cli.Refused, "Database has no task service"},
		{"retry gateway nosuch --reason because", cli.NotFound, "there is no ApiGateway nosuch"},
		{"delete stage vn8ofl-dev --orphan --reason because", cli.Refused, ""},
		{"delete gateway vn8ofl --skip-step instance", cli.Usage, "--skip-step: --reason is missing"},
		{"delete gateway vn8ofl --skip-step instance --reason because", cli.Refused, "ApiGateway vn8ofl is not being deleted (state Running, phase Stopped)"},
		{"delete gateway going0 --skip-step nosuch --reason because", cli.Refused, "--skip-step: the deletion of ApiGateway has no such step: use one of cron triggers, "},
		{"delete stage vn8ofl-dev --orphan", cli.Usage, "--orphan: --reason is missing"},
		{"rollback function vn8ofl-hello", cli.Usage, "--to: 0: name the version to go back to, such as 1"},
		{"events stage vn8ofl", cli.Usage, "events are a gateway's"},
	})
	w.put(resource.KindEnvironment, "gone00-dev", "Active", "Created", nil)
	w.refuses([]refusal{
		{"adopt gateway gone00 --region eu --name shop", cli.Usage, "--reason is missing"},
		{"adopt gateway gone00 --reason because", cli.Usage, "--name is missing"},
		{"adopt gateway nosuch --region eu --name shop --reason because", cli.NotFound, "nothing is left of a gateway nosuch in region eu"},
		{"adopt gateway vn8ofl --region eu --name shop --reason because", cli.Refused, "ApiGateway vn8ofl exists already"},
	})
	w.must("delete", "environment", "gone00-dev", "--orphan", "--reason", "left by a crash")
	if _, _, code := w.lockstep("get", "environment", "gone00-dev"); code != cli.NotFound {
		t.Errorf("the orphan is still there: exit code %d", code)
	}
}

// A kind is paused as a whole, and whoever looks at one of its documents is
// told.
func TestPauseOfAKind(t *testing.T) {
	w := start(t)
	w.story()
	if out := w.must("pause", "gateways", "--reason", "the cluster is being moved"); out != "All gateways are paused.\n" {
		t.Error(out)
	}
	if out := w.must("explain", "gateway", "start0"); !strings.Contains(out, "All of ApiGateway is paused by anybody (the cluster is being moved)") {
		t.Errorf("explained: %s", out)
	}
	if out := w.must("get", "gateways", "--stuck", "-o", "id"); out != "start0\n" {
		t.Errorf("stuck: %s", out)
	}
	if out := w.must("resume", "gateway", "--reason", "it was moved", "-o", "json"); strings.Contains(out, "paused") {
		t.Errorf("resumed: %s", out)
	}
	w.refuses([]refusal{
		{"resume gateways --reason because", cli.Refused, "ApiGateway is not paused"},
		{"pause databases --reason because", cli.Refused, "Database has no task service"},
		{"pause gateways", cli.Usage, "--reason is missing"},
		{"pause pods --reason because", cli.Usage, `"pods" is not a kind`},
	})
}

func TestKeysAndVersions(t *testing.T) {
	w := start(t)
	w.story()
	w.must("rotate", "app", "vn8ofl-dev-web")
	if out := w.must("get", "app", "vn8ofl-dev-web", "-o", "yaml"); !strings.Contains(out, "keyRevision: 1") {
		t.Error(out)
	}
	w.in = "second"
	w.must("set", "function", "vn8ofl-hello", "--code", "-")
	w.must("rollback", "function", "vn8ofl-hello", "--to", "1")
	if out := w.must("get", "function", "vn8ofl-hello", "-o", "yaml"); !strings.Contains(out, "code: export default () => 1") {
		t.Error(out)
	}
}
