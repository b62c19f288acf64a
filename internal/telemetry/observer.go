package telemetry

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Observer counts what the engine does, in metrics named lockstep_engine_….
type Observer struct {
	claims, wasted     *prometheus.CounterVec
	queueAge           *prometheus.HistogramVec
	stepRuns           *prometheus.CounterVec
	stepDuration       *prometheus.HistogramVec
	stepWait           *prometheus.HistogramVec
	changes            *prometheus.CounterVec
	locksLost          *prometheus.CounterVec
	overdue            *prometheus.CounterVec
	ticksMissed        *prometheus.CounterVec
	storeFailures      *prometheus.CounterVec
	kinds, steps, rest bound
}

var _ engine.Observer = (*Observer)(nil)

// Buckets, in seconds. A step is a call or two to a server, and ends by its
// timeout (20 s). A document that is due waits for a hint or a tick. What a
// step waits for takes from moments (pods) to hours (certificates).
var (
	stepBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20}
	queueBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 15, 60, 300}
	waitBuckets  = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600, 14400}
)

// NewObserver registers the engine's metrics. Those that have no label but the
// kind begin at zero for each of the given kinds, so that an alert on their
// growth sees the first event, too.
func NewObserver(registry prometheus.Registerer, kinds ...string) *Observer {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		registry.MustRegister(v)
		return v
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		registry.MustRegister(v)
		return v
	}
	o := &Observer{
		claims:        counter("lockstep_engine_claims_total", "Documents claimed.", "kind"),
		wasted:        counter("lockstep_engine_wasted_claims_total", "Documents asked for in a claim that others had taken or settled.", "kind"),
		queueAge:      histogram("lockstep_engine_queue_age_seconds", "How long a claimed document had been due.", queueBuckets, "kind"),
		stepRuns:      counter("lockstep_engine_step_runs_total", "Runs of steps by result: done, wait, error, terminal or lost.", "kind", "step", "result"),
		stepDuration:  histogram("lockstep_engine_step_duration_seconds", "How long one run of a step took.", stepBuckets, "kind", "step"),
		stepWait:      histogram("lockstep_engine_step_wait_seconds", "How long a document had waited at a step when it went on.", waitBuckets, "kind", "step"),
		changes:       counter("lockstep_engine_changes_total", "Documents changed, by what was done to them.", "kind", "change"),
		locksLost:     counter("lockstep_engine_lost_locks_total", "Claims that came too late, by where it was noticed.", "kind", "where"),
		overdue:       counter("lockstep_engine_overdue_total", "Times a document was worked on past its transition's deadline.", "kind", "phase"),
		ticksMissed:   counter("lockstep_engine_missed_ticks_total", "Ticks that passed while a sweep was under way.", "kind"),
		storeFailures: counter("lockstep_engine_store_failures_total", "Calls to the store that failed.", "kind", "call"),
		kinds:         newBound(), steps: newBound(), rest: newBound(),
	}
	for _, kind := range kinds {
		kind = o.kinds.label(kind)
		for _, v := range []*prometheus.CounterVec{o.claims, o.wasted, o.ticksMissed} {
			v.WithLabelValues(kind)
		}
		o.queueAge.WithLabelValues(kind)
	}
	return o
}

// Claimed implements [engine.Observer].
func (o *Observer) Claimed(kind string, requested, got int) {
	kind = o.kinds.label(kind)
	o.claims.WithLabelValues(kind).Add(float64(got))
	o.wasted.WithLabelValues(kind).Add(float64(max(0, requested-got)))
}

// Queued implements [engine.Observer].
func (o *Observer) Queued(kind string, age time.Duration) {
	o.queueAge.WithLabelValues(o.kinds.label(kind)).Observe(seconds(age))
}

// StepRan implements [engine.Observer].
func (o *Observer) StepRan(kind, step, result string, took time.Duration) {
	kind, step = o.kinds.label(kind), o.steps.label(step)
	o.stepRuns.WithLabelValues(kind, step, o.rest.label(result)).Inc()
	o.stepDuration.WithLabelValues(kind, step).Observe(seconds(took))
}

// Waited implements [engine.Observer].
func (o *Observer) Waited(kind, step string, waited time.Duration) {
	o.stepWait.WithLabelValues(o.kinds.label(kind), o.steps.label(step)).Observe(seconds(waited))
}

// Changed implements [engine.Observer].
func (o *Observer) Changed(kind string, change engine.ChangeKind, n int) {
	o.changes.WithLabelValues(o.kinds.label(kind), o.rest.label(string(change))).Add(float64(max(0, n)))
}

// LockLost implements [engine.Observer]. At which step it was lost is told by
// the runs of steps with the result "lost"; here it is "step".
func (o *Observer) LockLost(kind, where string) {
	where, _, _ = strings.Cut(where, " ")
	o.locksLost.WithLabelValues(o.kinds.label(kind), o.rest.label(where)).Inc()
}

// Overdue implements [engine.Observer].
func (o *Observer) Overdue(kind string, phase engine.Phase) {
	o.overdue.WithLabelValues(o.kinds.label(kind), o.rest.label(string(phase))).Inc()
}

// TicksMissed implements [engine.Observer].
func (o *Observer) TicksMissed(kind string, n int) {
	o.ticksMissed.WithLabelValues(o.kinds.label(kind)).Add(float64(max(0, n)))
}

// StoreFailed implements [engine.Observer].
func (o *Observer) StoreFailed(kind, call string) {
	o.storeFailures.WithLabelValues(o.kinds.label(kind), o.rest.label(call)).Inc()
}

// seconds is never negative: the database's clock may be set back between two
// times that are compared.
func seconds(d time.Duration) float64 { return max(0, d.Seconds()) }
