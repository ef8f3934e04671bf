package lint_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/loader/lint"
)

const (
	wrong = "---\nname: a\ndescription: a: b\nversion: 1.0.0\n---\nDo it.\n"
	right = "---\nname: a\ndescription: \"a: b\"\nversion: 1.0.0\n---\nDo it.\n"
)

func planned(t *testing.T, o lint.Options) (fixes []lint.Fix, left []pannier.Problem) {
	t.Helper()
	fixes, left, err := lint.Fixes(t.Context(), o, audit(t, o))
	if err != nil {
		t.Fatal(err)
	}
	return fixes, left
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// namesIn returns what lies in a directory, in one line.
func namesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestApply(t *testing.T) {
	dir := treeOf(t, map[string]string{"skills/a/SKILL.md": wrong, "skills/b/Skill.md": fmt.Sprintf(fine, "b"), "skills/c/SKILL.md": wrong, "skills/d/SKILL.md": right})
	file := filepath.Join(dir, "skills/a/SKILL.md")
	if err := os.Chmod(file, 0o751); err != nil {
		t.Fatal(err)
	}
	o := optionsFor(dir, "a", "b", "d")
	fixes, left := planned(t, o)
	if len(fixes) != 2 || len(left) != 0 || fixes[0].Path != "skills/a/SKILL.md" || fixes[1].To != "skills/b/SKILL.md" {
		t.Fatalf("%v, %v", fixes, left)
	}
	if got := readFile(t, file); got != wrong {
		t.Errorf("planning has written %q", got)
	}
	for i := range fixes {
		if err := fixes[i].Apply(); err != nil {
			t.Error(err)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got := readFile(t, file); got != right {
		t.Errorf("wrote %q", got)
	}
	if got := readFile(t, filepath.Join(dir, "skills/c/SKILL.md")); got != wrong {
		t.Errorf("wrote %q into what config.yaml does not list", got)
	}
	if got := namesIn(t, filepath.Join(dir, "skills/a")) + ", " + namesIn(t, filepath.Join(dir, "skills/b")); got != "SKILL.md, SKILL.md" {
		t.Errorf("there are %s", got)
	}
	if got := words(audit(t, o)); !strings.Contains(got, "0/3, 0 errors") {
		t.Error(got)
	}
	if fixes, _ := planned(t, o); len(fixes) > 0 {
		t.Errorf("more to mend: %v", fixes)
	}
}

// TestFolderName mends the name for those that want it to be that of the folder, and for no others.
func TestFolderName(t *testing.T) {
	o := optionsFor(treeOf(t, map[string]string{"skills/pdf/SKILL.md": fmt.Sprintf(fine, "other")}), "pdf")
	for _, o.Profile = range lint.Profiles() {
		fixes, _ := planned(t, o)
		want := o.Profile == lint.ProfileAgentSkills || o.Profile == lint.ProfileAll
		if (len(fixes) > 0) != want {
			t.Errorf("%s: %v", o.Profile, fixes)
		}
	}
}

// TestChangedMeanwhile leaves a file alone that another process writes to.
func TestChangedMeanwhile(t *testing.T) {
	changes := map[string]func(file string) error{
		"written": func(file string) error { return os.WriteFile(file, []byte(wrong+"more\n"), 0o644) },
		"replaced": func(file string) error {
			return errors.Join(os.WriteFile(file+"~", []byte(wrong), 0o644), os.Rename(file+"~", file))
		},
		"removed": os.Remove,
		"made a link": func(file string) error {
			return errors.Join(os.Rename(file, file+"~"), os.Symlink(filepath.Base(file)+"~", file))
		},
		"made a directory": func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o755)) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			dir := treeOf(t, map[string]string{"skills/a/SKILL.md": wrong})
			file := filepath.Join(dir, "skills/a/SKILL.md")
			o := optionsFor(dir)
			report := audit(t, o)
			fixes, _ := planned(t, o)
			if len(fixes) != 1 {
				t.Fatal(fixes)
			}
			if err := change(file); err != nil {
				t.Fatal(err)
			}
			names := namesIn(t, filepath.Dir(file))
			if err := fixes[0].Apply(); !errors.Is(err, pannier.ErrChanged) {
				t.Errorf("error %v", err)
			}
			if got := namesIn(t, filepath.Dir(file)); got != names {
				t.Errorf("there are %s, not %s", got, names)
			}
			if name == "written" {
				if got := readFile(t, file); got != wrong+"more\n" {
					t.Errorf("wrote %q", got)
				}
				if fixes, left, err := lint.Fixes(t.Context(), o, report); err != nil || len(fixes) != 0 || len(left) != 1 || left[0].Code != "audit.not_fixed" {
					t.Errorf("%v, %v, %v", fixes, left, err)
				}
			}
		})
	}
}

// TestLinks mends nothing behind a link, and nothing out of the root.
func TestLinks(t *testing.T) {
	dir := treeOf(t, map[string]string{"skills/a/SKILL.md": wrong, "skills/b/x": "", "outside/SKILL.md": wrong, "skills/c/x": ""})
	for link, target := range map[string]string{"skills/b/SKILL.md": "../a/SKILL.md", "skills/c/SKILL.md": "../../outside/SKILL.md", "skills/d": "../outside"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	fixes, left := planned(t, optionsFor(dir))
	var got []string
	for _, f := range fixes {
		got = append(got, "mends "+f.Path)
	}
	for _, p := range left {
		got = append(got, p.String())
	}
	want := []string{
		"mends skills/a/SKILL.md",
		"skills/b/SKILL.md: info: the file is left as it is: it is a link; fix the file that it leads to (audit.not_fixed)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	for i := range fixes {
		if err := fixes[i].Apply(); err != nil {
			t.Error(err)
		}
	}
	if got := readFile(t, filepath.Join(dir, "outside/SKILL.md")); got != wrong {
		t.Errorf("wrote %q outside of the root", got)
	}
}

// TestHardLinks mends no file that has another name, whenever it got that.
func TestHardLinks(t *testing.T) {
	dir := treeOf(t, map[string]string{"skills/a/SKILL.md": wrong, "skills/b/SKILL.md": wrong, "skills/c/SKILL.md": right})
	for _, name := range []string{"a", "c"} {
		if err := os.Link(filepath.Join(dir, "skills", name, "SKILL.md"), filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	fixes, left := planned(t, optionsFor(dir))
	if len(fixes) != 1 || fixes[0].Path != "skills/b/SKILL.md" || len(left) != 1 || left[0].Path != "skills/a/SKILL.md" || !strings.Contains(left[0].Message, "hard links") {
		t.Fatalf("%v, %v", fixes, left)
	}
	if err := os.Link(filepath.Join(dir, "skills/b/SKILL.md"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if err := fixes[0].Apply(); !errors.Is(err, pannier.ErrChanged) {
		t.Errorf("error %v", err)
	}
	if got := readFile(t, filepath.Join(dir, "skills/b/SKILL.md")); got != wrong {
		t.Errorf("wrote %q", got)
	}
}

// TestReadOnly mends a file without write permission, in a directory with it.
func TestReadOnly(t *testing.T) {
	dir := treeOf(t, map[string]string{"skills/a/SKILL.md": wrong})
	file := filepath.Join(dir, "skills/a/SKILL.md")
	if err := os.Chmod(file, 0o444); err != nil {
		t.Fatal(err)
	}
	fixes, _ := planned(t, optionsFor(dir))
	if err := fixes[0].Apply(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o444 || readFile(t, file) != right {
		t.Errorf("mode %v, %v, text %q", info.Mode(), err, readFile(t, file))
	}
}

// TestTakenName renames no file over another.
func TestTakenName(t *testing.T) {
	dir := treeOf(t, map[string]string{"skills/a/skill.md": fmt.Sprintf(fine, "a")})
	fixes, _ := planned(t, optionsFor(dir))
	if len(fixes) != 1 {
		t.Fatal(fixes)
	}
	write(t, filepath.Join(dir, "skills/a/SKILL.md"), "mine")
	if err := fixes[0].Apply(); err == nil || !strings.Contains(err.Error(), "there is a SKILL.md already") {
		t.Errorf("error %v", err)
	}
	if got := readFile(t, filepath.Join(dir, "skills/a/SKILL.md")); got != "mine" {
		t.Errorf("wrote %q", got)
	}
}

// TestUnwritable leaves nothing behind where nothing can be written.
func TestUnwritable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := treeOf(t, map[string]string{"skills/a/SKILL.md": wrong})
	fixes, _ := planned(t, optionsFor(dir))
	skill := filepath.Join(dir, "skills/a")
	if err := os.Chmod(skill, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(skill, 0o755)
	if err := fixes[0].Apply(); err == nil {
		t.Error("no error")
	}
	if got := namesIn(t, skill); got != "SKILL.md" {
		t.Errorf("there are %s", got)
	}
}

// TestOwnerStays mends a file of another owner.
func TestOwnerStays(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give a file away")
	}
	dir := treeOf(t, map[string]string{"skills/a/SKILL.md": wrong})
	file := filepath.Join(dir, "skills/a/SKILL.md")
	if err := os.Chown(file, 1234, 2345); err != nil {
		t.Skip(err)
	}
	fixes, _ := planned(t, optionsFor(dir))
	if err := fixes[0].Apply(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 2345 || readFile(t, file) != right {
		t.Errorf("owner %d:%d, text %q", st.Uid, st.Gid, readFile(t, file))
	}
}
