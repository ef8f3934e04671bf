package journal

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the series of a journal. They all exist from the start.
type metrics struct {
	events, writeErrors, skips prometheus.Counter
	bytes                      prometheus.Gauge
}

// newMetrics registers the metrics, unless reg is nil.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pannier_journal_events_total", Help: "Events that were appended to the journal.",
		}),
		writeErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pannier_journal_write_errors_total", Help: "Writes to the disk of the journal that failed; the events are in memory until one succeeds.",
		}),
		skips: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pannier_journal_gaps_total", Help: "Gaps in the journal: events were dropped because its disk did not take those before them in time.",
		}),
		bytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pannier_journal_bytes", Help: "Size of the events that the journal keeps.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	return m, errors.Join(reg.Register(m.events), reg.Register(m.writeErrors), reg.Register(m.skips), reg.Register(m.bytes))
}
