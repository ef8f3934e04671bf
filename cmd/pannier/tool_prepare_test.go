package main

import (
	"archive/zip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
)

// packageIndex serves an index of Python packages with one wheel, alpha 1.5.
func packageIndex(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "alpha")
	need(t, os.Mkdir(dir, 0o755))
	f, err := os.Create(filepath.Join(dir, "alpha-1.5-py3-none-any.whl"))
	need(t, err)
	defer f.Close()
	z := zip.NewWriter(f)
	for name, text := range map[string]string{
		"alpha.py":                     "VERSION = '1.5'\n",
		"alpha-1.5.dist-info/METADATA": "Metadata-Version: 2.1\nName: alpha\nVersion: 1.5\n",
		"alpha-1.5.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"alpha-1.5.dist-info/RECORD":   "",
	} {
		w, err := z.Create(name)
		need(t, err)
		_, err = w.Write([]byte(text))
		need(t, err)
	}
	need(t, z.Close())
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(dir))))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// TestPrepareScripts installs what a script declares, from an index, where its calls have no network.
func TestPrepareScripts(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	if exec.Command("/usr/bin/python3", "-m", "pip", "--version").Run() != nil {
		t.Skip("there is no pip")
	}
	index := packageIndex(t)
	for _, runner := range []string{"self", "agent"} {
		t.Run(runner, func(t *testing.T) {
			base, program := kindsWorkspace(t, `mkdir -p skills/fill/scripts skills/plain; cd skills
printf -- '---\nname: fill\ndescription: Fills forms.\n---\nRun python scripts/fill.py\n' > fill/SKILL.md
printf '# /// script\n# dependencies = ["alpha>=1"]\n# ///\nimport alpha\nprint(alpha.VERSION)\n' > fill/scripts/fill.py
printf -- '---\nname: plain\ndescription: Has no scripts.\n---\nText\n' > plain/SKILL.md
`)
			packages := filepath.Join(base, "copies")
			with := func(cmd *exec.Cmd) *exec.Cmd {
				return exec.Command("env", append([]string{"-u", "PIP_FIND_LINKS", "PIP_INDEX_URL=" + index, "TMPDIR=" + packages}, cmd.Args...)...)
			}
			s := startTools(t, base, program, with, "--tools-runner", runner, "--tools-timeout=1m", "--tools-runner-uids", fmt.Sprint(os.Geteuid()))
			if runner == "agent" {
				startProcess(t, with(exec.Command(program, "runner", "--socket", s.socket, "--dir", packages)))
			}
			const tool = "skill.fill.fill-py"
			s.allow(t, "fill", tool)
			s.runs(t, exitNo, "run \"pannier tool allow fill --prepare\"", "tool", "call", tool)
			s.runs(t, exitYes, "scripts/fill.py: ready (", "tool", "allow", "fill", "--prepare")
			s.runs(t, exitYes, "1.5\n", "tool", "call", tool)
			if out, code := s.run("tool", "allow", "plain", "--prepare"); code == exitYes || !strings.Contains(out, "plain has no scripts") {
				t.Errorf("a skill without scripts: exit code %d: %s", code, out)
			}
			if out, code := s.run("audit-log", "list", "fill"); code != exitYes || strings.Count(out, pannier.ActionPrepareTools+" ") != 2 {
				t.Errorf("exit code %d: %s", code, out)
			}
		})
	}
}
