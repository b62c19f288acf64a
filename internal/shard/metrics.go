package shard

import "github.com/prometheus/client_golang/prometheus"

var (
	membersDesc = prometheus.NewDesc("lockstep_shard_members", "Live replicas, as this one sees them.", nil, nil)
	heldDesc    = prometheus.NewDesc("lockstep_shards_held", "Shards that fall to this replica. The sum over all replicas is 64, but for the moments of a takeover.", nil, nil)
	movedDesc   = prometheus.NewDesc("lockstep_shards_moved_total", "Shards that have changed hands, as this replica saw it.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (m *Members) Describe(descs chan<- *prometheus.Desc) {
	descs <- membersDesc
	descs <- heldDesc
	descs <- movedDesc
}

// Collect implements [prometheus.Collector].
func (m *Members) Collect(metrics chan<- prometheus.Metric) {
	members, moved := m.View()
	held := 0
	for _, member := range members {
		if member.Name == m.self {
			held = len(member.Shards)
		}
	}
	metrics <- prometheus.MustNewConstMetric(membersDesc, prometheus.GaugeValue, float64(len(members)))
	metrics <- prometheus.MustNewConstMetric(heldDesc, prometheus.GaugeValue, float64(held))
	metrics <- prometheus.MustNewConstMetric(movedDesc, prometheus.CounterValue, float64(moved))
}
