package admin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/admin"
)

// TestOrderOfInstallations moves a skill in and out, and wants each step in its place.
func TestOrderOfInstallations(t *testing.T) {
	w := newWorkshop(t)
	remove := func(do func(context.Context, pannier.Actor, pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error)) func() (pannier.InstallResult, *pannier.Snapshot, error) {
		return func() (pannier.InstallResult, *pannier.Snapshot, error) {
			return do(t.Context(), actor, pannier.RemoveRequest{Slug: "it"})
		}
	}
	put := func(slug, version string) func() (pannier.InstallResult, *pannier.Snapshot, error) {
		return func() (pannier.InstallResult, *pannier.Snapshot, error) {
			return w.Install(t.Context(), actor, pannier.InstallRequest{Slug: slug}, w.upload(t, "upl_"+version, skillOf(version)))
		}
	}
	for _, tt := range []struct {
		name   string
		do     func() (pannier.InstallResult, *pannier.Snapshot, error)
		status pannier.InstallStatus
		want   string
	}{
		{"install", put("", "1"), pannier.StatusInstalled, "audit intent, take upl_1, judge it community, disk, look at skills/it skills, release consumed true, audit outcome, emit install_added"},
		{"the same again", put("", "1"), pannier.StatusAlreadyInstalled, "audit intent, take upl_1, judge it community, release consumed true, audit outcome"},
		{"update", put("it", "2"), pannier.StatusUpdated, "audit intent, take upl_2, judge it community, disk, look at skills/it skills, release consumed true, audit outcome, emit install_replaced"},
		{"the same update again", put("it", "2"), pannier.StatusAlreadyUpToDate, "audit intent, take upl_2, judge it community, release consumed true, audit outcome"},
		{"rollback", remove(w.Rollback), pannier.StatusRolledBack, "audit intent, disk, look at skills/it skills, audit outcome, emit install_rolled_back"},
		{"uninstall", remove(w.Uninstall), pannier.StatusUninstalled, "audit intent, disk, apply, look at skills/it skills, audit outcome, emit install_removed"},
		{"uninstall again", remove(w.Uninstall), pannier.StatusNotInstalled, "audit intent, audit outcome"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w.did()
			result, s, err := tt.do()
			if err != nil || result.Status != tt.status || result.AuditEntries != 2 {
				t.Fatalf("%+v, %v", result, err)
			}
			if changed := strings.Contains(tt.want, "look"); changed != (s != nil) {
				t.Errorf("snapshot %v", s)
			}
			if diff := cmp.Diff(strings.Split(tt.want, ", "), withoutData(w.did())); diff != "" {
				t.Errorf("want -, did +:\n%s", diff)
			}
		})
	}
	if got := w.disk(t); got != "skills/own/SKILL.md" {
		t.Errorf("on disk %s", got)
	}
}

// withoutData are the lines of what happened, without what events tell.
func withoutData(did string) []string {
	lines := strings.Split(did, "\n")
	for i, line := range lines {
		lines[i], _, _ = strings.Cut(line, " {")
	}
	return lines
}

// TestInstallationIsTold in the audit log and as an event.
func TestInstallationIsTold(t *testing.T) {
	w := newWorkshop(t)
	result, s, err := w.Install(t.Context(), actor, pannier.InstallRequest{AllowMissing: true}, body(skillOf("1")))
	if err != nil || s.Version != w.registry.Version {
		t.Fatalf("%v, %v", s, err)
	}
	print := result.Skill.Fingerprint.String()
	want := `1 intent of 0 skill.install  {"origin":"archive:it.tgz","allow_missing":true} 0
2 outcome of 1 skill.install it {"status":"installed","path":"skills/it","fingerprint":"` + print + `","trust":"community"} 41`
	if diff := cmp.Diff(want, w.audited(t)); diff != "" {
		t.Errorf("audit log, want -, got +:\n%s", diff)
	}
	event := fmt.Sprintf(`emit install_added {"slug":"it","name":"it","source_kind":"workspace","version":"1","fingerprint":%q,"trust_level":"community","path":"skills/it","install_path":%q,"origin":"archive:it.tgz"}`, print, w.dir+"/skills/it")
	if did := w.did(); !strings.HasSuffix(did, event) {
		t.Errorf("did\n%s\nwant last\n%s", did, event)
	}
	if result.Files != 1 || result.Bytes == 0 || result.Skill.InstallPath != w.dir+"/skills/it" || result.Skill.Path != "skills/it" {
		t.Errorf("%+v", result)
	}
}

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
		{"install.collision", skillOf("1"), pannier.InstallRequest{AllowMissing: true}, func(w *workshop) { w.others = []pannier.Entry{{Skill: other}} }, "it", true},
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
			entries, err := w.log.Newest("", 10)
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
		w.served = []pannier.Entry{{Skill: other, Usable: usable}}
		w.others = []pannier.Entry{{Skill: other, Reasons: []pannier.Reason{{Code: pannier.ReasonConflict, Subject: "it", Remedy: "do"}}}}
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

// TestUnauditedInstallations are not made; one whose outcome could not be audited is.
func TestUnauditedInstallations(t *testing.T) {
	w := newWorkshop(t)
	w.unaudited = pannier.AuditIntent
	_, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, w.upload(t, "upl_1", skillOf("1")))
	_, _, err2 := w.Uninstall(t.Context(), actor, pannier.RemoveRequest{Slug: "it"})
	_, _, err3 := w.Rollback(t.Context(), actor, pannier.RemoveRequest{Slug: "it"})
	for _, err := range []error{err, err2, err3} {
		if !errors.Is(err, pannier.ErrNotAudited) {
			t.Error(err)
		}
	}
	if did := w.did(); did != "audit intent\naudit intent\naudit intent" || w.disk(t) != "skills/own/SKILL.md" {
		t.Errorf("did\n%s\non disk %s", did, w.disk(t))
	}
	w.unaudited = pannier.AuditOutcome
	result, s, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, w.upload(t, "upl_1", skillOf("1")))
	if err != nil || s == nil || result.Status != pannier.StatusInstalled || !strings.Contains(w.said.String(), "could not be audited") {
		t.Errorf("%+v, %v\nlog %s", result, err, w.said)
	}
}

// TestDryRunsTouchNothing and are no matter of the audit log.
func TestDryRunsTouchNothing(t *testing.T) {
	w := newWorkshop(t)
	result, s, err := w.Install(t.Context(), actor, pannier.InstallRequest{DryRun: true}, w.upload(t, "upl_1", skillOf("1")))
	if err != nil || s != nil || result.Status != pannier.StatusInstalled || !result.DryRun || result.Files != 1 || result.AuditEntries != 0 {
		t.Errorf("%+v, %v", result, err)
	}
	if did := w.did(); did != "take upl_1\njudge it community\nrelease consumed false" || w.disk(t) != "skills/own/SKILL.md" {
		t.Errorf("did\n%s\non disk %s", did, w.disk(t))
	}
	if _, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, w.upload(t, "upl_1", skillOf("1"))); err != nil {
		t.Fatal(err)
	}
	w.did()
	before := w.disk(t)
	update, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{Slug: "it", DryRun: true}, body(skillOf("2")))
	gone, _, err2 := w.Uninstall(t.Context(), actor, pannier.RemoveRequest{Slug: "it", DryRun: true})
	if err := errors.Join(err, err2); err != nil || update.Status != pannier.StatusUpdated || gone.Status != pannier.StatusUninstalled || !gone.DryRun {
		t.Errorf("%+v, %+v, %v", update, gone, err)
	}
	if did := w.did(); did != "judge it community" || w.disk(t) != before {
		t.Errorf("did\n%s\non disk %s", did, w.disk(t))
	}
}

// TestWhatAgentLacks keeps a skill out, unless whoever asks knows it.
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
		{"archive.format", body([]byte("this is no archive"))},
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

// TestCallerThatGoesAway before the turn installs nothing; after it, the installation goes on.
func TestCallerThatGoesAway(t *testing.T) {
	for _, tt := range []struct {
		step   string
		gone   bool
		onDisk string
	}{
		{"stage.sync", true, "skills/own/SKILL.md"},
		{"intent.commit", false, "skills/it/SKILL.md skills/own/SKILL.md"},
		{"lock.commit", false, "skills/it/SKILL.md skills/own/SKILL.md"},
	} {
		w := newWorkshop(t)
		ctx, cancel := context.WithCancel(t.Context())
		w.before = func(step string) error {
			if step == tt.step {
				cancel()
			}
			return nil
		}
		_, _, err := w.Install(ctx, actor, pannier.InstallRequest{}, w.upload(t, "upl_1", skillOf("1")))
		if gone := errors.Is(err, context.Canceled); gone != tt.gone || (err != nil) != tt.gone {
			t.Errorf("%s: %v", tt.step, err)
		}
		if got := w.disk(t); got != tt.onDisk {
			t.Errorf("%s: on disk %s", tt.step, got)
		}
		if did := w.did(); !strings.Contains(did, fmt.Sprintf("release consumed %t\naudit outcome", !tt.gone)) {
			t.Errorf("%s: did\n%s", tt.step, did)
		}
		cancel()
	}
}

// TestBodyThatStops is an attempt that came to nothing.
func TestBodyThatStops(t *testing.T) {
	w := newWorkshop(t)
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var sender sync.WaitGroup
	sender.Go(func() {
		_, _ = in.Write(skillOf("1")[:50])
		cancel()
		in.CloseWithError(io.ErrUnexpectedEOF)
	})
	_, _, err := w.Install(ctx, actor, pannier.InstallRequest{}, pannier.InstallSource{Body: out})
	sender.Wait()
	if did := w.did(); err == nil || did != "audit intent\naudit outcome" || w.disk(t) != "skills/own/SKILL.md" {
		t.Errorf("%v, did\n%s\non disk %s", err, did, w.disk(t))
	}
}

// TestCallerThatGoesAwayWhileWaiting for its turn leaves nothing, and keeps nobody from theirs.
func TestCallerThatGoesAwayWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop(t)
		free := make(chan struct{})
		w.during = func() { <-free }
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		callers.Go(func() { _, _, _ = w.SetPolicy(t.Context(), actor, pdf, off) })
		synctest.Wait()
		callers.Go(func() {
			if _, _, err := w.Install(ctx, actor, pannier.InstallRequest{}, w.upload(t, "upl_1", skillOf("1"))); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		callers.Go(func() {
			if _, _, err := w.Uninstall(ctx, actor, pannier.RemoveRequest{Slug: "own"}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait() // both wait for the policy
		cancel()
		synctest.Wait()
		close(free)
		callers.Wait()
		if did := w.did(); !strings.Contains(did, "release consumed false") || strings.Contains(did, "judge") || w.disk(t) != "skills/own/SKILL.md" {
			t.Errorf("did\n%s\non disk %s", did, w.disk(t))
		}
		if _, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, body(skillOf("1"))); err != nil {
			t.Error(err)
		}
	})
}

// TestDoneIsDone: what fails behind an installation does not make it none.
func TestDoneIsDone(t *testing.T) {
	w := newWorkshop(t)
	w.blind, w.unreleased = errors.New("nobody looks"), errors.New("the store is full")
	result, s, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, w.upload(t, "upl_1", skillOf("1")))
	if err != nil || s != nil || result.Status != pannier.StatusInstalled {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, want := range []string{"nobody looks", "the store is full"} {
		if !strings.Contains(w.said.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, w.said)
		}
	}
	if did := w.did(); !strings.Contains(did, "audit outcome\nemit install_added") {
		t.Errorf("did\n%s", did)
	}
}

// TestUninstalledSkillHasNoPolicy any more; one that was not there keeps it.
func TestUninstalledSkillHasNoPolicy(t *testing.T) {
	w := newWorkshop(t)
	key := pannier.PolicyKey{Slug: "it", SourceKind: pannier.SourceWorkspace}
	if _, _, err := w.SetPolicy(t.Context(), actor, key, off); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Uninstall(t.Context(), actor, pannier.RemoveRequest{Slug: "it"}); err != nil || w.Policies()[key].IsZero() {
		t.Errorf("%v, policies %v", err, w.Policies())
	}
	_, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, body(skillOf("1")))
	_, _, err2 := w.Uninstall(t.Context(), actor, pannier.RemoveRequest{Slug: "it", DryRun: true})
	if err := errors.Join(err, err2); err != nil || w.Policies()[key].IsZero() {
		t.Errorf("%v, policies after a dry run %v", err, w.Policies())
	}
	if _, _, err := w.Uninstall(t.Context(), actor, pannier.RemoveRequest{Slug: "it"}); err != nil || len(w.Policies()) != 0 || len(w.registry.Policies.Workspace) != 0 {
		t.Errorf("%v, policies %v, in the registry %v", err, w.Policies(), w.registry.Policies.Workspace)
	}
}

// TestInstallationsOfOneSlug come one after the other, whoever sends them.
func TestInstallationsOfOneSlug(t *testing.T) {
	w := newWorkshop(t)
	const callers = 8
	status := make(chan pannier.InstallStatus, callers)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			result, _, err := w.Install(context.Background(), actor, pannier.InstallRequest{}, body(skillOf("1")))
			if err != nil {
				t.Error(err)
			}
			status <- result.Status
		})
	}
	all.Wait()
	close(status)
	counts := map[pannier.InstallStatus]int{}
	for s := range status {
		counts[s]++
	}
	if counts[pannier.StatusInstalled] != 1 || counts[pannier.StatusAlreadyInstalled] != callers-1 {
		t.Errorf("%v", counts)
	}
	if did := w.did(); strings.Count(did, "emit install_added") != 1 || strings.Count(did, "audit outcome") != callers || strings.Count(did, "disk") != 1 {
		t.Errorf("did\n%s", did)
	}
}

// TestWhereNothingIsInstalled says why.
func TestWhereNothingIsInstalled(t *testing.T) {
	h := newHouse(t, t.TempDir())
	for code, d := range map[string]*admin.Door{
		"install.unavailable": h.Door,
		"install.disabled":    admin.New(admin.Options{Install: admin.InstallOptions{Refused: &pannier.Refusal{Code: "install.disabled", Message: "no", Hint: "ask"}}}),
	} {
		_, _, err := d.Install(t.Context(), actor, pannier.InstallRequest{}, body(skillOf("1")))
		_, _, err2 := d.Uninstall(t.Context(), actor, pannier.RemoveRequest{Slug: "it"})
		_, _, err3 := d.Rollback(t.Context(), actor, pannier.RemoveRequest{Slug: "it"})
		for _, err := range []error{err, err2, err3} {
			if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != code {
				t.Errorf("%v, want %s", err, code)
			}
		}
	}
	if len(h.happened) > 0 {
		t.Errorf("did %q", h.happened)
	}
}
