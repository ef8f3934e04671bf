package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"pannier"
)

// TestHealthOfASkill shows people one skill with all that stands against it, what to do, and what was done to it.
func TestHealthOfASkill(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, skillScript("well", "Is well.")+"mkdir skills/needy; printf -- '---\\nname: needy\\ndescription: Needs much.\\nmetadata:\\n  openclaw:\\n    requires:\\n      bins: [no-such-program]\\n---\\nDo it.\\n' > skills/needy/SKILL.md")
	s := startSidecar(t, w, "--platform-url", "off")
	must(s.SetPolicy(t.Context(), "needy", "", pannier.PolicyChange{AllowImplicit: pannier.Toggle{Given: true, To: new(false)}}))(t)
	text, code := s.health(t, "needy")
	for _, want := range []string{"blocked", "needs bin  no-such-program: missing", "tools", "shell", "policy.set allowed", "pannier scan needy", "hint: "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if code != exitNo {
		t.Errorf("exit code %d", code)
	}
	if text, code := s.health(t, "well"); code != exitYes || !strings.Contains(text, "ok") || strings.Contains(text, "hint: ") {
		t.Errorf("%d\n%s", code, text)
	}
	var item struct {
		Slug      string
		TrustGate []struct{ Allowed bool } `json:"trust_gate"`
	}
	if text, _ := s.health(t, "well", "--json"); json.Unmarshal([]byte(text), &item) != nil || item.Slug != "well" || len(item.TrustGate) != 3 {
		t.Errorf("as JSON: %s", text)
	}
	if _, code := s.health(t, "nowhere"); code == exitYes {
		t.Error("a skill that is not there is well")
	}
}

// health runs the command, and returns what it prints and its exit code.
func (s *sidecarUnderTest) health(t *testing.T, args ...string) (text string, code int) {
	t.Helper()
	cmd := command(append([]string{"health", "--socket", s.socket, "--workspace", s.workspace}, args...)...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), exit.ExitCode()
	}
	need(t, err)
	return string(out), exitYes
}

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
	w := workspaceWith(t, skillScript("one", "The first.")+skillScript("two", "The second."))
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
