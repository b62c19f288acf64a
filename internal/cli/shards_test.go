package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/cli"
)

// Replicas are shown with what falls to each, and it is plain when nothing is
// divided.
func TestShards(t *testing.T) {
	known := true
	seen := api.Shards{SeenBy: "replica-1", Count: 8, Moved: 3}
	w := start(t, func(c *api.Config) { c.Shards = func() (api.Shards, bool) { return seen, known } })
	join := func(name string, shards ...int) {
		now := time.Now()
		seen.Items = append(seen.Items, api.Replica{Name: name, Since: now.Add(-26*time.Hour - time.Minute), SeenAt: now.Add(-time.Minute), Shards: shards})
	}
	said := func(format string) string { return passing.ReplaceAllString(w.must("shards", "-o", format), "~") }

	join("replica-1", 0, 1, 2, 3, 4, 5, 6, 7)
	want := "REPLICA     SINCE   HEARTBEAT   SHARDS   WHICH\n" +
		"replica-1   1d      ~ ago      8        0-7\n" +
		"Sharding is off: replica-1 is the only live replica, and all documents fall to it. 3 shards have changed hands since replica-1 began.\n"
	if got := said("table"); got != want {
		t.Errorf("alone:\n%s\nwant:\n%s", got, want)
	}
	seen.Items, seen.Moved = nil, 1
	join("replica-1", 0, 2, 3, 7)
	join("replica-2", 1, 4, 5, 6)
	join("replica-3")
	want = "REPLICA     SINCE   HEARTBEAT   SHARDS   JOINED                    WHICH\n" +
		"replica-1   1d      ~ ago      4        ~   0 2-3 7\n" +
		"replica-2   1d      ~ ago      4        ~   1 4-6\n" +
		"replica-3   1d      ~ ago      0        ~\n" +
		"8 shards among 3 replicas. 1 shard has changed hands since replica-1 began.\n"
	if got := said("wide"); got != want {
		t.Errorf("three:\n%s\nwant:\n%s", got, want)
	}
	var read api.Shards
	if err := json.Unmarshal([]byte(w.must("shards", "-o", "json")), &read); err != nil || !read.Divided || len(read.Items) != 3 {
		t.Errorf("as JSON: %v, %+v", err, read)
	}
	if out := w.must("shards", "-o", "yaml"); !strings.Contains(out, "seenBy: replica-1") {
		t.Errorf("as YAML: %s", out)
	}
	known = false
	if _, errs, code := w.lockstep("shards"); code != cli.Unreachable || !strings.Contains(errs, "does not know yet") {
		t.Errorf("a replica that knows nothing: exit code %d: %s", code, errs)
	}
	if out := start(t).must("shards"); !strings.Contains(out, "this server does not divide its documents") {
		t.Error(out)
	}
}
