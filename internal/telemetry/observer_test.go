package telemetry

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

func TestObserver(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	o := NewObserver(registry)
	o.Claimed("Order", 10, 7)
	o.Queued("Order", 30*time.Millisecond)
	o.StepRan("Order", "ship", "done", 20*time.Millisecond)
	o.StepRan("Order", "ship", "error", 3*time.Second)
	o.Waited("Order", "ship", time.Minute)
	o.Changed("Order", engine.Move, 5)
	o.LockLost("Order", "settle")
	o.LockLost("Order", "step ship")
	o.LockLost("Order", "step pack")
	o.Overdue("Order", "Shipping")
	o.TicksMissed("Order", 2)
	o.StoreFailed("Order", "claim")

	const want = `
# HELP lockstep_engine_changes_total Documents changed, by what was done to them.
# TYPE lockstep_engine_changes_total counter
lockstep_engine_changes_total{change="move",kind="Order"} 5
# HELP lockstep_engine_claims_total Documents claimed.
# TYPE lockstep_engine_claims_total counter
lockstep_engine_claims_total{kind="Order"} 7
# HELP lockstep_engine_lost_locks_total Claims that came too late, by where it was noticed.
# TYPE lockstep_engine_lost_locks_total counter
lockstep_engine_lost_locks_total{kind="Order",where="settle"} 1
lockstep_engine_lost_locks_total{kind="Order",where="step"} 2
# HELP lockstep_engine_missed_ticks_total Ticks that passed while a sweep was under way.
# TYPE lockstep_engine_missed_ticks_total counter
lockstep_engine_missed_ticks_total{kind="Order"} 2
# HELP lockstep_engine_overdue_total Times a document was worked on past its transition's deadline.
# TYPE lockstep_engine_overdue_total counter
lockstep_engine_overdue_total{kind="Order",phase="Shipping"} 1
# HELP lockstep_engine_step_runs_total Runs of steps by result: done, wait, error, terminal or lost.
# TYPE lockstep_engine_step_runs_total counter
lockstep_engine_step_runs_total{kind="Order",result="done",step="ship"} 1
lockstep_engine_step_runs_total{kind="Order",result="error",step="ship"} 1
# HELP lockstep_engine_store_failures_total Calls to the store that failed.
# TYPE lockstep_engine_store_failures_total counter
lockstep_engine_store_failures_total{call="claim",kind="Order"} 1
# HELP lockstep_engine_wasted_claims_total Documents asked for in a claim that others had taken or settled.
# TYPE lockstep_engine_wasted_claims_total counter
lockstep_engine_wasted_claims_total{kind="Order"} 3
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"lockstep_engine_changes_total", "lockstep_engine_claims_total", "lockstep_engine_lost_locks_total",
		"lockstep_engine_missed_ticks_total", "lockstep_engine_overdue_total", "lockstep_engine_step_runs_total",
		"lockstep_engine_store_failures_total", "lockstep_engine_wasted_claims_total"); err != nil {
		t.Error(err)
	}
	served := serve(t, registry)
	for _, line := range []string{
		`lockstep_engine_queue_age_seconds_bucket{kind="Order",le="0.025"} 0`,
		`lockstep_engine_queue_age_seconds_bucket{kind="Order",le="0.05"} 1`,
		`lockstep_engine_step_duration_seconds_sum{kind="Order",step="ship"} 3.02`,
		`lockstep_engine_step_wait_seconds_bucket{kind="Order",step="ship",le="60"} 1`,
	} {
		if !strings.Contains(served, line) {
			t.Errorf("%s is not served", line)
		}
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func serve(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	answer := httptest.NewRecorder()
	Handler(registry).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(answer.Result().Body)
	if err != nil || answer.Code != 200 {
		t.Fatalf("%d, %v", answer.Code, err)
	}
	return string(body)
}

// An alert on a counter's growth does not see a series begin: those that can
// be known begin at zero.
func TestKindsBeginAtZero(t *testing.T) {
	registry := NewRegistry()
	NewObserver(registry, "ApiGateway", "Stage")
	served := serve(t, registry)
	for _, line := range []string{
		`lockstep_engine_claims_total{kind="Stage"} 0`,
		`lockstep_engine_missed_ticks_total{kind="ApiGateway"} 0`,
		`lockstep_engine_queue_age_seconds_count{kind="Stage"} 0`,
		"go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(served, line) {
			t.Errorf("%s is not served", line)
		}
	}
}

// Numbers that make no sense must not panic, as counters do when they shrink:
// a panic here would end the service.
func TestNonsenseIsNoPanic(t *testing.T) {
	o := NewObserver(prometheus.NewRegistry())
	o.Claimed("Order", 1, 2)
	o.Changed("Order", engine.Move, -1)
	o.TicksMissed("Order", -1)
	o.Queued("Order", -time.Hour)
	o.StepRan("\xff", "\xff", "", -1)
	o.LockLost("Order", "")
}

func TestLabelsAreBounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := NewObserver(registry)
	for i := range 3 * maxLabels {
		o.StepRan("Order", fmt.Sprintf("step-%d", i), "done", time.Second)
	}
	if n := testutil.CollectAndCount(o.stepRuns); n != maxLabels+1 {
		t.Errorf("%d series, want %d and one for all others", n, maxLabels)
	}
	if got := testutil.ToFloat64(o.stepRuns.WithLabelValues("Order", other, "done")); got != 2*maxLabels {
		t.Errorf("%v runs of other steps, want %d", got, 2*maxLabels)
	}
}
