package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"pannier"
)

func counted() (*house, *prometheus.Registry) {
	h, reg := newHouse(), prometheus.NewRegistry()
	h.options.Registerer = reg
	return h, reg
}

// samples are the values by their labels.
func samples(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			all[strings.Join(labels, " ")] = m.GetCounter().GetValue()
		}
	}
	return all
}

func TestMetricsFromTheStart(t *testing.T) {
	h, reg := counted()
	h.handler()
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	if n, err := testutil.GatherAndCount(reg, "pannier_api_requests_total"); err != nil || n == 0 {
		t.Errorf("%d series, %v", n, err)
	}
	all := samples(t, reg)
	for _, route := range []string{"GET /v1/skills", "GET /v1/skills/{slug}", "POST /v1/resolve", "GET /v1/health", "GET /readyz", "GET /metrics"} {
		for _, code := range []int{200, 500, 503} {
			if _, there := all[fmt.Sprint(code, " ", route)]; !there {
				t.Errorf("no series for %d of %s in %v", code, route, all)
			}
		}
	}
	for labels, value := range all {
		if value != 0 {
			t.Errorf("%s is %v", labels, value)
		}
	}
}

func TestMetricsCount(t *testing.T) {
	h, reg := counted()
	handler := h.handler()
	for _, target := range []string{"/v1/skills", "/v1/skills?x=1", "/v1/skills/alpha", "/v1/skills/omega", "/v1/skills/nope", "/metrics", "/v1//skills"} {
		ask(handler, "GET", target, "")
	}
	ask(handler, "HEAD", "/v1/skills", "", "If-None-Match", "*")
	ask(handler, "GET", "/v1/skills", "", "Origin", "x")
	for i := range 100 {
		ask(handler, "GET", fmt.Sprint("/nope/", i), "")
	}
	ask(handler, "BREW", "/v1/skills", "")
	want := map[string]float64{
		"200 GET /v1/skills": 1, "400 GET /v1/skills": 1, "304 GET /v1/skills": 1, "403 GET /v1/skills": 1, "307 GET /v1/skills": 1,
		"200 GET /v1/skills/{slug}": 2, "404 GET /v1/skills/{slug}": 1, "200 GET /metrics": 1,
		"404 none": 100, "405 none": 1, "browser_refused": 1,
	}
	all := samples(t, reg)
	for labels, value := range all {
		if value != want[labels] {
			t.Errorf("%s is %v, want %v", labels, value, want[labels])
		}
		delete(want, labels)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// TestMetricsOfCallersThatGo are not those of answers.
func TestMetricsOfCallersThatGo(t *testing.T) {
	h, reg := counted()
	ctx, cancel := context.WithCancel(t.Context())
	h.content.Rescan = func(ctx context.Context, _ bool) (*pannier.Snapshot, error) {
		cancel()
		return nil, ctx.Err()
	}
	w := httptest.NewRecorder()
	h.handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/rescan?wait=1", nil))
	if w.Body.Len() > 0 {
		t.Errorf("an answer for nobody: %s", w.Body)
	}
	if all := samples(t, reg); all["499 POST /v1/rescan"] != 1 || all["200 POST /v1/rescan"] != 0 {
		t.Errorf("%v", all)
	}
}

func TestWithoutRegisterer(t *testing.T) {
	h := newHouse()
	h.options.Metrics, h.content.Emit = nil, nil
	handler := h.handler()
	if w := ask(handler, "GET", "/v1/skills/alpha/content", ""); w.Code != http.StatusOK {
		t.Errorf("content: %d", w.Code)
	}
	checkProblem(t, "metrics", ask(handler, "GET", "/metrics", ""), 404, "no_such_route")
}
