package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/loader/lint"
)

// auditTree is a workspace with a skill to mend that config.yaml lists, and one that it does not list.
func auditTree(t *testing.T) string {
	t.Helper()
	dir := newWorkspace(t)
	for name, text := range map[string]string{
		"config.yaml":       "skills: [a, gone]\n",
		"skills/a/SKILL.md": "\ufeff---\r\nname: a\r\ndescription: b: c\r\nversion: 1.0.0\r\n---\r\nDo \x1b[31mit\x1b[0m.\r\n",
		"skills/b/SKILL.md": "---\nname: b\ndescription: d\nversion: 1.0.0\n---\nDo it.\n",
	} {
		path := filepath.Join(dir, name)
		need(t, os.MkdirAll(filepath.Dir(path), 0o755))
		need(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// runAudit runs the built binary and returns what it prints and its exit code.
func runAudit(t *testing.T, args ...string) (stdout string, code int) {
	t.Helper()
	cmd := command(append([]string{"audit"}, args...)...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() < 0 {
		t.Fatal(err)
	}
	t.Logf("%s", complaints.String())
	return out.String(), cmd.ProcessState.ExitCode()
}

// TestAuditJSON decodes the report strictly: it has the documented fields and no others.
func TestAuditJSON(t *testing.T) {
	out, code := runAudit(t, auditTree(t), "--json")
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	var report struct {
		Profile string `json:"profile"`
		Skills  []struct {
			Slug     string            `json:"slug"`
			Path     string            `json:"path"`
			Listed   bool              `json:"listed"`
			Status   string            `json:"status"`
			Problems []pannier.Problem `json:"problems"`
		} `json:"skills"`
		Problems []pannier.Problem `json:"problems"`
		Summary  struct {
			Checked  int `json:"checked"`
			Failed   int `json:"failed"`
			Errors   int `json:"errors"`
			Warnings int `json:"warnings"`
		} `json:"summary"`
	}
	if err := dec.Decode(&report); err != nil || dec.More() {
		t.Fatalf("%v: %s", err, out)
	}
	var got []string
	for _, s := range report.Skills {
		words := s.Status + " " + s.Slug + " " + s.Path
		if !s.Listed {
			words += " unlisted"
		}
		if s.Problems == nil {
			words += " null"
		}
		got = append(got, words)
	}
	want := []string{"FAIL a skills/a", "FAIL gone skills/gone", "PASS b skills/b unlisted"}
	if diff := cmp.Diff(want, got); diff != "" || report.Summary.Checked != 2 || report.Summary.Failed != 2 || report.Profile != "molecule" || code != exitNo {
		t.Errorf("exit code %d, %+v: %s", code, report.Summary, diff)
	}
}

// TestAuditSARIF is a log that names the files below the workspace.
func TestAuditSARIF(t *testing.T) {
	dir := auditTree(t)
	out, code := runAudit(t, dir, "--sarif")
	var log struct {
		Version string
		Runs    []struct {
			OriginalURIBaseIDs map[string]struct{ URI string } `json:"originalUriBaseIds"`
			Results            []struct {
				RuleID    string
				Level     string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI, URIBaseID string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 || code != exitNo {
		t.Fatalf("%v, exit code %d: %s", err, code, out)
	}
	found := false
	for _, r := range log.Runs[0].Results {
		at := r.Locations[0].PhysicalLocation
		found = found || r.RuleID == "audit.skill_missing" && r.Level == "error" && at.ArtifactLocation.URI == "config.yaml" && at.ArtifactLocation.URIBaseID == "WORKSPACE" && at.Region.StartLine == 1
	}
	if base := log.Runs[0].OriginalURIBaseIDs["WORKSPACE"].URI; !found || !strings.HasPrefix(base, "file:///") || !strings.HasSuffix(base, "/"+filepath.Base(dir)+"/") {
		t.Errorf("base %s: %s", base, out)
	}
}

// TestAuditFix mends the bytes that it shows, and shows none that a terminal would obey.
func TestAuditFix(t *testing.T) {
	dir := auditTree(t)
	out, code := runAudit(t, dir, "--fix")
	if code != exitNo || !strings.Contains(out, "\n-name: a␍\n") || !strings.Contains(out, "\n+name: a\n") || strings.ContainsAny(out, "\x1b\r\ufeff") {
		t.Errorf("exit code %d: %s", code, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "skills/a/SKILL.md"))
	want := "---\nname: a\ndescription: \"b: c\"\nversion: 1.0.0\n---\nDo \x1b[31mit\x1b[0m.\n"
	if err != nil || string(text) != want {
		t.Errorf("%q, %v", text, err)
	}
}

// TestAuditColour colours verdicts on a terminal, and nothing without one.
func TestAuditColour(t *testing.T) {
	r := lint.Report{Profile: "molecule", Skills: []lint.Skill{
		{Slug: "a", Path: "a", Listed: true, Status: lint.Pass},
		{Slug: "b", Path: "b", Listed: true, Status: lint.Fail, Problems: []pannier.Problem{{Code: "x.y", Severity: pannier.SeverityError, Path: "b/SKILL.md", Line: 3, Message: "m", Hint: "h"}}},
	}}
	for on, want := range map[bool]string{
		false: "[PASS] a (a)\n[FAIL] b (b)\nb/SKILL.md:3: error: m (x.y)\n  hint: h\n",
		true:  "[\x1b[32mPASS\x1b[0m] a \x1b[2m(a)\x1b[0m\n[\x1b[31mFAIL\x1b[0m] b \x1b[2m(b)\x1b[0m\nb/SKILL.md:3: \x1b[31merror\x1b[0m: m \x1b[2m(x.y)\x1b[0m\n  \x1b[2mhint:\x1b[0m h\n",
	} {
		var out bytes.Buffer
		streams{out: &out, paint: palette{on: on}}.printAudit(r)
		got := out.String()
		if got = got[:strings.LastIndex(strings.TrimSpace(got), "\n")+1]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAuditWithoutDirectory checks the current directory, and where the command of a hint of show is run it does not matter.
func TestAuditWithoutDirectory(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, "mkdir -p skills/pdf; printf '%s\\n' --- 'name: pdf' 'description: Reads it.' 'version: 1.0.0' --- 'Do it.' > skills/pdf/SKILL.md")
	in := func(dir string, args ...string) (string, int) {
		cmd := exec.Command(binary, args...)
		cmd.Dir, cmd.Env = dir, append(cleanEnviron(), "XDG_RUNTIME_DIR="+t.TempDir())
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := in(filepath.Join(w, "skills", "pdf"), "audit"); code != exitYes || !strings.Contains(out, "1 skill passed") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if out, code := in(w, "audit", "--all"); code != exitYes || !strings.Contains(out, "(skills/pdf") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	out, code := in(t.TempDir(), "show", "pdf", "--workspace", w)
	if code != exitYes || !strings.Contains(out, "trust                local\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	_, line, found := strings.Cut(out, "no; `pannier ")
	line, _, _ = strings.Cut(line, "`")
	if !found {
		t.Fatalf("no profile that fails:\n%s", out)
	}
	if out, code := in(t.TempDir(), strings.Fields(line)...); code == exitUnknown || !strings.Contains(out, "pdf") {
		t.Errorf("%s: exit code %d\n%s", line, code, out)
	}
}
