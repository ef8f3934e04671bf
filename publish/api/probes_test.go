package api_test

import (
	"errors"
	"net/http"
	"testing"

	"pannier"
)

func TestProbes(t *testing.T) {
	h := newHouse()
	socket := h.handler()
	for path, body := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n", "/livez": "alive\n", "/metrics": "metrics\n"} {
		for name, handler := range map[string]http.Handler{"the socket": socket, "the probes": socket.Probes()} {
			if w := ask(handler, "GET", path, ""); w.Code != http.StatusOK || w.Body.String() != body {
				t.Errorf("%s at %s: %d %q, want %q", path, name, w.Code, w.Body, body)
			}
		}
	}
}

func TestProbesAnswerNothingElse(t *testing.T) {
	h := newHouse()
	handler := h.handler().Probes()
	for _, target := range []string{
		"/", "/v1/skills", "/v1/health", "/v1/card", "/.well-known/agent-card.json",
		"/livez/", "//livez", "/livez/../v1/skills", "/livez%2F..%2Fv1%2Fskills", "/metrics/x",
	} {
		checkProblem(t, target, ask(handler, "GET", target, ""), 404, "no_such_route")
	}
	checkProblem(t, "a rescan", ask(handler, "POST", "/v1/rescan", ""), 404, "no_such_route")
	checkProblem(t, "a method", ask(handler, "POST", "/livez", ""), 405, "method_not_allowed")
	checkProblem(t, "a page", ask(handler, "GET", "/livez", "", "Origin", "http://x"), 403, "browser_refused")
	if h.scans != 0 {
		t.Errorf("%d scans", h.scans)
	}
}

func TestProbesWhereSomethingIsWrong(t *testing.T) {
	h := newHouse()
	h.content.Snapshot = func() *pannier.Snapshot { return nil }
	h.options.Alive = func() error { return errors.New("the loop stands") }
	handler := h.handler()
	checkProblem(t, "ready", ask(handler, "GET", "/readyz", ""), 503, "not_ready")
	if p := checkProblem(t, "live", ask(handler, "GET", "/livez", ""), 503, "not_alive"); p.Detail != "the loop stands" {
		t.Errorf("detail %q", p.Detail)
	}
	if w := ask(handler, "GET", "/healthz", ""); w.Code != http.StatusOK {
		t.Errorf("healthz: %d", w.Code)
	}
	h = newHouse()
	h.options.Watched = func() bool { return false }
	checkProblem(t, "not watched", ask(h.handler(), "GET", "/readyz", ""), 503, "not_ready")
}
