package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// metricNames are those of a running sidecar, with the values that each label has.
type metricNames map[string]map[string][]string

var (
	sample = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? `)
	label  = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
)

// metricsOfARun returns what a sidecar has from the start, with a platform that it can not reach.
func metricsOfARun(t *testing.T, flags ...string) metricNames {
	t.Helper()
	platform := newRecorder(t)
	flags = append(flags, "--platform-url", "http://"+platform.addr, "--platform-token-file", tokenFile(t))
	s := startSidecar(t, newWorkspace(t), flags...)
	text := must(s.Metrics(t.Context()))(t)
	names := metricNames{}
	for line := range strings.Lines(text) {
		m := sample.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if names[m[1]] == nil {
			names[m[1]] = map[string][]string{}
		}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			names[m[1]][l[1]] = append(names[m[1]][l[1]], l[2])
		}
	}
	return names
}

// given are the labels that Prometheus adds.
var given = []string{"instance", "job"}

// check fails unless an expression is sound and about metrics that there are, with labels and values that they have.
func (names metricNames) check(t *testing.T, what, expr string) {
	t.Helper()
	tokens, err := promTokens(expr)
	if err == nil {
		err = checkShape(tokens)
	}
	if err != nil {
		t.Errorf("%s: %v in %s", what, err, expr)
		return
	}
	found := 0
	for i, token := range tokens {
		if labels, ok := names[token]; ok {
			found++
			checkSelector(t, what, token, labels, tokens[i+1:])
		} else if regexp.MustCompile(`^(pannier|go|process)_`).MatchString(token) {
			t.Errorf("%s: there is no metric %s", what, token)
		}
	}
	if found == 0 {
		t.Errorf("%s: no metric in %s", what, expr)
	}
}

// checkSelector checks the braces behind a metric, where there are some.
func checkSelector(t *testing.T, what, metric string, labels map[string][]string, tokens []string) {
	t.Helper()
	if len(tokens) == 0 || tokens[0] != "{" {
		return
	}
	for i := 1; tokens[i] != "}"; i++ {
		if i+2 >= len(tokens) || !slices.Contains([]string{"=", "!=", "=~", "!~"}, tokens[i+1]) {
			continue
		}
		name, value := tokens[i], strings.Trim(tokens[i+2], `"`)
		values, known := labels[name]
		if !known && !slices.Contains(given, name) {
			t.Errorf("%s: %s has no label %s", what, metric, name)
		}
		one := func(v string) bool { return v == value }
		if strings.HasSuffix(tokens[i+1], "~") {
			one = regexp.MustCompile("^(?:" + value + ")$").MatchString
		}
		if known && !slices.ContainsFunc(values, one) && name != "code" {
			t.Errorf("%s: no %s has %s=%q from the start", what, metric, name, value)
		}
		i += 2
	}
}

var promToken = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|[a-zA-Z_:][a-zA-Z0-9_:]*|\[[0-9]+[smhdw]\]|[0-9]+(?:\.[0-9]+)?|=~|!~|!=|==|>=|<=|[-+*/%^<>=(){},])`)

// promTokens cuts an expression into the words and marks of PromQL that are used here.
func promTokens(expr string) (tokens []string, err error) {
	for rest := strings.TrimSpace(expr); rest != ""; rest = strings.TrimSpace(rest) {
		token := promToken.FindString(rest)
		if token == "" {
			return nil, fmt.Errorf("%q is nothing of PromQL", rest)
		}
		tokens = append(tokens, token)
		rest = rest[len(token):]
	}
	return tokens, nil
}

var (
	promFunctions = []string{"rate", "increase", "sum", "time", "histogram_quantile", "max", "min", "avg", "count", "max_over_time", "changes", "absent"}
	promWords     = []string{"by", "on", "group_left", "and", "or", "unless", "without", "ignoring"}
	promBinary    = []string{"+", "-", "*", "/", "%", "^", "<", ">", "==", "!=", ">=", "<=", "and", "or", "unless"}
)

// checkShape balances the brackets, and wants something on both sides of what stands between two things.
func checkShape(tokens []string) error {
	closing := map[string]string{")": "(", "}": "{"}
	var open []string
	for i, token := range tokens {
		next, before := "", ""
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		if i > 0 {
			before = tokens[i-1]
		}
		switch {
		case token == "(" || token == "{":
			open = append(open, token)
		case closing[token] != "":
			if len(open) == 0 || open[len(open)-1] != closing[token] {
				return fmt.Errorf("%s closes nothing", token)
			}
			open = open[:len(open)-1]
		case slices.Contains(promBinary, token) && !slices.Contains(open, "{"):
			if next == "" || before == "" || slices.Contains(promBinary, before) || before == "(" || next == ")" {
				return fmt.Errorf("%s has nothing on one side", token)
			}
		case slices.Contains([]string{"rate", "increase", "max_over_time", "changes", "absent"}, token) && next != "(":
			return fmt.Errorf("%s is not called", token)
		case next == "(" && !slices.Contains(promFunctions, token) && !slices.Contains(promWords, token):
			return fmt.Errorf("%s is no function that is known here", token)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%s is not closed", open[len(open)-1])
	}
	return nil
}

func TestPromShape(t *testing.T) {
	for expr, sound := range map[string]bool{
		`a > 0`: true, `sum by (x) (rate(a{b="c"}[5m])) > 0`: true, `time() - a > 3 and on (x) b == 1`: true, `a{b=~"[45].."}`: true,
		`a >`: false, `> a`: false, `(a`: false, `a)`: false, `a{b="c"`: false, `a{)`: false, `rate a`: false, `rte(a)`: false, `a and or b`: false, `a ; b`: false, `"x`: false,
	} {
		tokens, err := promTokens(expr)
		if err == nil {
			err = checkShape(tokens)
		}
		if (err == nil) != sound {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	names := metricsOfARun(t)
	path := filepath.Join(deployDir, "prometheus/alerts.yaml")
	seen := map[string]bool{}
	for _, group := range documents(t, path)[0].each("groups") {
		for _, rule := range group.each("rules") {
			name := rule.text("alert")
			if name == "" || seen[name] || !regexp.MustCompile(`^Pannier[A-Za-z]+$`).MatchString(name) {
				t.Errorf("an alert is called %q", name)
			}
			seen[name] = true
			if !regexp.MustCompile(`^[0-9]+[smh]$`).MatchString(rule.text("for")) || !slices.Contains([]string{"info", "warning", "critical"}, rule.text("labels", "severity")) {
				t.Errorf("%s: for %q, severity %q", name, rule.text("for"), rule.text("labels", "severity"))
			}
			if rule.text("annotations", "summary") == "" || len(rule.text("annotations", "runbook")) < 40 {
				t.Errorf("%s does not say what to do", name)
			}
			names.check(t, name, rule.text("expr"))
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d alerts", len(seen))
	}
	if promtool, err := exec.LookPath("promtool"); err == nil {
		if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", path).CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	}
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	names := metricsOfARun(t)
	text := must(os.ReadFile(filepath.Join(deployDir, "grafana/pannier.json")))(t)
	var dashboard struct {
		UID, Title string
		Panels     []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	need(t, json.Unmarshal(text, &dashboard))
	ids, places := map[int]bool{}, map[[2]int]bool{}
	for _, p := range dashboard.Panels {
		place := [2]int{p.GridPos.X, p.GridPos.Y}
		if ids[p.ID] || places[place] || p.Title == "" || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("the panel %d %q at %v", p.ID, p.Title, p.GridPos)
		}
		ids[p.ID], places[place] = true, true
		for _, target := range p.Targets {
			names.check(t, p.Title, target.Expr)
		}
	}
	if dashboard.UID != "pannier" || len(ids) < 10 {
		t.Errorf("%q has %d panels", dashboard.Title, len(ids))
	}
}

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
