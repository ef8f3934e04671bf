package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMetricsDocument compares the table of docs/METRICS.md with the metrics of a running sidecar and their labels.
func TestMetricsDocument(t *testing.T) {
	t.Parallel()
	text := must(os.ReadFile("../../docs/METRICS.md"))(t)
	quoted := regexp.MustCompile("`([a-z_]+)`")
	documented := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.HasPrefix(cells[1], " `pannier_") {
			labels := []string{}
			for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
				labels = append(labels, m[1])
			}
			documented[strings.Trim(cells[1], " `")] = labels
		}
	}
	served := map[string][]string{}
	for name, labels := range metricsOfARun(t, "--state-dir", t.TempDir()) {
		if name = regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, ""); strings.HasPrefix(name, "pannier_") {
			served[name] = []string{}
			for label := range labels {
				if label != "le" {
					served[name] = append(served[name], label)
				}
			}
			slices.Sort(served[name])
		}
	}
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Errorf("-docs/METRICS.md +metrics:\n%s", diff)
	}
}
