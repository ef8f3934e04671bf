package install_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pannier"
	"pannier/admin/install"
)

// TestEditAtTheLastMoment: what a person writes when the old directory is about to move is neither lost nor replaced.
func TestEditAtTheLastMoment(t *testing.T) {
	for _, tt := range []struct {
		name, step string
		plain      bool
		make       func(context.Context, *install.Store) error
	}{
		{"update", "swap", false, puts("3.0.0", true)},
		{"update, plain", "swap.aside", true, puts("3.0.0", true)},
		{"rollback", "swap", false, rollback},
		{"rollback, plain", "swap.aside", true, rollback},
		{"uninstall", "remove.target", false, uninstall},
	} {
		for edit, do := range map[string]func(skill string) error{
			"a file": func(skill string) error { return os.WriteFile(filepath.Join(skill, "mine.txt"), []byte("mine"), 0o644) },
			"a link in its place": func(skill string) error {
				return errors.Join(os.Rename(skill, skill+".mine"), os.Symlink("pdf.mine", skill))
			},
			"too large": func(skill string) error { return sparse(skill) },
		} {
			t.Run(tt.name+"/"+edit, func(t *testing.T) {
				dir := workspace(t, listing)
				skill, edited := filepath.Join(dir, "skills/pdf"), ""
				o := optionsFor(dir)
				armed := false
				o.Step = func(name string) error {
					if !armed || name != tt.step {
						return nil
					}
					armed = false
					err := do(skill)
					edited = names(t, dir)
					return err
				}
				s := open(t, o)
				if tt.plain {
					s.Plain()
				}
				if err := inTurn(puts("1.0.0", false), puts("2.0.0", true))(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				lock := read(t, filepath.Join(dir, "skills/.pannier/lock.json"))
				armed = true
				refused(t, tt.make(t.Context(), s), "install.fingerprint")
				clean(t, dir)
				if got := names(t, dir); got != edited || read(t, filepath.Join(dir, "skills/.pannier/lock.json")) != lock {
					t.Errorf("it is\n%s\nand not\n%s", got, edited)
				}
			})
		}
	}
}

// sparse makes a directory too large for a fingerprint.
func sparse(dir string) error {
	f, err := os.Create(filepath.Join(dir, "big"))
	return errors.Join(err, f.Truncate(1<<40), f.Close())
}

// names are the paths of a workspace but for those of a change under way.
func names(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, name); err == nil && !d.IsDir() && !strings.Contains(rel, "/staging/") && !strings.HasSuffix(rel, "intent.json") && !strings.Contains(rel, "/previous/") {
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// TestEditBeforeRecovery: a process was killed behind the move, and the edit came before it.
func TestEditBeforeRecovery(t *testing.T) {
	for _, name := range []string{"update again", "rollback", "uninstall"} {
		dir, _, _ := states(t, changes[name])
		seen := 0
		for step := 1; ; step++ {
			cut := copied(t, dir)
			if !killed(t, name, cut, step, false) {
				break
			}
			moved, _ := filepath.Glob(filepath.Join(cut, "skills/.pannier/staging/*/new/pdf"))
			gone, _ := filepath.Glob(filepath.Join(cut, "skills/.pannier/staging/*/gone"))
			old := ""
			for _, dir := range append(moved, gone...) {
				if text, err := os.ReadFile(filepath.Join(dir, "references/a.md")); err == nil && string(text) == "a of 2.0.0\n" {
					old = dir
				}
			}
			_, declared := os.Stat(filepath.Join(cut, "skills/.pannier/intent.json"))
			lock, _ := os.ReadFile(filepath.Join(cut, "skills/.pannier/lock.json"))
			if old == "" || declared != nil || !strings.Contains(string(lock), `"version": "2.0.0"`) {
				continue
			}
			seen++
			write(t, filepath.Join(old, "mine.txt"), "mine")
			open(t, optionsFor(cut))
			clean(t, cut)
			if _, err := os.Stat(filepath.Join(cut, "skills/pdf/mine.txt")); err != nil {
				t.Errorf("%s, killed before step %d: %v", name, step, err)
			}
		}
		if seen == 0 {
			t.Errorf("%s: no step leaves the old directory in staging", name)
		}
	}
}

// TestTooLarge: a directory without a fingerprint can be removed, and nothing else.
func TestTooLarge(t *testing.T) {
	dir := workspace(t, listing)
	s := open(t, optionsFor(dir))
	if err := errors.Join(puts("1.0.0", false)(t.Context(), s), sparse(filepath.Join(dir, "skills/pdf")), sparse(filepath.Join(dir, "skills/own"))); err != nil {
		t.Fatal(err)
	}
	refused(t, puts("2.0.0", true)(t.Context(), s), "install.too_large")
	refused(t, puts("2.0.0", false)(t.Context(), s), "install.exists")
	refused(t, rollback(t.Context(), s), "install.too_large")
	_, err := s.Uninstall(t.Context(), pannier.RemoveRequest{Slug: "pdf", Expected: pannier.DigestOf(nil)}, actor)
	refused(t, err, "install.fingerprint")
	_, err = s.Uninstall(t.Context(), pannier.RemoveRequest{Slug: "own"}, actor)
	refused(t, err, "install.not_managed")
	if r, err := s.Uninstall(t.Context(), pannier.RemoveRequest{Slug: "pdf"}, actor); err != nil || r.Status != pannier.StatusUninstalled || r.Removed == "" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "skills/pdf")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	clean(t, dir)
}

// TestTooLargeAndCutOff: what grew in the place of a change that was cut off keeps nobody from settling it.
func TestTooLargeAndCutOff(t *testing.T) {
	for name, c := range map[string]change{"update": changes["update"], "uninstall": changes["uninstall"]} {
		dir, _, _ := states(t, c)
		for step := 1; ; step++ {
			cut := copied(t, dir)
			if !killed(t, name, cut, step, false) {
				break
			}
			if _, err := os.Stat(filepath.Join(cut, "skills/pdf")); err == nil {
				if err := sparse(filepath.Join(cut, "skills/pdf")); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, optionsFor(cut))
			clean(t, cut)
			if u := s.Unsettled(); len(u) > 0 {
				t.Errorf("%s, killed before step %d: %v", name, step, u)
			}
		}
	}
}

// TestUnsettled: a change that can not be settled is told of, until it can be.
func TestUnsettled(t *testing.T) {
	dir, _, _ := states(t, changes["update"])
	for step := 1; ; step++ {
		if step > 30 {
			t.Fatal("no intent is left")
		}
		cut := copied(t, dir)
		if !killed(t, "update", cut, step, false) {
			t.Fatal("no step leaves an intent")
		}
		if _, err := os.Stat(filepath.Join(cut, "skills/.pannier/intent.json")); err == nil {
			dir = cut
			break
		}
	}
	o, broken := optionsFor(dir), true
	o.Step = func(string) error {
		if broken {
			return errInjected
		}
		return nil
	}
	s := open(t, o)
	u := s.Unsettled()
	if len(u) != 1 || u[0].Code != "install_unsettled" || u[0].Subject != filepath.Join(dir, "skills/pdf") || !strings.Contains(u[0].Message, "injected") || u[0].Since.IsZero() {
		t.Fatalf("%+v", u)
	}
	_, err := s.Stage(t.Context(), pannier.InstallRequest{}, fill(skillOf("other", "1")))
	if r := refused(t, err, "install.unsettled"); !strings.Contains(r.Message, "update of pdf") {
		t.Error(r.Message)
	}
	if again := s.Unsettled(); len(again) != 1 || again[0].Since != u[0].Since {
		t.Errorf("%+v", again)
	}
	broken = false
	if _, err := put(t.Context(), s, skillOf("other", "1"), pannier.InstallRequest{}, false); err != nil || len(s.Unsettled()) > 0 {
		t.Errorf("%v, %v", err, s.Unsettled())
	}
}

// TestUninstallOfWhatWasEdited asks for the fingerprint first.
func TestUninstallOfWhatWasEdited(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	if err := puts("1.0.0", false)(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "skills/pdf/mine.txt"), "mine")
	r := refused(t, uninstall(t.Context(), s), "install.fingerprint")
	now := fingerprintOf(t, s, "pdf")
	if !strings.Contains(r.Message, now.String()) || !strings.Contains(r.Hint, now.String()) || read(t, filepath.Join(dir, "skills/pdf/mine.txt")) != "mine" {
		t.Errorf("%+v", r)
	}
	if _, err := s.Uninstall(t.Context(), pannier.RemoveRequest{Slug: "pdf", Expected: now}, actor); err != nil {
		t.Error(err)
	}
}

// TestTrapsBesideConfig: whatever lies under the name of a file beside config.yaml neither holds a change up nor is
// touched.
func TestTrapsBesideConfig(t *testing.T) {
	dir := workspace(t, listing)
	trap := filepath.Join(dir, ".config.yaml.pannier")
	if err := syscall.Mkfifo(trap, 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, optionsFor(dir))
	if r, err := put(t.Context(), s, skillOf("pdf", "1"), pannier.InstallRequest{}, false); err != nil || r.Config != "added" {
		t.Errorf("%+v, %v", r, err)
	}
	if info, err := os.Lstat(trap); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the FIFO: %v, %v", info, err)
	}
	mine := filepath.Join(dir, "mine.txt")
	write(t, mine, "mine")
	if err := errors.Join(os.Remove(trap), os.Link(mine, trap)); err != nil {
		t.Fatal(err)
	}
	if err := uninstall(t.Context(), s); err != nil || read(t, mine) != "mine" {
		t.Errorf("%v, %q", err, read(t, mine))
	}
	write(t, filepath.Join(dir, ".config.yaml.pannier-0123456789abcdef"), "left")
	open(t, optionsFor(dir))
	left, _ := filepath.Glob(filepath.Join(dir, ".config.yaml.*"))
	if len(left) > 0 || read(t, mine) != "mine" {
		t.Errorf("left %v", left)
	}
}

// TestEntryOfAnotherRoot: the list names a folder, and another root has one of that name too.
func TestEntryOfAnotherRoot(t *testing.T) {
	dir := workspace(t, "skills: [own]\n")
	s := open(t, optionsFor(dir))
	if _, err := put(t.Context(), s, skillOf("own", "1"), pannier.InstallRequest{SourceKind: pannier.SourceManaged}, false); err != nil {
		t.Fatal(err)
	}
	r, err := s.Uninstall(t.Context(), pannier.RemoveRequest{Slug: "own", SourceKind: pannier.SourceManaged}, actor)
	if err != nil || r.Config != "" || read(t, filepath.Join(dir, "config.yaml")) != "skills: [own]\n" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSlugOfTheResult is the one that was asked for: the agent can write the lock file.
func TestSlugOfTheResult(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	if err := puts("1.0.0", false)(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(dir, "skills/.pannier/lock.json")
	write(t, lock, strings.Replace(read(t, lock), `"slug": "pdf"`, `"slug": "own"`, 1))
	if r, err := s.Uninstall(t.Context(), pannier.RemoveRequest{Slug: "pdf"}, actor); err != nil || r.Skill.Slug != "pdf" {
		t.Errorf("%+v, %v", r, err)
	}
}
