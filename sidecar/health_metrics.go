package sidecar

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/internal/plain"
)

// alerted are the conditions that people are woken for, whose series are there from the start. Others come and go.
var alerted = []string{
	"api_tokens_unreadable", "api_without_tls", "audit_broken", "audit_unusable", codeCardWithheld, codeLooksOverdue, "policy_unwritable", "push_failing", "skills_unreadable", "state_gone", "state_in_memory", codeStateLost, "state_read_only", "state_unwritable", "watch_degraded",
}

// maxNameLabel is how much of the name in config.yaml is in the metrics.
const maxNameLabel = 100

var (
	infoDesc = prometheus.NewDesc("pannier_info", "Always 1; the labels tell which workspace this sidecar serves.",
		[]string{"workspace_id", "workspace_name", "version"}, nil)
	readyDesc = prometheus.NewDesc("pannier_ready", "1 once the first scan is served and the workspace is watched.",
		nil, nil)
	statusDesc = prometheus.NewDesc("pannier_health_status", "1 for the status of health, 0 for the others.",
		[]string{"status"}, nil)
	conditionsDesc = prometheus.NewDesc("pannier_health_conditions", "Conditions of health, by code.",
		[]string{"code"}, nil)
)

// healthMetrics export health to Prometheus, as it is at the moment of a scrape.
type healthMetrics struct{ *startupHandler }

// Describe implements [prometheus.Collector].
func (healthMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{infoDesc, readyDesc, statusDesc, conditionsDesc} {
		to <- desc
	}
}

// Collect implements [prometheus.Collector].
func (m healthMetrics) Collect(to chan<- prometheus.Metric) {
	h, c := m.health(), m.core.Load()
	name := ""
	if s := m.snapshot(); s != nil {
		name = plain.Shorten(strings.TrimSpace(pannier.CleanLine(s.Workspace.Name)), maxNameLabel)
	}
	to <- prometheus.MustNewConstMetric(infoDesc, prometheus.GaugeValue, 1, pannier.CleanLine(h.WorkspaceID), name, m.build.Version)
	to <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, oneIf(c != nil && c.registry.Current() != nil && c.isReady()))
	for _, status := range []pannier.HealthStatus{pannier.HealthOK, pannier.HealthDegraded, pannier.HealthFailing} {
		to <- prometheus.MustNewConstMetric(statusDesc, prometheus.GaugeValue, oneIf(h.Status == status), string(status))
	}
	count := map[string]float64{}
	for _, name := range alerted {
		count[conditionCode(name)] = 0
	}
	for _, c := range h.Conditions {
		count[c.Code]++
	}
	for code, n := range count {
		to <- prometheus.MustNewConstMetric(conditionsDesc, prometheus.GaugeValue, n, code)
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
