package main

import (
	"regexp"
	"testing"
	"time"

	"pannier"
)

func TestUptimeWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Minute: "0s", 1500 * time.Millisecond: "1s", 90 * time.Second: "1m30s", 59*time.Minute + 59*time.Second: "59m59s",
		3*time.Hour + 5*time.Second: "3h0m", 26*time.Hour + 30*time.Minute: "1d2h",
	} {
		if got := uptimeWords(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// TestHealthOfASidecar has what an operator asks for first, as text and as JSON.
func TestHealthOfASidecar(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, skillScript("one", "The first.")+skillScript("two", "The second."))
	s := startSidecar(t, w, "--platform-url", "off")
	s.servesCount(t, 2)
	h := must(s.Health(t.Context()))(t)
	if h.Version == "" || h.Socket != s.socket || h.Skills[pannier.StateEligible] != 2 || len(h.Skills) != len(pannier.States()) {
		t.Errorf("%+v", h)
	}
	if age := time.Since(h.StartedAt); age < 0 || age > patience {
		t.Errorf("started %s ago", age)
	}
	out := string(s.command(t, "health"))
	for _, want := range []string{`version +\S`, `uptime +\d+s`, `socket +/`, `skills +2: 2 eligible\n`} {
		if !regexp.MustCompile(`(?m)^` + want).MatchString(out) {
			t.Errorf("health does not match %q:\n%s", want, out)
		}
	}
	out = string(s.command(t, "health", "one"))
	for _, want := range []string{`usable +true\n`, `policy +enabled true \(\w+\), implicit true \(\w+\)\n`} {
		if !regexp.MustCompile(`(?m)^` + want).MatchString(out) {
			t.Errorf("health of a skill does not match %q:\n%s", want, out)
		}
	}
}
