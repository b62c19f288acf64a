package telemetry

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.uber.org/zap"

	"github.com/lockstep-io/lockstep/internal/shard"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

const document = "../../docs/metrics.md"

// docs/metrics.md has a section for each metric, with its type and labels, and
// names no metric, label or result that does not exist.
func TestDocument(t *testing.T) {
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(data), "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		sections[name] = text
	}
	metrics := everyMetric(t)
	for name, metric := range metrics {
		text, ok := sections[name]
		if !ok {
			t.Errorf("%s has no section", name)
			continue
		}
		begin := "\n" + metric.kind + ". "
		if len(metric.labels) > 0 {
			begin = "\n" + metric.kind + "; labels `" + strings.Join(metric.labels, "`, `") + "`. "
		}
		if !strings.HasPrefix(text, begin) {
			t.Errorf("the section of %s should begin with %q, and begins with %.60q", name, begin, text)
		}
	}
	for name := range sections {
		if _, ok := metrics[name]; !ok {
			t.Errorf("there is no metric %s", name)
		}
	}
	for _, name := range regexp.MustCompile(`lockstep_\w+`).FindAllString(string(data), -1) {
		if _, ok := metrics[strings.TrimSuffix(name, "_bucket")]; !ok {
			t.Errorf("there is no metric %s", name)
		}
	}
}

type described struct {
	kind   string
	labels []string
}

// everyMetric returns all that an observer registers, told once of everything,
// and all that is registered of shards.
func everyMetric(t *testing.T) map[string]described {
	t.Helper()
	registry := prometheus.NewRegistry()
	o := NewObserver(registry, "Order")
	o.StepRan("Order", "ship", "done", 1)
	o.Waited("Order", "ship", 1)
	o.Changed("Order", engine.Move, 1)
	o.LockLost("Order", "settle")
	o.Overdue("Order", "Shipping")
	o.StoreFailed("Order", "due")
	client, err := mongo.Connect() // to nowhere: it is not asked
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context()) //nolint:errcheck // it was never connected
	registry.MustRegister(shard.Join(client.Database("none"), "r", zap.NewNop()))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	// The order in which docs/metrics.md names labels.
	order := []string{"kind", "step", "change", "where", "phase", "call", "result"}
	metrics := map[string]described{}
	for _, family := range families {
		d := described{kind: map[dto.MetricType]string{dto.MetricType_COUNTER: "Counter", dto.MetricType_GAUGE: "Gauge", dto.MetricType_HISTOGRAM: "Histogram"}[family.GetType()]}
		for _, label := range family.GetMetric()[0].GetLabel() {
			d.labels = append(d.labels, label.GetName())
		}
		slices.SortFunc(d.labels, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
		metrics[family.GetName()] = d
	}
	return metrics
}
