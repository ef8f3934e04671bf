package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pannier"
)

// TestKilledWhileInstalling ends the sidecar at any moment of a change. The next one has the skill as it was before or as it
// was to be, serves what is on disk, and has nothing left over.
func TestKilledWhileInstalling(t *testing.T) {
	t.Parallel()
	w, stateDir := workspaceWith(t, skillScript("own", "Is not ours.")+"printf 'skills:\n- own\n' >> config.yaml"), t.TempDir()
	args := []string{"--platform-url", "off", "--state-dir", stateDir, "--log-level", "warn"}
	s, random := startSidecar(t, w, args...), chance(t)
	version, outcomes := "", map[string]int{}
	for n := range often(20, 200) {
		action, want := "install", "1"
		switch {
		case version != "" && random.Intn(2) == 0:
			action, want = "uninstall", ""
		case version != "":
			action, want = "update", map[string]string{"1": "2", "2": "1"}[version]
		}
		id := s.killedDuring(t, action, want, time.Duration(random.Intn(30_000))*time.Microsecond)
		s = startSidecar(t, w, args...)
		got := installedVersion(t, w)
		if s.usedUp(t, id) && got != want {
			t.Errorf("round %d: the upload is used up, and nothing came of it", n)
		}
		if got != version && got != want {
			t.Fatalf("round %d: %s from %q to %q came to %q", n, action, version, want, got)
		}
		s.wholeAgain(t, got)
		if t.Failed() {
			t.Fatalf("round %d: %s from %q to %q", n, action, version, want)
		}
		outcomes[map[bool]string{true: "after", false: "before"}[got == want]]++
		version = got
	}
	t.Logf("killed, and found %v the change", outcomes)
}

// killedDuring asks for a change, and kills the sidecar that long after it was asked. It returns the upload, if there is one.
func (s *sidecarUnderTest) killedDuring(t *testing.T, action, version string, after time.Duration) (id string) {
	t.Helper()
	p := dialPeer(t, s.socket)
	defer p.close()
	if action != "uninstall" {
		var err error
		if id, err = p.upload(archiveOf("it", version)); err != nil {
			t.Fatal(err)
		}
	}
	killed := make(chan struct{})
	time.AfterFunc(after, func() { s.process.kill(); close(killed) })
	var err error
	switch action {
	case "install":
		_, err = p.install(id)
	case "update":
		_, err = p.update("it", id)
	case "uninstall":
		_, err = p.uninstall("it")
	}
	<-killed
	if err != nil && strings.Contains(err.Error(), "skills.") { // an answer that is no end of the connection
		t.Errorf("%s: %v", action, err)
	}
	return id
}

// usedUp reports whether an upload is. One that is still ready can be installed again, and is aborted.
func (s *sidecarUnderTest) usedUp(t *testing.T, id string) bool {
	t.Helper()
	if id == "" {
		return false
	}
	p := dialPeer(t, s.socket)
	defer p.close()
	var stands, aborted struct{ Status string }
	err := p.call("skills/upload/status", map[string]any{"upload_id": id}, &stands)
	if err == nil && stands.Status == "ready" {
		err = p.call("skills/upload/abort", map[string]any{"upload_id": id}, &aborted)
	}
	if err != nil || stands.Status != "ready" && stands.Status != "consumed" {
		t.Errorf("an upload is %q, %v", stands.Status, err)
	}
	return stands.Status == "consumed"
}

// installedVersion returns the version of the skill it on disk; empty where there is none.
func installedVersion(t *testing.T, workspace string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(workspace, "skills/it/SKILL.md"))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	for _, version := range []string{"1", "2"} {
		if string(text) == skillFile("it", version) {
			return version
		}
	}
	t.Fatalf("torn: %q, %v", text, err)
	return ""
}

// wholeAgain checks that disk, list, config.yaml, lock file and audit log say the same, and that nothing is left over.
func (s *sidecarUnderTest) wholeAgain(t *testing.T, version string) {
	t.Helper()
	s.servesNow(t, version)
	for _, pattern := range []string{"skills/.pannier/staging/*", "skills/.pannier/intent.json", ".config.yaml.*"} {
		if left, _ := filepath.Glob(filepath.Join(s.workspace, pattern)); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}
	config, err := os.ReadFile(filepath.Join(s.workspace, "config.yaml"))
	lock, err2 := os.ReadFile(filepath.Join(s.workspace, "skills/.pannier", pannier.LockFile))
	if err != nil || err2 != nil && !errors.Is(err2, fs.ErrNotExist) {
		t.Error(err, err2)
	}
	if listed := strings.Contains(string(config), "\n- it\n"); listed != (version != "") {
		t.Errorf("config.yaml:\n%s", config)
	}
	if locked := strings.Contains(string(lock), `"it"`); locked != (version != "") {
		t.Errorf("lock file:\n%s", lock)
	}
	if out, code := s.runWith(stateVariables(s.stateDir(t)), "audit-log", "verify"); code != 0 {
		t.Errorf("audit-log verify: exit code %d\n%s", code, out)
	}
}

// stateVariables name the state of a workspace to a command.
func stateVariables(stateDir string) []string {
	return []string{"PANNIER_WORKSPACE_ID=" + testWorkspaceID, "PANNIER_STATE_DIR=" + stateDir}
}

// stateDir returns the state directory that the sidecar was started with.
func (s *sidecarUnderTest) stateDir(t *testing.T) string {
	t.Helper()
	dir := ""
	for i, arg := range s.cmd.Args {
		if arg == "--state-dir" {
			dir = s.cmd.Args[i+1]
		}
	}
	return dir
}

// TestInstallationsAreLiveWhenAnswered, whatever the waits of the watcher are: the list that is asked for next shows each
// change, and the card of it reaches the platform.
func TestInstallationsAreLiveWhenAnswered(t *testing.T) {
	t.Parallel()
	platform := newRecorder(t)
	platform.up(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "http://"+platform.addr, "--platform-token-file", tokenFile(t), "--state-dir", t.TempDir(),
		"--settle", "1m", "--debounce", "1m", "--delete-grace", "1m")
	put := func(slug, version string) func() (pannier.InstallResult, error) {
		return func() (pannier.InstallResult, error) {
			return s.Install(t.Context(), pannier.InstallRequest{Slug: slug}, pannier.InstallSource{Body: bytes.NewReader(archiveOf("it", version))})
		}
	}
	remove := pannier.RemoveRequest{Slug: "it"}
	for _, tt := range []struct {
		name   string
		do     func() (pannier.InstallResult, error)
		served string // the version; empty is none
	}{
		{"installed", put("", "1"), "1"},
		{"updated", put("it", "2"), "2"},
		{"rolled_back", func() (pannier.InstallResult, error) { return s.Rollback(t.Context(), remove) }, "1"},
		{"uninstalled", func() (pannier.InstallResult, error) { return s.Uninstall(t.Context(), remove) }, ""},
		{"installed", put("", "3"), "3"},
	} {
		result, err := tt.do()
		if err != nil || string(result.Status) != tt.name {
			t.Fatalf("%s: %+v, %v", tt.name, result, err)
		}
		s.servesNow(t, tt.served)
		s.acknowledged(t)
		cards := platform.received()
		if got := strings.Contains(cards[len(cards)-1], "Is moved, as "+tt.served+"."); got != (tt.served != "") {
			t.Errorf("%s: the platform has %s", tt.name, cards[len(cards)-1])
		}
	}
	s.hasEvent(t, pannier.EventInstallAdded, `"slug":"it"`)
	s.hasEvent(t, pannier.EventInstallReplaced, `"version":"2"`)
	s.hasEvent(t, pannier.EventInstallRolledBack, `"version":"1"`)
	s.hasEvent(t, pannier.EventInstallRemoved, `"slug":"it"`)
	s.runs(t, exitYes, "", "health")
}

// servesNow checks the list as it is, without waiting: the skill it has a version, or is not there.
func (s *sidecarUnderTest) servesNow(t *testing.T, version string) {
	t.Helper()
	list := must(s.Skills(t.Context(), "", true))(t)
	got := ""
	for _, e := range list.Skills {
		if e.Slug == "it" {
			got = e.Version
		}
	}
	if got != version {
		t.Errorf("version %q is served, want %q", got, version)
	}
}
