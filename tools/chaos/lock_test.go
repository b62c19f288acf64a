package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testrecord"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lock = 5 * time.Second

// at makes a call of a document from one second to another; one that never
// ended if to is zero.
func at(process string, from, to float64, line, end testrecord.Line) *call {
	line.Kind = string(resource.KindApiGateway)
	line.At = int64(from * float64(time.Second))
	c := &call{process: process, Line: line}
	if to > 0 {
		end.At, end.End = int64(to*float64(time.Second)), true
		c.end = &end
	}
	return c
}

func doc(token int64) []testrecord.Doc { return []testrecord.Doc{{ID: "a", Token: token}} }

func claim(process string, from, to float64, token int64, phase engine.Phase) *call {
	return at(process, from, to, testrecord.Line{Op: testrecord.OpClaim, Docs: doc(0)},
		testrecord.Line{Docs: []testrecord.Doc{{ID: "a", Token: token, Phase: phase}}})
}

func write(process string, from, to float64, kind engine.ChangeKind, token int64, end testrecord.Line) *call {
	return at(process, from, to, testrecord.Line{Op: string(kind), Docs: doc(token), From: "Creating"}, end)
}

func move(process string, from, to float64, token int64, end testrecord.Line) *call {
	c := write(process, from, to, engine.Move, token, end)
	c.To = "Created"
	return c
}

var ok, lost, failed = testrecord.Line{}, testrecord.Line{Lost: []string{"a"}}, testrecord.Line{Error: "connection reset"}

// The checker accepts what the engine promises, and nothing that breaks it.
func TestLockModel(t *testing.T) {
	cases := []struct {
		name  string
		calls []*call
		want  bool
	}{
		{"claim, move, claim by another", []*call{
			claim("x", 1, 2, 1, "Creating"), move("x", 2, 3, 1, ok), claim("y", 3, 4, 2, "Created"),
		}, true},
		{"the same token given twice", []*call{
			claim("x", 1, 2, 1, "Creating"), claim("y", 3, 4, 1, "Creating"),
		}, false},
		{"a token left out", []*call{
			claim("x", 1, 2, 1, "Creating"), claim("y", 8, 9, 3, "Creating"),
		}, false},
		{"a token left out, taken by a claim whose answer was lost", []*call{
			claim("x", 1, 2, 1, "Creating"),
			at("z", 2, 3, testrecord.Line{Op: testrecord.OpClaim, Docs: doc(0)}, failed),
			claim("y", 8, 9, 3, "Creating"),
		}, true},
		{"a token left out, taken by a process that was killed", []*call{
			claim("x", 1, 2, 1, "Creating"),
			at("z", 2, 0, testrecord.Line{Op: testrecord.OpClaim, Docs: doc(0)}, ok),
			claim("y", 8, 9, 3, "Creating"),
		}, true},
		{"a zombie's write refused", []*call{
			claim("x", 1, 2, 1, "Creating"), claim("y", 8, 9, 2, "Creating"), move("x", 10, 11, 1, lost),
		}, true},
		{"a zombie's write accepted", []*call{
			claim("x", 1, 2, 1, "Creating"), claim("y", 8, 9, 2, "Creating"), move("x", 10, 11, 1, ok),
		}, false},
		{"a zombie's write that may have come before its successor", []*call{
			claim("x", 1, 2, 1, "Creating"), write("x", 7, 11, engine.Renew, 1, ok), claim("y", 8, 9, 2, "Creating"),
		}, true},
		{"a write after the claim has ended", []*call{
			claim("x", 1, 2, 1, "Creating"), write("x", 2, 3, engine.Relock, 1, ok), write("x", 4, 5, engine.Renew, 1, ok),
		}, false},
		{"the holder's own write refused", []*call{
			claim("x", 1, 2, 1, "Creating"), write("x", 3, 4, engine.Renew, 1, lost),
		}, false},
		{"a change repeated because its answer was lost, then refused", []*call{
			claim("x", 1, 2, 1, "Creating"), move("x", 2, 3, 1, failed), move("x", 3, 4, 1, lost), claim("y", 4, 5, 2, "Created"),
		}, true},
		{"a change whose answer was lost, and that was not made", []*call{
			claim("x", 1, 2, 1, "Creating"), move("x", 2, 3, 1, failed), claim("y", 8, 9, 2, "Creating"),
		}, true},
		{"a phase that has moved by itself", []*call{
			claim("x", 1, 2, 1, "Creating"), write("x", 2, 3, engine.Relock, 1, ok), claim("y", 4, 5, 2, "Created"),
		}, false},
		{"a claim of a document that was removed", []*call{
			claim("x", 1, 2, 7, "Deleted"), write("x", 2, 3, engine.Purge, 7, ok), write("x", 4, 5, engine.Renew, 7, ok),
		}, false},
		{"a document made again", []*call{
			claim("x", 1, 2, 7, "Deleted"), write("x", 2, 3, engine.Purge, 7, ok), claim("y", 4, 5, 1, "Creating"),
		}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			history := lockHistories(c.calls, lock, &freezes{})["ApiGateway/a"]
			got := porcupine.CheckOperationsTimeout(lockModel, history, 10*time.Second)
			if want := map[bool]porcupine.CheckResult{true: porcupine.Ok, false: porcupine.Illegal}[c.want]; got != want {
				t.Errorf("%s, want %s%s", got, want, describe(history))
			}
		})
	}
}

func newTestWorld() *world {
	return &world{o: settings{lock: lock}, replicas: &replicas{}, freezes: &freezes{}, audit: newAudit(nil)}
}

func expect(t *testing.T, w *world, property string, want int) {
	t.Helper()
	if got := w.result.violations[property]; len(got) != want {
		t.Errorf("%d violations of %s, want %d: %q", len(got), property, want, got)
	}
}

func TestExclusion(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls []*call
		want  int
	}{
		{"after expiry", []*call{claim("x", 1, 1.1, 1, "Creating"), claim("y", 6, 6.2, 2, "Creating")}, 0},
		{"before expiry", []*call{claim("x", 1, 1.1, 1, "Creating"), claim("y", 4, 4.2, 2, "Creating")}, 1},
		{"before expiry, the claim having ended", []*call{
			claim("x", 1, 1.1, 1, "Creating"), write("x", 2, 2.1, engine.Relock, 1, ok), claim("y", 4, 4.2, 2, "Creating"),
		}, 0},
		{"after expiry, but renewed", []*call{
			claim("x", 1, 1.1, 1, "Creating"), write("x", 3, 3.1, engine.Renew, 1, ok), claim("y", 6, 6.2, 2, "Creating"),
		}, 1},
		{"a renewal that was refused counts for nothing", []*call{
			claim("x", 1, 1.1, 1, "Creating"), write("x", 5.9, 6.5, engine.Renew, 1, lost), claim("y", 6, 6.2, 2, "Creating"),
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTestWorld()
			w.checkExclusion(c.calls)
			expect(t, w, "exclusion", c.want)
		})
	}
}

func TestTrust(t *testing.T) {
	step := func(from, to float64) *call {
		return at("x", from, to, testrecord.Line{Op: testrecord.OpStep, Name: "instance", Docs: doc(1)}, ok)
	}
	request := func(method string, from float64) *call {
		return at("x", from, from+0.1, testrecord.Line{Op: testrecord.OpHTTP, Method: method, Docs: doc(1)}, testrecord.Line{Status: 200})
	}
	begin := claim("x", 1, 1.1, 1, "Creating")
	for _, c := range []struct {
		name   string
		calls  []*call
		paused []pause
		want   int
	}{
		{"within the window", []*call{begin, step(1.2, 5)}, nil, 0},
		{"long after it", []*call{begin, step(1.2, 9)}, nil, 1},
		{"long after it, the process having been stopped", []*call{begin, step(1.2, 9)}, []pause{{"x", 2e9, 9e9}}, 0},
		{"another process having been stopped", []*call{begin, step(1.2, 9)}, []pause{{"y", 2e9, 9e9}}, 1},
		{"renewed", []*call{begin, write("x", 4, 4.1, engine.Renew, 1, ok), step(1.2, 9)}, nil, 0},
		{"a renewal whose answer never came", []*call{begin, write("x", 4, 0, engine.Renew, 1, ok), step(1.2, 9)}, nil, 1},
		{"a late request", []*call{begin, request("PATCH", 8)}, nil, 1},
		{"a late removal of what was made", []*call{begin, request("DELETE", 8), step(1.2, 9)}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTestWorld()
			w.replicas.pauses = c.paused
			w.checkTrust(c.calls)
			expect(t, w, "trust", c.want)
		})
	}
}

func TestRemovals(t *testing.T) {
	remove := func(token int64, end testrecord.Line) *call {
		return at("x", 1, 2, testrecord.Line{Op: testrecord.OpHTTP, Method: "DELETE", UID: "u", Docs: doc(token)}, end)
	}
	for _, c := range []struct {
		name string
		call *call
		want int
	}{
		{"under the newest token", remove(3, testrecord.Line{Status: 200}), 0},
		{"under an older one", remove(2, testrecord.Line{Status: 200}), 1},
		{"under an older one, refused", remove(2, testrecord.Line{Status: 409}), 0},
		{"under an older one, without an answer", remove(2, failed), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTestWorld()
			w.audit.removing["u"], w.audit.atRemoval["u"] = mark{"u", "ApiGateway/a"}, 3
			w.checkRemovals([]*call{c.call})
			expect(t, w, "objects", c.want)
		})
	}
}

func TestEdges(t *testing.T) {
	w := newTestWorld()
	good, bad := move("x", 1, 2, 1, ok), move("x", 3, 4, 2, ok)
	bad.From, bad.To = "Created", "Creating"
	w.checkEdges([]*call{good, bad})
	expect(t, w, "phases", 1)

	h := newHistorian(nil)
	m := &engine.Meta{ID: "a", Phase: "Started", History: []engine.HistoryEntry{
		{From: "Creating", To: "Created", By: "x"}, {From: "Starting", To: "Started", By: "y"},
	}}
	h.check(resource.KindApiGateway, lifecycles[resource.KindApiGateway], m)
	if len(h.violations) != 1 {
		t.Errorf("a history with a gap: %q, want one violation", h.violations)
	}
}

func TestWriteReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.md")
	for _, c := range []struct{ old, want string }{
		{"", "new\n"},
		{"an older report\n", "new\n"},
		{"a\n" + reportBegin + "old\n" + reportEnd + "\nb\n", "a\n" + reportBegin + "new\n" + reportEnd + "\nb\n"},
	} {
		if err := os.WriteFile(file, []byte(c.old), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := writeReport(file, "new\n"); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(file); string(got) != c.want {
			t.Errorf("%q became %q, want %q", c.old, got, c.want)
		}
	}
}

func TestFreezes(t *testing.T) {
	f := &freezes{all: []pause{{from: 10, to: 20}, {from: 40, to: 60}}}
	for _, c := range []struct{ from, to, want int64 }{{0, 5, 0}, {0, 100, 30}, {15, 45, 10}, {50, 55, 5}} {
		if got := f.between(c.from, c.to).Nanoseconds(); got != c.want {
			t.Errorf("between %d and %d: %d, want %d", c.from, c.to, got, c.want)
		}
	}
}
