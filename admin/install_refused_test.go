package admin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"pannier"
)

// TestRefusedInstallations leave the reason in the audit log, and nothing on disk.
func TestRefusedInstallations(t *testing.T) {
	reason := func(code string) func(*workshop) {
		return func(w *workshop) { w.reasons = []pannier.Reason{{Code: code, Subject: "qpdf", Remedy: "do"}} }
	}
	elf := map[string]string{"it/SKILL.md": skillText("1"), "it/run": "\x7fELF\x02\x01\x01"}
	other := &pannier.Skill{Slug: "it", SourceKind: pannier.SourceWorkspace, Path: "skills/a/it"}
	for _, tt := range []struct {
		code    string
		archive []byte
		req     pannier.InstallRequest
		with    func(*workshop)
		slug    string // in the outcome
		kept    bool   // the upload
	}{
		{"archive.link", pack(map[string]string{"it/SKILL.md": skillText("1"), "it/z": "-> /etc/passwd"}), pannier.InstallRequest{}, nil, "", false},
		{"archive.truncated", skillOf("1")[:40], pannier.InstallRequest{}, nil, "", false},
		{"archive.total_size", pack(map[string]string{"it/SKILL.md": skillText("1"), "it/a": strings.Repeat("a", 1<<20)}), pannier.InstallRequest{}, nil, "", false},
		{"install.security", pack(elf), pannier.InstallRequest{}, nil, "", true},
		{"install.invalid", pack(map[string]string{"it/SKILL.md": "no frontmatter"}), pannier.InstallRequest{}, nil, "", true},
		{"install.root_kind", skillOf("1"), pannier.InstallRequest{SourceKind: pannier.SourceBundled}, nil, "", true},
		{"install.dependency", skillOf("1"), pannier.InstallRequest{}, reason(pannier.ReasonMissingBinary), "it", true},
		{"install.conflict", skillOf("1"), pannier.InstallRequest{AllowMissing: true}, reason(pannier.ReasonConflict), "it", true},
		{"install.trust", skillOf("1"), pannier.InstallRequest{AllowMissing: true}, reason(pannier.ReasonTrustBlocked), "it", true},
		{"install.invalid", skillOf("1"), pannier.InstallRequest{AllowMissing: true}, reason(pannier.ReasonInvalid), "it", true},
		{"install.collision", skillOf("1"), pannier.InstallRequest{AllowMissing: true}, func(w *workshop) { w.others = []*pannier.Entry{{Skill: other}} }, "it", true},
		{"install.exists", pack(map[string]string{"own/SKILL.md": strings.ReplaceAll(skillText("1"), "name: it", "name: own")}), pannier.InstallRequest{}, nil, "own", true},
		{"install.not_found", skillOf("1"), pannier.InstallRequest{Slug: "it"}, nil, "it", true},
		{"install.slug_mismatch", skillOf("1"), pannier.InstallRequest{Slug: "own"}, nil, "own", true},
		{"install.disk_full", skillOf("1"), pannier.InstallRequest{}, func(w *workshop) { w.before = failing("swap") }, "it", true},
	} {
		t.Run(tt.code, func(t *testing.T) {
			w := newWorkshop(t)
			if tt.with != nil {
				tt.with(w)
			}
			before := w.disk(t)
			result, s, err := w.Install(t.Context(), actor, tt.req, w.upload(t, "upl_1", tt.archive))
			r, ok := errors.AsType[*pannier.Refusal](err)
			if !ok || r.Code != tt.code || r.Message == "" || r.Hint == "" || s != nil || result.Status != "" {
				t.Fatalf("%+v, %v, want %s", result, err, tt.code)
			}
			if got := w.disk(t); got != before {
				t.Errorf("on disk %s", got)
			}
			if did := w.did(); !strings.Contains(did, fmt.Sprintf("release consumed %t", !tt.kept)) || strings.Contains(did, "emit") || strings.Contains(did, "look") {
				t.Errorf("did\n%s", did)
			}
			entries, err := w.log.Newest("", 0, 10)
			if err != nil || len(entries) != 2 || entries[0].Intent != 1 || entries[0].Slug != tt.slug || !strings.Contains(entries[0].Error, r.Message) {
				t.Errorf("audited %+v, %v", entries, err)
			}
		})
	}
}

// TestSkillThatDisplacesAnother is refused where the other is in use, and not where it is not.
func TestSkillThatDisplacesAnother(t *testing.T) {
	other := &pannier.Skill{Slug: "zip", SourceKind: pannier.SourceWorkspace, Path: "skills/zip"}
	for _, usable := range []bool{true, false} {
		w := newWorkshop(t)
		w.served = []*pannier.Entry{{Skill: other, Usable: usable}}
		w.others = []*pannier.Entry{{Skill: other, Reasons: []pannier.Reason{{Code: pannier.ReasonConflict, Subject: "it", Remedy: "do"}}}}
		_, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{AllowMissing: true}, body(skillOf("1")))
		r, refused := errors.AsType[*pannier.Refusal](err)
		if refused != usable || refused && (r.Code != "install.conflict" || r.Hint == "") {
			t.Errorf("usable %t: %v", usable, err)
		}
	}
}

// failing fails a step as a disk without room does.
func failing(step string) func(string) error {
	return func(name string) error {
		if name == step {
			return &os.PathError{Op: "rename", Path: step, Err: syscall.ENOSPC}
		}
		return nil
	}
}

// TestRefusedRemovals leave what is there.
func TestRefusedRemovals(t *testing.T) {
	w := newWorkshop(t)
	if _, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, body(skillOf("1"))); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		code string
		do   func(context.Context, pannier.Actor, pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error)
		req  pannier.RemoveRequest
	}{
		{"install.not_managed", w.Uninstall, pannier.RemoveRequest{Slug: "own"}},
		{"install.fingerprint", w.Uninstall, pannier.RemoveRequest{Slug: "it", Expected: pannier.DigestOf([]byte("x"))}},
		{"install.no_previous", w.Rollback, pannier.RemoveRequest{Slug: "it"}},
		{"install.root_kind", w.Uninstall, pannier.RemoveRequest{Slug: "it", SourceKind: pannier.SourceExtra}},
	} {
		before := w.disk(t)
		w.did()
		_, s, err := tt.do(t.Context(), actor, tt.req)
		if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != tt.code || s != nil {
			t.Errorf("%v, want %s", err, tt.code)
		}
		if did := w.did(); did != "audit intent\naudit outcome" || w.disk(t) != before {
			t.Errorf("%s: did\n%s\non disk %s", tt.code, did, w.disk(t))
		}
	}
}

// TestWhatAgentLacks: missing dependencies refuse a skill, unless the request allows them.
func TestWhatAgentLacks(t *testing.T) {
	for _, code := range []string{
		pannier.ReasonMissingBinary, pannier.ReasonMissingAnyBinary, pannier.ReasonMissingEnv, pannier.ReasonMissingAPIKey,
		pannier.ReasonMissingMCP, pannier.ReasonOSUnsupported, pannier.ReasonRuntimeIncompatible,
	} {
		w := newWorkshop(t)
		w.reasons = []pannier.Reason{{Code: code, Subject: "x", Remedy: "do"}}
		_, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, body(skillOf("1")))
		if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != "install.dependency" || !strings.Contains(r.Hint, "allow_missing") {
			t.Errorf("%s: %v", code, err)
		}
		result, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{AllowMissing: true}, body(skillOf("1")))
		if err != nil || len(result.Reasons) != 1 || result.Reasons[0].Code != code {
			t.Errorf("%s: %+v, %v", code, result, err)
		}
	}
}

// TestBodiesThatAreNoArchive are refused before anything is unpacked.
func TestBodiesThatAreNoArchive(t *testing.T) {
	for _, tt := range []struct {
		code string
		src  pannier.InstallSource
	}{
		{"upload.size_limit", body(append(skillOf("1"), make([]byte, maxBody)...))},
		{"archive.format", body([]byte("not an archive"))},
		{"archive.format", body(nil)},
		{"archive.format", pannier.InstallSource{Body: bytes.NewReader(skillOf("1")), Format: pannier.Zip}},
		{"upload.not_found", pannier.InstallSource{UploadID: "upl_of_nobody"}},
	} {
		w := newWorkshop(t)
		_, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, tt.src)
		if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != tt.code {
			t.Errorf("%v, want %s", err, tt.code)
		}
		if did := w.did(); did != "audit intent\naudit outcome" || w.disk(t) != "skills/own/SKILL.md" {
			t.Errorf("%s: did\n%s\non disk %s", tt.code, did, w.disk(t))
		}
	}
}

// TestBodyAtTheLimit is taken.
func TestBodyAtTheLimit(t *testing.T) {
	w := newWorkshop(t)
	_, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, body(append(skillOf("1"), make([]byte, maxBody-len(skillOf("1")))...)))
	if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != "archive.trailing_data" {
		t.Error(err)
	}
}
