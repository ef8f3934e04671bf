package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/client"
)

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
			w := newWorkspace(t)
			writeIn(t, w, skillScript("own", "Is not ours.")+tt.there)
			s := startSidecar(t, w, append([]string{"--platform-url", "off", "--state-dir", t.TempDir()}, tt.args...)...)
			before, err := s.Skills(t.Context(), "", true)
			if err != nil {
				t.Fatal(err)
			}
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
