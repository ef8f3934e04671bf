package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/admin"
)

// TestPanicReleases wants the staging directory and the upload of an installation that panics to be free again.
func TestPanicReleases(t *testing.T) {
	w := newWorkshop(t)
	src := w.upload(t, "upl_1", skillOf("1"))
	for _, step := range []string{"stage.fill", "stage.sync", "intent.commit", "swap", "lock.commit"} {
		w.before = func(name string) error {
			if name == step {
				panic("a defect")
			}
			return nil
		}
		func() {
			defer func() {
				if cause := recover(); cause != "a defect" {
					t.Errorf("%s: recovered %v", step, cause)
				}
			}()
			_, _, _ = w.Install(t.Context(), actor, pannier.InstallRequest{}, src)
		}()
		if did := w.did(); !strings.Contains(did, "release consumed false") {
			t.Errorf("%s: %s", step, did)
		}
		if left := w.disk(t); left != "skills/own/SKILL.md" {
			t.Errorf("%s: on disk is %s", step, left)
		}
	}
	w.before = nil
	if _, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, src); err != nil {
		t.Error(err)
	}
}

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
		{"install", put("", "1"), pannier.StatusInstalled, "audit intent, take upl_1, judge it community, disk, look at skills/it, release consumed true, audit outcome, emit install_added"},
		{"the same again", put("", "1"), pannier.StatusAlreadyInstalled, "audit intent, take upl_1, judge it community, release consumed true, audit outcome"},
		{"update", put("it", "2"), pannier.StatusUpdated, "audit intent, take upl_2, judge it community, disk, look at skills/it, release consumed true, audit outcome, emit install_replaced"},
		{"the same update again", put("it", "2"), pannier.StatusAlreadyUpToDate, "audit intent, take upl_2, judge it community, release consumed true, audit outcome"},
		{"rollback", remove(w.Rollback), pannier.StatusRolledBack, "audit intent, disk, look at skills/it, audit outcome, emit install_rolled_back"},
		{"uninstall", remove(w.Uninstall), pannier.StatusUninstalled, "audit intent, disk, look at skills/it, apply, audit outcome, emit install_removed"},
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

// TestInstallationTellsOfPolicy holds to the sentence that non-implicit skills are there so that users keep skills
// installed "without letting the model discover and use them silently" (Pioneer skills architecture, "Policy"): the
// answer says so.
func TestInstallationTellsOfPolicy(t *testing.T) {
	w := newWorkshop(t)
	w.policy = pannier.PolicyLayers{Start: pannier.StartSwitches()}.Effective()
	result, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{AllowMissing: true}, body(skillOf("1.0.0")))
	if err != nil || len(result.Problems) != 1 || result.Problems[0].Code != "install.explicit_only" || !strings.Contains(result.Problems[0].Hint, "policy set it --implicit=true") {
		t.Errorf("%+v, %v", result.Problems, err)
	}
	w = newWorkshop(t)
	w.policy = pannier.PolicyLayers{Start: pannier.StartSwitches(), Gateway: pannier.Switches{AllowImplicit: new(true)}}.Effective()
	if result, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{AllowMissing: true}, body(skillOf("1.0.0"))); err != nil || len(result.Problems) != 0 {
		t.Errorf("where policy allows it: %+v, %v", result.Problems, err)
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

// TestCallerThatGoesAwayWhileWaiting leaves nothing behind and does not block others.
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
	w.blind, w.unreleased = errors.New("no scan"), errors.New("the store is full")
	result, s, err := w.Install(t.Context(), actor, pannier.InstallRequest{}, w.upload(t, "upl_1", skillOf("1")))
	if err != nil || s != nil || result.Status != pannier.StatusInstalled {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, want := range []string{"no scan", "the store is full"} {
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

// TestUninstalledSkillHasNoSwitch sets each switch alone and checks that it is removed.
func TestUninstalledSkillHasNoSwitch(t *testing.T) {
	w := newWorkshop(t)
	key := pannier.PolicyKey{Slug: "it", SourceKind: pannier.SourceWorkspace}
	for _, name := range switchNames() {
		var change pannier.PolicyChange
		err := json.Unmarshal(fmt.Appendf(nil, `{%q:false}`, name), &change)
		_, _, err2 := w.SetPolicy(t.Context(), actor, key, change)
		set := w.Policies()[key]
		_, _, err3 := w.Install(t.Context(), actor, pannier.InstallRequest{}, body(skillOf("1")))
		_, _, err4 := w.Uninstall(t.Context(), actor, pannier.RemoveRequest{Slug: "it"})
		if err := errors.Join(err, err2, err3, err4); err != nil || set.IsZero() || len(w.Policies()) != 0 {
			t.Errorf("%s: %v, set %+v, then %+v", name, err, set, w.Policies())
		}
	}
}

// TestInstallationsOfOneSlug come one after the other, whichever client sends them.
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
	h := newFixture(t, t.TempDir())
	for code, d := range map[string]*admin.Service{
		"install.unavailable": h.Service,
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

// TestStagingIsBounded refuses an archive that comes to more than the bound with what another installation has
// unpacked, and takes it when that has ended.
func TestStagingIsBounded(t *testing.T) {
	w := newWorkshop(t)
	large := pack(map[string]string{"it/SKILL.md": skillText("1"), "it/data": strings.Repeat("x", 600<<10)})
	plan := func() error {
		_, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{DryRun: true}, body(large))
		return err
	}
	asked := 0
	w.before = func(step string) error {
		if step == "lock.write" {
			asked++
			if r, ok := errors.AsType[*pannier.Refusal](plan()); !ok || r.Code != "install.staging_full" || r.Hint == "" {
				t.Errorf("beside another: %+v", r)
			}
		}
		return nil
	}
	for _, version := range []string{"", "it"} {
		large := pack(map[string]string{"it/SKILL.md": skillText("2" + version), "it/data": strings.Repeat("x", 600<<10)})
		if _, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{Slug: version}, body(large)); err != nil {
			t.Error(err)
		}
		if err := plan(); err == nil || !strings.Contains(err.Error(), "already exists") {
			t.Errorf("alone: %v", err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times beside another", asked)
	}
}

// TestSkillPlacedByHand wants the trust and policy that apply to a skill that is there already.
func TestSkillPlacedByHand(t *testing.T) {
	w := newWorkshop(t)
	w.policy = pannier.PolicyLayers{Start: pannier.StartSwitches()}.Effective()
	write(t, filepath.Join(w.dir, "skills/it/SKILL.md"), skillText("1.0.0"))
	byHand := &pannier.Skill{Slug: "it", Path: "skills/it", TrustLevel: pannier.TrustInternal, SourceKind: pannier.SourceWorkspace}
	w.served = []*pannier.Entry{{Skill: byHand, Policy: pannier.PolicyLayers{}.Effective()}}
	for _, slug := range []string{"", "it"} {
		result, _, err := w.Install(t.Context(), actor, pannier.InstallRequest{Slug: slug}, body(skillOf("1.0.0")))
		if err != nil || !result.Status.Unchanged() || result.Skill.TrustLevel != pannier.TrustInternal {
			t.Errorf("%+v, %v", result, err)
		}
		if len(result.Problems) != 1 || result.Problems[0].Code != "install.not_managed" {
			t.Errorf("problems %+v", result.Problems)
		}
	}
}
