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

	// counted is the snapshot that the counts below are of; they follow what changes from one to the next.
	counted    *pannier.Snapshot
	states     map[pannier.State]int
	severities map[pannier.Severity]int // of the problems of skills
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
		states: map[pannier.State]int{}, severities: map[pannier.Severity]int{},
	}
	m.info.WithLabelValues("").Set(1)
	m.set(nil)
	if reg != nil {
		reg.MustRegister(m.skills, m.problems, m.generation, m.info, m.lastChange)
	}
	return m
}

// observe is for one caller at a time.
func (m *metrics) observe(s *pannier.Snapshot) {
	for old, now := range Changes(m.counted, s) {
		m.count(old, -1)
		m.count(now, 1)
	}
	m.counted = s
	m.set(s.Problems)
	m.generation.Set(float64(s.Version))
	m.info.WithLabelValues(s.Digest.String()).Set(1) // before the last one goes, so that there always is one
	if m.shown != s.Digest {
		m.info.DeleteLabelValues(m.shown.String())
		m.shown = s.Digest
	}
	m.lastChange.Set(float64(s.Time.UnixMilli()) / 1000)
}

// count adds n to the counts that an entry is in; a nil entry is in none.
func (m *metrics) count(e *pannier.Entry, n int) {
	if e == nil {
		return
	}
	m.states[e.State] += n
	for i := range e.Problems {
		m.severities[e.Problems[i].Severity] += n
	}
}

// set shows the counts, with the problems that are of no skill.
func (m *metrics) set(others []pannier.Problem) {
	for _, state := range pannier.States() {
		m.skills.WithLabelValues(string(state)).Set(float64(m.states[state]))
	}
	for _, severity := range []pannier.Severity{pannier.SeverityError, pannier.SeverityWarning, pannier.SeverityInfo} {
		n := m.severities[severity]
		for i := range others {
			if others[i].Severity == severity {
				n++
			}
		}
		m.problems.WithLabelValues(string(severity)).Set(float64(n))
	}
}
