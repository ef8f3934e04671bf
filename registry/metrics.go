package registry

import (
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
)

// metrics tell Prometheus what the newest snapshot holds.
type metrics struct {
	skills     *prometheus.GaugeVec
	problems   *prometheus.GaugeVec
	generation prometheus.Gauge
	info       *prometheus.GaugeVec
	shown      pannier.Digest // what info has
	lastChange prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		skills: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pannier_skills", Help: "Skills found, by state.",
		}, []string{"state"}),
		problems: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pannier_skill_problems", Help: "Problems of skills, roots and config.yaml, by severity.",
		}, []string{"severity"}),
		generation: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pannier_catalog_generation", Help: "Version of the snapshot that is served.",
		}),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pannier_catalog_info", Help: "Always 1; the label is the digest of the snapshot that is served, empty before the first.",
		}, []string{"digest"}),
		lastChange: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pannier_last_change_timestamp_seconds", Help: "When the snapshot that is served was made.",
		}),
	}
	m.info.WithLabelValues("").Set(1)
	m.set(map[pannier.State]int{}, map[pannier.Severity]int{})
	if reg != nil {
		reg.MustRegister(m.skills, m.problems, m.generation, m.info, m.lastChange)
	}
	return m
}

func (m *metrics) observe(s *pannier.Snapshot) {
	states, severities := map[pannier.State]int{}, map[pannier.Severity]int{}
	for i := range s.Entries {
		states[s.Entries[i].State]++
		for _, p := range s.Entries[i].Problems {
			severities[p.Severity]++
		}
	}
	for _, p := range s.Problems {
		severities[p.Severity]++
	}
	m.set(states, severities)
	m.generation.Set(float64(s.Version))
	m.info.WithLabelValues(s.Digest.String()).Set(1) // before the last one goes, so that there always is one
	if m.shown != s.Digest {
		m.info.DeleteLabelValues(m.shown.String())
		m.shown = s.Digest
	}
	m.lastChange.Set(float64(s.Time.UnixMilli()) / 1000)
}

func (m *metrics) set(states map[pannier.State]int, severities map[pannier.Severity]int) {
	for _, state := range pannier.States() {
		m.skills.WithLabelValues(string(state)).Set(float64(states[state]))
	}
	for _, severity := range []pannier.Severity{pannier.SeverityError, pannier.SeverityWarning, pannier.SeverityInfo} {
		m.problems.WithLabelValues(string(severity)).Set(float64(severities[severity]))
	}
}
