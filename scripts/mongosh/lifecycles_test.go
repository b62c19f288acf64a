package mongosh_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// The lifecycles in the script are those that the task services run.
func TestLifecycles(t *testing.T) {
	db := testenv.Database(t)
	p, err := platform.New(documents.Open(db), nil, platform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := eval(t, db, "print(JSON.stringify(ls.lifecycles))")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var lifecycles map[resource.Kind]*lifecycle
	if err := json.Unmarshal([]byte(out), &lifecycles); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, kind := range resource.Kinds {
		l, known := lifecycles[kind]
		if !known {
			t.Errorf("the script does not know %s", kind)
			continue
		}
		l.compare(t, kind, p)
	}
	if len(lifecycles) != len(resource.Kinds) {
		t.Errorf("the script has %d kinds, want %d", len(lifecycles), len(resource.Kinds))
	}
}

// lifecycle is what the script knows of a kind.
type lifecycle struct {
	States []engine.State
	Rests  [][2]string
	Moves  []struct {
		From, When []string
		To         string
		Steps      []string
		Within     int64
	}
}

func (l *lifecycle) compare(t *testing.T, kind resource.Kind, p *platform.Platform) {
	t.Helper()
	now := time.Now()
	if _, driven := p.Explain(kind, &engine.Meta{}, now); !driven || l == nil {
		if driven || l != nil {
			t.Errorf("%s: has a task service: %v; the script says otherwise", kind, driven)
		}
		return
	}
	if got, want := fmt.Sprint(l.States), fmt.Sprint(resource.States(kind)); got != want {
		t.Errorf("%s: states %s, want %s", kind, got, want)
	}
	for _, state := range resource.States(kind) {
		for _, phase := range []engine.Phase{"Creating", "Created", "Starting", "Started", "Stopping", "Stopped", "Deleting", "Deleted"} {
			m := &engine.Meta{State: state, Phase: phase, ObservedState: state, PhaseAt: now, LockedAt: engine.Epoch}
			e, _ := p.Explain(kind, m, now)
			want := string(e.Condition)
			if e.Transition != "" {
				var within int64
				if !e.Deadline.IsZero() {
					within = e.Deadline.Sub(now).Milliseconds()
				}
				_, to, _ := strings.Cut(e.Transition, " -> ")
				want = strings.ReplaceAll(fmt.Sprintf("-> %s %q %d", to, e.Steps, within), string(engine.Purged), "gone")
			}
			if got := l.says(string(state), string(phase)); got != want {
				t.Errorf("%s, state %s, phase %s: the script says %s, the definition %s", kind, state, phase, got, want)
			}
		}
	}
}

// says is what the script holds of a pair of state and phase.
func (l *lifecycle) says(state, phase string) string {
	has := func(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }
	for _, m := range l.Moves {
		if has(m.From, phase) && has(m.When, state) {
			return fmt.Sprintf("-> %s %q %d", m.To, m.Steps, m.Within)
		}
	}
	for _, r := range l.Rests {
		if r == [2]string{state, phase} {
			return string(engine.IsSettled)
		}
	}
	return string(engine.IsUnhandled)
}
