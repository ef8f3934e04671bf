package upload

import (
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
)

// Counts returns the number of uploads by status, without those that ended long ago.
func (s *Store) Counts() map[pannier.UploadStatus]int {
	counts := map[pannier.UploadStatus]int{}
	for _, status := range pannier.UploadStatuses() {
		counts[status] = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.sessions {
		counts[u.statusAt(s.now())]++
	}
	return counts
}

var uploadsDesc = prometheus.NewDesc("pannier_uploads", "Uploads that are known, by status.", []string{"status"}, nil)

// collector reports the counts of a store.
type collector struct{ store *Store }

// Describe implements [prometheus.Collector].
func (c collector) Describe(descs chan<- *prometheus.Desc) { descs <- uploadsDesc }

// Collect implements [prometheus.Collector].
func (c collector) Collect(metrics chan<- prometheus.Metric) {
	for status, n := range c.store.Counts() {
		metrics <- prometheus.MustNewConstMetric(uploadsDesc, prometheus.GaugeValue, float64(n), string(status))
	}
}
