package install_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/admin/install"
	"pannier/loader"
)

// stage stages files, for as long as the test runs.
func stage(t testing.TB, s *install.Store, files map[string]string) *install.Staged {
	t.Helper()
	st, err := s.Stage(context.Background(), pannier.InstallRequest{}, fill(files))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Discard(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func loaded(t *testing.T, dir string) map[string]*pannier.Skill {
	t.Helper()
	c, err := loader.New(loader.Options{Rules: optionsFor(dir).Rules}).Load(t.Context(), pannier.Batch{Full: true})
	if err != nil {
		t.Fatal(err)
	}
	skills := map[string]*pannier.Skill{}
	for _, skill := range c.Skills {
		skills[skill.Path] = skill
	}
	for _, p := range c.Problems {
		if p.Severity == pannier.SeverityError {
			t.Error(p)
		}
	}
	return skills
}

// TestLife takes one skill through everything.
func TestLife(t *testing.T) {
	dir := workspace(t, listing)
	s := open(t, optionsFor(dir))
	first, second := stage(t, s, skillOf("pdf", "1.0.0")), stage(t, s, skillOf("pdf", "2.0.0"))
	req := pannier.InstallRequest{Origin: "archive:pdf.zip"}
	ref := pannier.RemoveRequest{Slug: "pdf"}
	for _, step := range []struct {
		name     string
		do       func() (pannier.InstallResult, error)
		status   pannier.InstallStatus
		version  string // that lies there then
		config   string
		previous pannier.Digest
		before   string // the version that a rollback would bring back
	}{
		{"not there", func() (pannier.InstallResult, error) { return s.Uninstall(t.Context(), ref, actor) }, pannier.StatusNotInstalled, "", "", pannier.Digest{}, ""},
		{"install", func() (pannier.InstallResult, error) { return s.Install(t.Context(), first, req, actor) }, pannier.StatusInstalled, "1.0.0", "added", pannier.Digest{}, ""},
		{"install again", func() (pannier.InstallResult, error) {
			return s.Install(t.Context(), stage(t, s, skillOf("pdf", "1.0.0")), req, actor)
		}, pannier.StatusAlreadyInstalled, "1.0.0", "", first.Fingerprint, ""},
		{"update", func() (pannier.InstallResult, error) {
			return s.Update(t.Context(), second, pannier.InstallRequest{Slug: "pdf", Expected: first.Fingerprint}, actor)
		}, pannier.StatusUpdated, "2.0.0", "", first.Fingerprint, "1.0.0"},
		{"update again", func() (pannier.InstallResult, error) {
			return s.Update(t.Context(), stage(t, s, skillOf("pdf", "2.0.0")), req, actor)
		}, pannier.StatusAlreadyUpToDate, "2.0.0", "", second.Fingerprint, "1.0.0"},
		{"roll back", func() (pannier.InstallResult, error) { return s.Rollback(t.Context(), ref, actor) }, pannier.StatusRolledBack, "1.0.0", "", second.Fingerprint, "2.0.0"},
		{"roll back the rollback", func() (pannier.InstallResult, error) { return s.Rollback(t.Context(), ref, actor) }, pannier.StatusRolledBack, "2.0.0", "", first.Fingerprint, "1.0.0"},
		{"uninstall", func() (pannier.InstallResult, error) { return s.Uninstall(t.Context(), ref, actor) }, pannier.StatusUninstalled, "", "removed", second.Fingerprint, ""},
	} {
		result, err := step.do()
		if err != nil || result.Status != step.status || result.Config != step.config || result.Previous != step.previous || result.Skill.Slug != "pdf" {
			t.Errorf("%s: %+v, %v", step.name, result, err)
		}
		skill := loaded(t, dir)["skills/pdf"]
		if (skill != nil) != (step.version != "") || skill != nil && (skill.Version != step.version || !skill.Managed || skill.TrustLevel != pannier.TrustCommunity) {
			t.Errorf("%s: the loader has %+v", step.name, skill)
		}
		installed, err := s.Installed("")
		if err != nil || len(installed) != min(1, len(step.version)) {
			t.Fatalf("%s: %v, %v", step.name, installed, err)
		}
		if before := previousVersion(installed); before != step.before {
			t.Errorf("%s: before it was %q, want %q", step.name, before, step.before)
		}
		if own := loaded(t, dir)["skills/own"]; own == nil || own.Managed || own.TrustLevel != pannier.TrustInternal {
			t.Errorf("%s: somebody's own is %+v", step.name, own)
		}
	}
	if got := read(t, filepath.Join(dir, "config.yaml")); got != listing {
		t.Errorf("config.yaml is\n%s", got)
	}
}

func previousVersion(installed []install.Entry) string {
	if len(installed) == 0 || installed[0].Previous == nil {
		return ""
	}
	return installed[0].Previous.Version
}

func TestStaged(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	st := stage(t, s, map[string]string{
		"SKILL.md": "---\nname: PDF\nslug: pdf-tools\nowner: acme\nversion: x\ndescription: Does it.\n---\nDo it.\n", "a": "12345", "b.txt": "see ~/.aws/credentials\n",
	})
	if st.Skill.Qualified() != "acme/pdf-tools" || st.Skill.Path != "skills/pdf-tools" || st.Skill.Folder != "pdf-tools" || st.Skill.RootIndex != 0 || !st.Skill.Managed || st.Skill.TrustLevel != pannier.TrustCommunity || st.Files != 3 || st.Bytes < 60 {
		t.Errorf("%+v", st)
	}
	var told []string
	for _, p := range st.Problems {
		told = append(told, p.Path+" "+p.Code)
	}
	if !strings.Contains(strings.Join(told, "\n"), "skills/pdf-tools/SKILL.md skill.version.format") || len(st.Findings) == 0 {
		t.Errorf("problems %q, findings %v", told, st.Findings)
	}
	result, err := s.Install(t.Context(), st, pannier.InstallRequest{Origin: "upload:7", SourceKind: pannier.SourceWorkspace}, actor)
	want := pannier.InstalledSkill{
		Slug: "pdf-tools", Owner: "acme", Name: "PDF", SourceKind: pannier.SourceWorkspace, Version: "x", Fingerprint: st.Fingerprint,
		TrustLevel: pannier.TrustCommunity, Path: "skills/pdf-tools", InstallPath: filepath.Join(dir, "skills/pdf-tools"),
	}
	if diff := cmp.Diff(want, result.Skill); diff != "" || err != nil || result.Files != 3 || result.Bytes != st.Bytes || len(result.Problems) != len(st.Problems) {
		t.Errorf("%v, %+v (-want +got):\n%s", err, result, diff)
	}
	installed, err := s.Installed("")
	if err != nil || len(installed) != 1 {
		t.Fatalf("%v, %v", installed, err)
	}
	e := installed[0]
	if e.Path != "pdf-tools" || e.Root.Name != "skills" || e.Origin != "upload:7" || e.By != actor || e.InstalledAt.IsZero() || e.Fingerprint != st.Fingerprint || e.Owner != "acme" {
		t.Errorf("%+v", e)
	}
	if _, err := os.Stat(filepath.Join(dir, "config.yaml")); err == nil {
		t.Error("a config.yaml was made")
	}
}

func TestNamesOfWhatIsStaged(t *testing.T) {
	s := open(t, optionsFor(workspace(t, "")))
	for _, tt := range []struct{ name, folder, front, slug string }{
		{"its slug", "x", "slug: Its Slug\nname: n", "its-slug"},
		{"the folder", "PDF_Tools", "name: n", "pdf-tools"},
		{"its name", "", "name: PDF tools", "pdf-tools"},
		{"nothing", "", "x: y", ""},
		{"a folder that is none", "../x", "name: n", "n"},
		{"a hidden folder", ".x", "name: n", "n"},
		{"a folder without letters", "日本", "name: n", "skill-"},
	} {
		st, err := s.Stage(t.Context(), pannier.InstallRequest{}, from(tt.folder, map[string]string{"SKILL.md": "---\n" + tt.front + "\ndescription: d\n---\nDo it.\n"}))
		if tt.slug == "" {
			refused(t, err, "install.slug")
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if !strings.HasPrefix(st.Skill.Slug, tt.slug) || st.Skill.Folder != st.Skill.Slug {
			t.Errorf("%s: %s in %s", tt.name, st.Skill.Slug, st.Skill.Folder)
		}
		if err := st.Discard(); err != nil {
			t.Error(err)
		}
	}
}

// TestAdoption replaces somebody's own, whose fingerprint is given, and brings it back.
func TestAdoption(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	before := read(t, filepath.Join(dir, "skills/own/SKILL.md"))
	st := stage(t, s, skillOf("own", "1.0.0"))
	probe, err := s.Update(t.Context(), st, pannier.InstallRequest{DryRun: true, Expected: fingerprintOf(t, s, "own")}, actor)
	if err != nil || probe.Status != pannier.StatusUpdated || !probe.DryRun || read(t, filepath.Join(dir, "skills/own/SKILL.md")) != before {
		t.Fatalf("%+v, %v", probe, err)
	}
	result, err := s.Update(t.Context(), st, pannier.InstallRequest{Expected: probe.Previous}, actor)
	if err != nil || result.Status != pannier.StatusUpdated {
		t.Fatalf("%+v, %v", result, err)
	}
	if own := loaded(t, dir)["skills/own"]; !own.Managed || own.Version != "1.0.0" {
		t.Errorf("%+v", own)
	}
	if _, err := s.Rollback(t.Context(), pannier.RemoveRequest{Slug: "own", Expected: st.Fingerprint}, actor); err != nil {
		t.Fatal(err)
	}
	if own := loaded(t, dir)["skills/own"]; own.TrustLevel != pannier.TrustInternal || read(t, filepath.Join(dir, "skills/own/SKILL.md")) != before {
		t.Errorf("%+v", own)
	}
}

// fingerprintOf returns what a refusal says of a skill: a person would look there too.
func fingerprintOf(t *testing.T, s *install.Store, slug string) (d pannier.Digest) {
	t.Helper()
	_, err := put(t.Context(), s, skillOf(slug, "0"), pannier.InstallRequest{Expected: pannier.DigestOf(nil)}, true)
	words := strings.Fields(refused(t, err, "install.fingerprint").Message)
	if err := d.UnmarshalText([]byte(strings.TrimSuffix(words[3], ","))); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestChangedByHand(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	if err := puts("1.0.0", false)(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	installed, err := s.Installed("")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "skills/pdf/mine.txt"), "mine")
	_, err = put(t.Context(), s, skillOf("pdf", "2.0.0"), pannier.InstallRequest{Expected: installed[0].Fingerprint}, true)
	if r := refused(t, err, "install.fingerprint"); !strings.Contains(r.Hint, "by hand") || !strings.Contains(r.Message, installed[0].Fingerprint.String()) {
		t.Errorf("%+v", r)
	}
	result, err := put(t.Context(), s, skillOf("pdf", "2.0.0"), pannier.InstallRequest{}, true)
	if err != nil || len(result.Problems) == 0 || result.Problems[len(result.Problems)-1].Code != "install.changed_by_hand" {
		t.Errorf("%+v, %v", result, err)
	}
	if err := rollback(t.Context(), s); err != nil || read(t, filepath.Join(dir, "skills/pdf/mine.txt")) != "mine" {
		t.Error(err)
	}
	write(t, filepath.Join(dir, "skills/.pannier/previous/pdf/mine.txt"), "evil")
	refused(t, rollback(t.Context(), s), "install.no_previous")
}

// TestLockFileOfOthers: what others put into a lock file stays there.
func TestLockFileOfOthers(t *testing.T) {
	dir := workspace(t, "")
	lock := filepath.Join(dir, "skills/.pannier/lock.json")
	write(t, lock, `{"version":1,"extra":[1],"skills":{"own":{"slug":"own","trust":"verified","fingerprint":"","more":2},"./pdf":{"trust":"internal"}}}`)
	s := open(t, optionsFor(dir))
	if err := puts("1.0.0", false)(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(read(t, lock)), "")
	for _, part := range []string{`"extra":[1]`, `"more":2`, `"version":1`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is lost: %s", part, text)
		}
	}
	skills := loaded(t, dir)
	if skills["skills/own"].TrustLevel != pannier.TrustVerified || skills["skills/pdf"].TrustLevel != pannier.TrustCommunity {
		t.Errorf("own %s, pdf %s", skills["skills/own"].TrustLevel, skills["skills/pdf"].TrustLevel)
	}
}

func TestManagedRoot(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	r, err := put(t.Context(), s, skillOf("pdf", "1.0.0"), pannier.InstallRequest{SourceKind: pannier.SourceManaged}, false)
	if err != nil || r.Skill.Path != "managed/pdf" || loaded(t, dir)["managed/pdf"] == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if installed, err := s.Installed(pannier.SourceManaged); err != nil || len(installed) != 1 {
		t.Errorf("%v, %v", installed, err)
	}
	if installed, err := s.Installed(""); err != nil || len(installed) != 0 {
		t.Errorf("%v, %v", installed, err)
	}
	o := optionsFor(dir)
	o.Rules.Workspace, o.Rules.Roots[0].Path = dir+"/none", dir+"/none/skills"
	_, err = put(t.Context(), open(t, o), skillOf("pdf", "1.0.0"), pannier.InstallRequest{}, false)
	refused(t, err, "install.root_missing")
}

// TestInstalledSkillIsNotImplicit holds to "Effective skill policy starts with: enabled = true,
// allow_implicit_invocation = false" (Pioneer skills architecture, "Policy"), also in a root that allows implicit use
// of what the owner put there, and after an update and a rollback.
func TestInstalledSkillIsNotImplicit(t *testing.T) {
	dir := workspace(t, "")
	o := optionsFor(dir)
	for i := range o.Rules.Roots {
		o.Rules.Roots[i].Implicit = true
	}
	s := open(t, o)
	implicit := func(rules pannier.DiscoveryRules) bool {
		t.Helper()
		c, err := loader.New(loader.Options{Rules: rules}).Load(t.Context(), pannier.Batch{Full: true})
		i := slices.IndexFunc(c.Skills, func(s *pannier.Skill) bool { return s.Path == "skills/pdf" })
		if err != nil || i < 0 || !c.Skills[i].Managed {
			t.Fatalf("skill %d of %+v, %v", i, c.Skills, err)
		}
		return c.Skills[i].Implicit
	}
	if _, err := put(t.Context(), s, skillOf("pdf", "1.0.0"), pannier.InstallRequest{}, false); err != nil {
		t.Fatal(err)
	}
	if implicit(o.Rules) {
		t.Error("a new installation is implicit")
	}
	for _, step := range []func() error{
		func() error {
			_, err := put(t.Context(), s, skillOf("pdf", "2.0.0"), pannier.InstallRequest{Slug: "pdf"}, true)
			return err
		},
		func() error {
			_, err := s.Rollback(t.Context(), pannier.RemoveRequest{Slug: "pdf"}, pannier.Actor{})
			return err
		},
	} {
		if err := step(); err != nil || implicit(o.Rules) {
			t.Errorf("it is implicit: %v", err)
		}
	}
}

// TestOneAtATime has many callers, of two stores as of two processes.
func TestOneAtATime(t *testing.T) {
	dir := workspace(t, listing)
	stores := []*install.Store{open(t, optionsFor(dir)), open(t, optionsFor(dir))}
	var callers sync.WaitGroup
	for n := range 8 {
		callers.Go(func() {
			s, slug := stores[n%2], "skill-"+string(rune('a'+n/2))
			_, err := put(t.Context(), s, skillOf(slug, "1.0.0"), pannier.InstallRequest{}, false)
			if err == nil {
				_, err = put(t.Context(), s, skillOf(slug, "1.0.0"), pannier.InstallRequest{}, true)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	clean(t, dir)
	if installed, err := stores[0].Installed(""); err != nil || len(installed) != 4 {
		t.Errorf("%v, %v", installed, err)
	}
	if config := read(t, filepath.Join(dir, "config.yaml")); strings.Count(config, "- skill-") != 4 {
		t.Errorf("config.yaml is\n%s", config)
	}
}

func TestBusy(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	st := stage(t, s, skillOf("pdf", "1.0.0"))
	busy, err := os.OpenFile(filepath.Join(dir, "skills/.pannier/busy"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if err := syscall.Flock(int(busy.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := s.Install(ctx, st, pannier.InstallRequest{}, actor); !errors.Is(err, context.Canceled) {
			t.Errorf("whoever gives up: %v", err)
		}
	})
	cancel()
	waiting.Wait()
	waiting.Go(func() {
		if _, err := s.Install(t.Context(), st, pannier.InstallRequest{}, actor); err != nil {
			t.Errorf("whoever waits: %v", err)
		}
	})
	if err := syscall.Flock(int(busy.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
}

// TestSweepOfOthers: what another process has staged and still holds is not swept.
func TestSweepOfOthers(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	st := stage(t, s, skillOf("pdf", "1.0.0"))
	write(t, filepath.Join(dir, "skills/.pannier/staging/rubbish/new/x/SKILL.md"), "x")
	other := open(t, optionsFor(dir))
	if _, err := os.Stat(filepath.Join(dir, "skills/.pannier/staging/rubbish")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("rubbish: %v", err)
	}
	if err := puts("2.0.0", false)(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Update(t.Context(), st, pannier.InstallRequest{}, actor); err != nil || r.Status != pannier.StatusUpdated {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestStagedIsUsedOnce: what was staged is gone from there once it is installed.
func TestStagedIsUsedOnce(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	first, second := stage(t, s, skillOf("pdf", "1.0.0")), stage(t, s, skillOf("pdf", "2.0.0"))
	if _, err := s.Install(t.Context(), first, pannier.InstallRequest{}, actor); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), second, pannier.InstallRequest{}, actor); err != nil {
		t.Fatal(err)
	}
	if err := rollback(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	before := walk(t, filepath.Join(dir, "skills/.pannier/lock.json"))
	if _, err := s.Update(t.Context(), second, pannier.InstallRequest{}, actor); err == nil {
		t.Error("what is gone was installed")
	}
	discarded := stage(t, s, skillOf("pdf", "3.0.0"))
	if err := errors.Join(discarded.Discard(), discarded.Discard()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), discarded, pannier.InstallRequest{}, actor); err == nil {
		t.Error("what was discarded was installed")
	}
	if after := walk(t, filepath.Join(dir, "skills/.pannier/lock.json")); after != before {
		t.Errorf("the lock file says %s", after)
	}
}

// TestStagingIsLost: somebody clears .pannier up between a crash and the next start.
func TestStagingIsLost(t *testing.T) {
	for _, name := range []string{"install", "update again", "uninstall"} {
		t.Run(name, func(t *testing.T) {
			dir, before, after := states(t, changes[name])
			for step := 1; ; step++ {
				cut := copied(t, dir)
				if !killed(t, name, cut, step, false) {
					break
				}
				if err := os.RemoveAll(filepath.Join(cut, "skills/.pannier/staging")); err != nil {
					t.Fatal(err)
				}
				s := open(t, optionsFor(cut))
				clean(t, cut)
				skills, installed := loaded(t, cut), map[string]string{}
				entries, err := s.Installed("")
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					installed["skills/"+e.Path] = e.Version
				}
				for path, version := range installed {
					if skills[path] == nil || skills[path].Version != version {
						t.Errorf("killed before step %d, %s is in the lock file with %s\n%s\n%s\n%s", step, path, version, walk(t, cut), before, after)
					}
				}
			}
		})
	}
}

func TestErrorsOfWhoeverFills(t *testing.T) {
	s := open(t, optionsFor(workspace(t, "")))
	_, err := s.Stage(t.Context(), pannier.InstallRequest{}, func(context.Context, *os.Root) (string, error) {
		return "", &os.PathError{Op: "open", Path: "/source", Err: syscall.EACCES}
	})
	if _, refused := errors.AsType[*pannier.Refusal](err); refused || !errors.Is(err, syscall.EACCES) || !strings.Contains(err.Error(), "/source") {
		t.Errorf("got %v", err)
	}
}
