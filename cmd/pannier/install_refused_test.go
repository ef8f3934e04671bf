package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creachadair/jrpc2"
	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/publish/client"
)

// attempt installs a skill and returns the code and hint of what it is refused with.
func (s *sidecarUnderTest) attempt(t *testing.T) *client.Error {
	t.Helper()
	_, err := s.Install(t.Context(), pannier.InstallRequest{}, pannier.InstallSource{Body: bytes.NewReader(archiveOf("it", "1"))})
	refusal, ok := errors.AsType[*client.Error](err)
	if !ok {
		t.Fatalf("not refused: %v", err)
	}
	return refusal
}

// nothingInstalled checks that neither list nor disk has the skill.
func (s *sidecarUnderTest) nothingInstalled(t *testing.T) {
	t.Helper()
	s.servesNow(t, "")
	if _, err := os.Lstat(filepath.Join(s.workspace, "skills/it")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("on disk: %v", err)
	}
}

// TestWhereNothingCanBeInstalled says what is in the way, and serves what there is all the same.
func TestWhereNothingCanBeInstalled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code   string
		status int
		args   []string
	}{
		{"install.disabled", 403, []string{"--install-enabled=false", "--state-dir", t.TempDir()}},
		{"install.unavailable", 403, []string{"--state-dir", "none"}},
	} {
		t.Run(tt.code, func(t *testing.T) {
			w := workspaceWith(t, skillScript("own", "Is not ours."))
			s := startSidecar(t, w, append([]string{"--platform-url", "off"}, tt.args...)...)
			if e := s.attempt(t); e.Code != tt.code || e.Status != tt.status || e.Hint == "" {
				t.Errorf("%+v", e)
			}
			if _, err := s.Uninstall(t.Context(), pannier.RemoveRequest{Slug: "own"}); err == nil {
				t.Error("a skill was uninstalled")
			}
			if _, err := dialPeer(t, s.socket).start(archiveOf("it", "1")); jrpc2.ErrorCode(err) != jrpc2.MethodNotFound {
				t.Errorf("an upload was started: %v", err)
			}
			s.nothingInstalled(t)
			if _, err := s.entry(t, "own"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestInstallIntoWhatIsReadOnly mounts the workspace so. The mode of the files would not stop root.
func TestInstallIntoWhatIsReadOnly(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, skillScript("own", "Is not ours.")+"mkdir ../state")
	s := startIsolated(t, w, "mount --bind . .; mount -o remount,ro,bind .; cd .", "--state-dir", filepath.Join(filepath.Dir(w), "state"))
	if e := s.attempt(t); e.Code != "install.read_only" || e.Status != 409 || !strings.Contains(e.Hint, "writable") || !strings.Contains(e.Detail, w) {
		t.Errorf("%+v", e)
	}
	p := dialPeer(t, s.socket)
	id := must(p.upload(archiveOf("it", "1")))(t)
	if _, err := p.install(id); err == nil || !strings.Contains(err.Error(), "is not writable") {
		t.Errorf("%v", err)
	}
	s.nothingInstalled(t)
	s.enter(t, "mount -o remount,rw,bind "+w)
	if m, err := p.install(id); err != nil || m.Status != "installed" { // the upload is still there
		t.Errorf("%+v, %v", m, err)
	}
}

// TestInstallAsSomebodyElse asks as a user whom the mode of the socket lets in, and who may only read.
func TestInstallAsSomebodyElse(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can ask as another user")
	}
	const member = 65533
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--state-dir", t.TempDir(), "--socket-mode", "0660")
	dir := shortDir(t)
	writeIn(t, dir, "cp "+binary+" pannier; chmod 755 . pannier; mkdir it; printf -- '"+strings.ReplaceAll(skillFile("it", "1"), "\n", `\n`)+"' > it/SKILL.md; chmod -R a+rX it")
	need(t, errors.Join(os.Chmod(filepath.Dir(s.socket), 0o755), os.Chown(s.socket, 0, member)))
	ask := func(args ...string) (string, int) {
		cmd := exec.Command("./pannier", append(args, "--socket", s.socket)...)
		cmd.Dir, cmd.Env = dir, cleanEnviron()
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: member, Gid: member}}
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := ask("list"); code != 0 {
		t.Errorf("reading: exit code %d\n%s", code, out)
	}
	for _, args := range [][]string{{"install", "it"}, {"update", "it", "it"}, {"uninstall", "it"}, {"rollback", "it"}} {
		if out, code := ask(args...); code != exitNo || !strings.Contains(out, "--write-uids") {
			t.Errorf("%v: exit code %d\n%s", args, code, out)
		}
	}
	s.nothingInstalled(t)
	list, err := s.Audit(t.Context(), "", 10)
	var denied []string // the newest first
	for _, e := range list.Entries {
		if e.Phase != pannier.AuditOutcome || e.Actor.UID == nil || *e.Actor.UID != member {
			t.Errorf("audited %+v", e)
		}
		detail, _ := e.Detail.(map[string]any)
		denied = append(denied, fmt.Sprintf("%s %v", e.Action, detail["request"]))
	}
	want := []string{
		"request.denied POST /v1/skills/{slug}/rollback", "request.denied DELETE /v1/skills/{slug}", "request.denied PUT /v1/skills/{slug}",
		"request.denied POST /v1/skills",
	}
	if diff := cmp.Diff(want, denied); err != nil || diff != "" {
		t.Errorf("audit log: %v (-want +got):\n%s", err, diff)
	}
}

// TestInstallationsAreJudged where they are to lie, by what is there and by the settings, before anything is on disk.
func TestInstallationsAreJudged(t *testing.T) {
	t.Parallel()
	with := func(lines string) []byte {
		return packed(map[string]string{"it/SKILL.md": strings.Replace(skillFile("it", "1"), "version:", lines+"\nversion:", 1)})
	}
	for _, tt := range []struct {
		code    string
		status  int
		archive []byte
		args    []string
		there   string // a script
		allowed bool   // with allow_missing
	}{
		{"install.dependency", 422, with("dependencies:\n  bins: no-such-program"), nil, "", true},
		{"install.trust", 422, with(""), []string{"--trust-minimum", "verified"}, "", false},
		{"install.collision", 409, with(""), nil, "mkdir -p skills/group; " + strings.ReplaceAll(skillScript("it", "Is another."), "skills/it", "skills/group/it"), false},
		{"install.exists", 409, with(""), nil, skillScript("it", "Lies there."), false},
		{"install.conflict", 409, with("conflicts: [own]"), nil, "", false},
		{"install.security", 422, packed(map[string]string{"it/SKILL.md": skillFile("it", "1"), "it/run": "\x7fELF\x02\x01\x01"}), nil, "", false},
		{"archive.top_level", 422, packed(map[string]string{"it/SKILL.md": skillFile("it", "1"), "other/a": "a"}), nil, "", false},
		{"upload.size_limit", 413, with(""), []string{"--install-max-compressed-bytes", "100"}, "", false},
	} {
		t.Run(tt.code, func(t *testing.T) {
			w := workspaceWith(t, skillScript("own", "Is not ours.")+tt.there)
			s := startSidecar(t, w, append([]string{"--platform-url", "off", "--state-dir", t.TempDir()}, tt.args...)...)
			before, err := s.Skills(t.Context(), "", true)
			need(t, err)
			put := func(allow bool) (pannier.InstallResult, error) {
				return s.Install(t.Context(), pannier.InstallRequest{AllowMissing: allow}, pannier.InstallSource{Body: bytes.NewReader(tt.archive)})
			}
			_, err = put(false)
			if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != tt.code || e.Status != tt.status || e.Hint == "" {
				t.Errorf("%+v, %v", e, err)
			}
			after, err := s.Skills(t.Context(), "", true)
			if err != nil || after.SnapshotVersion != before.SnapshotVersion {
				t.Errorf("snapshot %d became %d, %v", before.SnapshotVersion, after.SnapshotVersion, err)
			}
			log, err := s.Audit(t.Context(), "", 10)
			if err != nil || len(log.Entries) != 2 || log.Entries[0].Error == "" || log.Entries[1].Phase != pannier.AuditIntent {
				t.Errorf("audited %+v, %v", log.Entries, err)
			}
			if result, err := put(true); (err == nil) != tt.allowed {
				t.Errorf("with allow_missing: %+v, %v", result, err)
			}
		})
	}
}

// TestPolicyGoesWithSkill that is uninstalled, and is not that of one which comes later.
func TestPolicyGoesWithSkill(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--state-dir", t.TempDir())
	put := func() {
		t.Helper()
		must(s.Install(t.Context(), pannier.InstallRequest{}, pannier.InstallSource{Body: bytes.NewReader(archiveOf("it", "1"))}))(t)
	}
	put()
	s.runs(t, exitYes, "", "policy", "set", "it", "--enabled=false")
	s.judged(t, "it", pannier.StateDisabled, pannier.EnvironmentSidecar)
	must(s.Uninstall(t.Context(), pannier.RemoveRequest{Slug: "it"}))(t)
	put()
	if e, err := s.entry(t, "it"); err != nil || e.State != pannier.StateEligible {
		t.Errorf("%+v, %v", e, err)
	}
}
