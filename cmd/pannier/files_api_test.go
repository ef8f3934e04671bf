package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// ran is what came of one command.
type ran struct {
	code     int
	out, err string
}

func (r ran) has(t *testing.T, code int, words ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\n%s%s", r.code, code, r.out, r.err)
	}
	for _, word := range words {
		if !strings.Contains(r.out+r.err, word) {
			t.Errorf("there is no %q in\n%s%s", word, r.out, r.err)
		}
	}
	if strings.Contains(r.out+r.err, testToken) {
		t.Error("the token is told")
	}
}

// farAway runs commands against a workspace of a platform.
func farAway(t *testing.T, url string) func(args ...string) ran {
	token := tokenFile(t)
	return func(args ...string) ran {
		t.Helper()
		return runPlain(t, append(args, "--files-api", "--url", url, "--token-file", token, "--workspace-id", testWorkspaceID)...)
	}
}

func runPlain(t *testing.T, args ...string) ran {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "XDG_RUNTIME_DIR=" + cmd.Dir, "TMPDIR=" + cmd.Dir}
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run()
	if entries, readErr := os.ReadDir(cmd.Dir); readErr != nil || len(entries) > 0 {
		t.Errorf("the command left something behind: %v %v", entries, readErr)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), err.String()}
}

const remoteSkillText = "---\nname: pdf-forms\ndescription: Fills forms.\nversion: 1.0.0\n---\n# Forms\n"

func skillFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pdf-forms")
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const remoteConfig = "# who we are\nname: far\nskills: # in use\n  - first # stays\nmodel: m\n"

func TestInstallByFiles(t *testing.T) {
	t.Parallel()
	m := &moleculeFiles{files: map[string]string{"config.yaml": remoteConfig, "skills/first/SKILL.md": "x"}}
	run := farAway(t, newMoleculeFiles(t, m))
	sent := map[string]string{"SKILL.md": remoteSkillText, "scripts/fill.py": "print(1)", "refs/empty.txt": ""}
	for i := range 230 {
		sent[fmt.Sprintf("refs/a %d#?%%.md", i)] = fmt.Sprintf("text %d\n", i)
	}
	dir := skillFolder(t, sent)

	run("install", dir, "--dry-run").has(t, exitYes, "installed (nothing was touched)")
	if len(m.now()) != 2 {
		t.Fatalf("a dry run has left %d files", len(m.now()))
	}
	got := run("install", dir)
	got.has(t, exitYes, "installed", "an entry was added under skills", "read back: 2 files equal byte for byte, 231 equal", "when the workspace restarts")
	for name, text := range sent {
		if is := m.at("skills/pdf-forms/" + name); is != text {
			t.Errorf("%s is %q", name, is)
		}
	}
	if want := strings.Replace(remoteConfig, "stays\n", "stays\n  - pdf-forms\n", 1); m.at("config.yaml") != want {
		t.Errorf("config.yaml is\n%s", m.at("config.yaml"))
	}
	run("install", dir).has(t, exitNo, " exists", "pannier update --files-api pdf-forms")
	run("list").has(t, exitYes, "first", "pdf-forms  there     listed")
}

// What is told of a fault of the platform is told before all of a skill was sent.
func TestInstallByFilesGoesAstray(t *testing.T) {
	t.Parallel()
	m := &moleculeFiles{nested: true, files: map[string]string{"config.yaml": remoteConfig}}
	run := farAway(t, newMoleculeFiles(t, m))
	dir := skillFolder(t, map[string]string{"SKILL.md": remoteSkillText, "refs/a.md": "a", "refs/b.md": "b"})
	run("install", dir).has(t, exitNo, "the platform has put skills/pdf-forms/refs/a.md to /configs/configs/skills/pdf-forms/refs/a.md", "hint: this is a fault of the platform's files API")
	run("list").has(t, exitYes, "first  missing   listed", "/configs/configs has files that no agent reads")
	if m.at("config.yaml") != remoteConfig || len(m.now()) != 2 {
		t.Errorf("the workspace has %d files", len(m.now()))
	}
}

// An archive is as good as a folder, and a config.yaml without a list stays as it is.
func TestInstallByFilesOfAnArchive(t *testing.T) {
	t.Parallel()
	dir := skillFolder(t, map[string]string{"SKILL.md": remoteSkillText, "run.sh": "echo\n"})
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	src, err := packFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(src)
	src.close()
	if err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(t.TempDir(), "some.tar.gz")
	if err := os.WriteFile(packed, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for config, word := range map[string]string{"": "config.yaml has no list of skills", "name: x\n": "config.yaml has no list of skills", "skills: x\n": "config.yaml was left as it is"} {
		m := &moleculeFiles{files: map[string]string{"config.yaml": config}}
		run := farAway(t, newMoleculeFiles(t, m))
		run("install", packed).has(t, exitYes, word, "the files API does not make files executable: run.sh")
		if m.at("skills/pdf-forms/run.sh") != "echo\n" || m.at("config.yaml") != config {
			t.Errorf("there is %q", m.now())
		}
	}
}

func TestInstallByFilesRefuses(t *testing.T) {
	t.Parallel()
	m := &moleculeFiles{}
	run := farAway(t, newMoleculeFiles(t, m))
	tests := []struct {
		name  string
		files map[string]string
		word  string
	}{
		{"no skill", map[string]string{"a.md": "a"}, "no SKILL.md found in "},
		{"a fault", map[string]string{"SKILL.md": "---\nname: [\n---\n"}, "the skill is invalid"},
		{"no text", map[string]string{"SKILL.md": remoteSkillText, "a.txt": "\xff\xfe"}, "is not UTF-8 text"},
		{"a NUL", map[string]string{"SKILL.md": remoteSkillText, "a.txt": "a\x00b"}, "is not UTF-8 text"},
		{"large", map[string]string{"SKILL.md": remoteSkillText, "a.txt": strings.Repeat("a\n", 600_000)}, "more than 1000000 bytes"},
		{"two dots", map[string]string{"SKILL.md": remoteSkillText, "a..b": "a"}, "does not take the name"},
		{"harm", map[string]string{"SKILL.md": remoteSkillText, "run.sh": "#!/bin/sh\nrm -rf ~/\n"}, "the security scan blocks the skill"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run("install", skillFolder(t, tt.files)).has(t, exitNo, tt.word)
		})
	}
	if len(m.requests()) > 0 {
		t.Errorf("the platform was asked: %q", m.requests())
	}
}

func TestUpdateByFiles(t *testing.T) {
	t.Parallel()
	old := map[string]string{"config.yaml": "skills: [pdf-forms]\n", "skills/pdf-forms/SKILL.md": "old", "skills/pdf-forms/gone.md": "old", "skills/pdf-forms/a/b/c/d/e/f/deep.md": "old"}
	dir := skillFolder(t, map[string]string{"SKILL.md": remoteSkillText})
	for _, removes := range []bool{true, false} {
		t.Run(strconv.FormatBool(removes), func(t *testing.T) {
			m := &moleculeFiles{removes: removes, files: maps.Clone(old)}
			run := farAway(t, newMoleculeFiles(t, m))
			run("update", "other", dir).has(t, exitNo, "this is pdf-forms, not a version of other")
			var out struct {
				Status   string
				LeftOver []string `json:"left_over"`
				Trimmed  []string `json:"verified_trimmed"`
			}
			got := run("update", "pdf-forms", dir, "--json")
			if err := json.Unmarshal([]byte(got.out), &out); err != nil || got.code != exitYes || out.Status != "updated" || !slices.Equal(out.Trimmed, []string{"skills/pdf-forms/SKILL.md"}) {
				t.Fatalf("%v\n%+v", err, got)
			}
			want := []string{"skills/pdf-forms/a/b/c/d/e/f/deep.md", "skills/pdf-forms/gone.md"}
			if removes {
				want = nil
			}
			if !slices.Equal(out.LeftOver, want) {
				t.Errorf("left over: %q", out.LeftOver)
			}
			if text := m.at("skills/pdf-forms/SKILL.md"); text != remoteSkillText {
				t.Errorf("SKILL.md is %q", text)
			}
		})
	}
	run := farAway(t, newMoleculeFiles(t, &moleculeFiles{}))
	run("update", "pdf-forms", dir).has(t, exitNo, "skills/pdf-forms does not exist")
}

func TestUninstallByFiles(t *testing.T) {
	t.Parallel()
	there := map[string]string{"config.yaml": remoteConfig, "skills/first/SKILL.md": "x", "skills/first/a.md": "x"}
	without := "# who we are\nname: far\nskills: []"
	t.Run("as it is", func(t *testing.T) {
		m := &moleculeFiles{files: maps.Clone(there)}
		run := farAway(t, newMoleculeFiles(t, m))
		run("uninstall", "first").has(t, exitNo, "2 files of first still exist", "absolute paths not permitted", "--keep-files", "docker exec ws-"+testWorkspaceID[:12])
		if !maps.Equal(m.now(), there) {
			t.Errorf("it was changed: %q", m.now())
		}
		run("uninstall", "first", "--keep-files").has(t, exitYes, "its entry under skills was removed", "its files still exist")
		if text := m.at("config.yaml"); !strings.HasPrefix(text, without) || m.at("skills/first/a.md") == "" {
			t.Errorf("config.yaml is %q", text)
		}
	})
	t.Run("mended", func(t *testing.T) {
		m := &moleculeFiles{removes: true, files: maps.Clone(there)}
		run := farAway(t, newMoleculeFiles(t, m))
		run("uninstall", "first", "--dry-run").has(t, exitYes, "nothing was touched")
		run("uninstall", "first").has(t, exitYes, "uninstalled", "its entry under skills was removed")
		if text := m.at("config.yaml"); !strings.HasPrefix(text, without) || len(m.now()) != 1 {
			t.Errorf("there is %q", m.now())
		}
		run("uninstall", "first").has(t, exitYes, "not_installed")
	})
	run := farAway(t, newMoleculeFiles(t, &moleculeFiles{}))
	run("uninstall", "../x").has(t, exitUnknown, "is not the name of a skill's directory")
	runPlain(t, "uninstall", "first", "--keep-files").has(t, exitUnknown, "--keep-files needs --files-api")
}

func TestPublishByFiles(t *testing.T) {
	t.Parallel()
	for _, admin := range []bool{true, false} {
		t.Run("admin "+strconv.FormatBool(admin), func(t *testing.T) {
			m := &moleculeFiles{admin: admin, files: map[string]string{
				"skills/first/SKILL.md": remoteSkillText, "skills/first/a/exact.txt": "x", "skills/first/lines.txt": "x\n\n\n",
				"skills/first/empty": "", "skills/first/../../out": "x", "skills/first/image.png": "\x89PNG\xff",
			}}
			run := farAway(t, newMoleculeFiles(t, m))
			to := t.TempDir()
			run("publish", "first", "--to", to).has(
				t, exitYes, "4 files", "was restored: SKILL.md", "with one line end: lines.txt", "image.png", "not written: ../../out",
			)
			for name, want := range map[string]string{"SKILL.md": remoteSkillText, "a/exact.txt": "x", "lines.txt": "x\n", "empty": ""} {
				text, err := os.ReadFile(filepath.Join(to, "first", name))
				if err != nil || string(text) != want {
					t.Errorf("%s is %q: %v", name, text, err)
				}
			}
			if alone, err := os.ReadDir(to); err != nil || len(alone) != 1 {
				t.Errorf("there is %v: %v", alone, err)
			}
			if one := slices.Contains(m.requests(), "GET /workspaces/"+testWorkspaceID+"/files/skills/first/lines.txt"); one == admin {
				t.Errorf("asked for: %q", m.requests())
			}
			run("publish", "first", "--to", to).has(t, exitNo, " exists")
			run("publish", "none", "--to", to).has(t, exitNo, "there is no skill none in the workspace")
		})
	}
}

func TestFilesAPIIsNotThere(t *testing.T) {
	t.Parallel()
	m := &moleculeFiles{tenant: "org"}
	url := newMoleculeFiles(t, m)
	run := farAway(t, url)
	run("list").has(t, exitUnknown, "answered 404", "PANNIER_PLATFORM_HEADER=X-Molecule-Org-Id")
	settings := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(settings, []byte("platform:\n  headers:\n    X-Molecule-Org-Id: org\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("list", "--config", settings).has(t, exitYes, "SLUG")
	run("list", "--state", "eligible").has(t, exitUnknown, "--state has no effect with --files-api")

	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("a-wrong-token-that-nobody-may-read"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := newMoleculeFiles(t, &moleculeFiles{})
	got := runPlain(t, "list", "--files-api", "--url", plain, "--token-file", wrong, "--workspace-id", testWorkspaceID)
	got.has(t, exitUnknown, "answered 401: invalid workspace auth token [redacted]", "workspace's own")
	if strings.Contains(got.err, "a-wrong-token") {
		t.Error("the token is told")
	}
	runPlain(t, "list", "--files-api", "--url", plain, "--token-file", wrong).has(t, exitUnknown, "needs the workspace's id")
	runPlain(t, "list", "--files-api", "--workspace-id", testWorkspaceID).has(t, exitUnknown, "--url and --token-file")
	runPlain(t, "list", "--files-api", "--url", plain, "--token-file", wrong, "--workspace-id", "x").has(t, exitUnknown, "not a UUID")

	var followed atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	defer elsewhere.Close()
	pointing := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer pointing.Close()
	farAway(t, pointing.URL)("list").has(t, exitUnknown, "which is not followed")
	if followed.Load() {
		t.Error("the redirect was followed")
	}
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":"rate limit exceeded","retry_after":0}`)
	}))
	defer busy.Close()
	farAway(t, busy.URL)("list").has(t, exitUnknown, "rate limit exceeded")
}
