package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// alertNamed returns the expression of an alert.
func alertNamed(t *testing.T, name string) string {
	t.Helper()
	for _, group := range documents(t, filepath.Join(deployDir, "prometheus/alerts.yaml"))[0].each("groups") {
		for _, rule := range group.each("rules") {
			if rule.text("alert") == name {
				return rule.text("expr")
			}
		}
	}
	t.Fatalf("there is no alert %s", name)
	return ""
}

var clause = regexp.MustCompile(`^(?:max_over_time\()?\(?(time\(\) - )?([a-z_]+(?:\{[^}]*\})?)\)?(?:\[\w+\]\))? (==|>) ([0-9]+)$`)

// fires evaluates an expression on the metrics as they are: comparisons of one metric with a number, joined by `and`, without the
// workspace that is joined to them. A metric that carries labels fires for any of its series.
func (s *sidecarUnderTest) fires(t *testing.T, expr string) bool {
	t.Helper()
	text := must(s.Metrics(t.Context()))(t)
	if compared, joined := strings.CutSuffix(expr, ") * on (instance, job) group_left (workspace_id, workspace_name) pannier_info"); joined {
		expr = strings.TrimPrefix(compared, "(")
	}
	for part := range strings.SplitSeq(expr, " and ") {
		m := clause.FindStringSubmatch(part)
		if m == nil {
			t.Fatalf("%s is more than is evaluated here", part)
		}
		want, _ := strconv.ParseFloat(m[4], 64)
		holds := false
		for line := range strings.Lines(text) {
			series, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			if series != m[2] && !strings.HasPrefix(series, m[2]+"{") {
				continue
			}
			value := must(strconv.ParseFloat(rest, 64))(t)
			if m[1] != "" {
				value = float64(time.Now().Unix()) - value
			}
			holds = holds || m[3] == "==" && value == want || m[3] == ">" && value > want
		}
		if !holds {
			return false
		}
	}
	return true
}

// eventuallyFires waits until an alert would begin to count.
func (s *sidecarUnderTest) eventuallyFires(t *testing.T, name string) {
	t.Helper()
	expr := alertNamed(t, name)
	until(t, name+" fires: "+expr, func() bool { return s.fires(t, expr) })
}

// TestAlertsOfAPlatformThatIsAway: since the start is not since 1970.
func TestAlertsOfAPlatformThatIsAway(t *testing.T) {
	t.Parallel()
	platform := newRecorder(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "http://"+platform.addr, "--platform-token-file", tokenFile(t))
	s.eventuallyFires(t, "PannierNeverPublished")
	if s.fires(t, alertNamed(t, "PannierPlatformBehind")) {
		t.Error("PannierPlatformBehind fires, and nothing is known of the last time")
	}
	platform.up(t)
	s.acknowledged(t)
	for _, name := range []string{"PannierNeverPublished", "PannierPlatformBehind", "PannierFailing", "PannierCardWithheld", "PannierLooksOverdue", "PannierNotReady"} {
		if s.fires(t, alertNamed(t, name)) {
			t.Errorf("%s fires, and all is well", name)
		}
	}
}

// TestAlertOfUsedUpWatches has watches and instances used up, as the runbook of the alert says.
func TestAlertOfUsedUpWatches(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"echo 5 > /proc/sys/user/max_inotify_watches", "echo 0 > /proc/sys/user/max_inotify_instances"} {
		w, _ := oneSkill(t)
		runWriter(t, "skills", filepath.Join(w, "skills"), 20, 1)
		s := startIsolated(t, w, limit)
		s.eventuallyFires(t, "PannierWatchDegraded")
	}
}

// TestWorkspaceInMetrics names the workspace, whatever its name is.
func TestWorkspaceInMetrics(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t))
	for name, want := range map[string]string{
		`"Test desk"`:                         "Test desk",
		`"a \"quoted\"\tname\nof two lines"`:  `a \"quoted\" name of two lines`,
		`"` + strings.Repeat("ü", 5000) + `"`: strings.Repeat("ü", 99) + "…",
		`""`:                                  "",
	} {
		s.write(t, "cat > config.yaml <<'END'\nname: "+name+"\nEND")
		eventually(t, "the name is in the metrics", func() error {
			text, err := s.Metrics(t.Context())
			if line := `workspace_id="` + testWorkspaceID + `",workspace_name="` + want + `"} 1`; err == nil && !strings.Contains(text, line) {
				_, got, _ := strings.Cut(text, "\npannier_info")
				err = fmt.Errorf("pannier_info%.200s, want %s", got, line)
			}
			return err
		})
	}
}
