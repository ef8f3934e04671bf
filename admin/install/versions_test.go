package install_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pannier"
	"pannier/admin/install"
)

// placed is a skill of the first root as a snapshot has it.
func placed(slug string) *pannier.Skill {
	return &pannier.Skill{Slug: slug, Path: "skills/" + slug, PathBelowRoot: slug, Version: "of the file"}
}

func versionsOf(t *testing.T, s *install.Store, slug string) string {
	t.Helper()
	list, err := s.Versions(t.Context(), placed(slug))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, v := range list.Versions {
		told = append(told, strings.TrimSpace(fmt.Sprintf("%s current=%t rolled=%t back=%t %s", v.Version, v.Current, v.RolledBack, v.CanRollBack, v.Reason)))
	}
	return strings.Join(told, "\n")
}

// TestVersions follows a skill through an update, a rollback and changes by hand.
func TestVersions(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	skill := filepath.Join(dir, "skills/pdf/SKILL.md")
	by := func(do func(context.Context, *install.Store) error) func() error {
		return func() error { return do(t.Context(), s) }
	}
	rollBack := func() error {
		_, err := s.Rollback(t.Context(), pannier.RemoveRequest{Slug: "pdf"}, actor)
		return err
	}
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"install", by(puts("1", false)), "1 current=true rolled=false back=false"},
		{"update", by(puts("2", true)), "2 current=true rolled=false back=false\n1 current=false rolled=false back=true"},
		{"rollback", rollBack, "1 current=true rolled=true back=false\n2 current=false rolled=false back=true"},
		{"rollback of it", rollBack, "2 current=true rolled=true back=false\n1 current=false rolled=true back=true"},
		{"update after it", by(puts("3", true)), "3 current=true rolled=false back=false\n2 current=false rolled=true back=true"},
		{"by hand", func() error { return os.WriteFile(skill, []byte("---\nname: pdf\n---\nx\n"), 0o644) }, "of the file current=true rolled=false back=false it was changed by hand after it was installed\n2 current=false rolled=true back=true"},
		{"previous by hand", func() error {
			return os.WriteFile(filepath.Join(dir, "skills", pannier.OwnDir, "previous/pdf/x"), []byte("x"), 0o644)
		}, "of the file current=true rolled=false back=false it was changed by hand after it was installed\n2 current=false rolled=true back=false the previous version of pdf was changed by hand"},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := versionsOf(t, s, "pdf"); got != step.want {
			t.Errorf("%s:\n%s\nwant\n%s", step.name, got, step.want)
		}
	}
	if got := versionsOf(t, s, "own"); got != "of the file current=true rolled=false back=false pannier did not install it" {
		t.Error(got)
	}
	_, err := s.Versions(t.Context(), &pannier.Skill{Slug: "x", RootIndex: 99})
	refused(t, err, "install.root_kind")
	_, err = s.Diff(t.Context(), placed("own"))
	refused(t, err, "install.not_managed")
}

// TestDiff compares two versions whose files differ in every way, some of them hostile.
func TestDiff(t *testing.T) {
	dir := workspace(t, "")
	o := optionsFor(dir)
	o.Rules.Skip = []string{"node_modules"}
	s := open(t, o)
	text := func(body string) string { return "---\nname: pdf\ndescription: d\n---\n" + body }
	many := func(letter string) string { return strings.Repeat(letter+"\n", 40<<10) }
	before := map[string]string{
		"SKILL.md": text("One.\nTwo.\n"), "gone.txt": "a\nb\n", "same.txt": "same", "image.png": "\x00a", "+++ b": "--- a\n+++ b\n", "big.txt": strings.Repeat("x", 200<<10),
		"run.sh": "#!/bin/sh\n", "<script>.html": "<script>alert(1)</script>\n",
	}
	const secret = "a secret"
	after := map[string]string{
		"SKILL.md": text("One.\nThree.\n"), "new.txt": "a\n", "same.txt": "same", "image.png": "\x00b", "+++ b": "--- c\n+++ b\n", "big.txt": strings.Repeat("y", 200<<10),
		"run.sh": "#!/bin/sh\n", "<script>.html": "<script>alert(2)</script>\n",
	}
	for i := range 5 {
		before[fmt.Sprintf("z%d.txt", i)], after[fmt.Sprintf("z%d.txt", i)] = many("a"), many("b")
	}
	for i, files := range []map[string]string{before, after} {
		if _, err := put(t.Context(), s, files, pannier.InstallRequest{Slug: map[int]string{1: "pdf"}[i]}, i == 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "skills/pdf/run.sh"), 0o600); err != nil {
		t.Fatal(err)
	}
	skill := filepath.Join(dir, "skills/pdf")
	for _, unserved := range []string{".env", ".git/config", "node_modules/x.js", "lib/.netrc"} { // no client may read these
		name := filepath.Join(skill, unserved)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(secret), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	diff, err := s.Diff(t.Context(), placed("pdf"))
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	var told []string
	for _, f := range diff.Files {
		size += len(f.Patch)
		if strings.Contains(f.Patch, secret) {
			t.Errorf("%s has a text that is not served", f.Path)
		}
		if !strings.HasPrefix(f.Path, "z") {
			told = append(told, fmt.Sprintf("%s %s binary=%t +%d -%d cut=%t", f.Path, f.Change, f.Binary, f.Additions, f.Deletions, f.Truncated))
		}
	}
	want := `+++ b changed binary=false +1 -1 cut=false
<script>.html changed binary=false +1 -1 cut=false
SKILL.md changed binary=false +1 -1 cut=false
big.txt changed binary=false +0 -0 cut=true
gone.txt removed binary=false +0 -2 cut=false
image.png changed binary=true +0 -0 cut=false
new.txt added binary=false +1 -0 cut=false
run.sh mode binary=false +0 -0 cut=false`
	if got := strings.Join(told, "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if size > 256<<10 || !diff.Truncated || len(diff.Files) != 13 || diff.From.CanRollBack != true || !diff.To.Current {
		t.Errorf("%d bytes of %d files, truncated %t, from %+v to %+v", size, len(diff.Files), diff.Truncated, diff.From, diff.To)
	}
	for _, f := range diff.Files {
		if f.Path == "SKILL.md" && !strings.Contains(f.Patch, "-Two.\n+Three.\n") {
			t.Errorf("%q", f.Patch)
		}
	}
}

// TestFullDisksAreNamed: a dry run is staged outside of the workspace, so its full disk is another one.
func TestFullDisksAreNamed(t *testing.T) {
	dir := workspace(t, "")
	o := optionsFor(dir)
	o.Scratch = t.TempDir()
	s := open(t, o)
	full := func(context.Context, *os.Root) (string, error) { return "", syscall.ENOSPC }
	for where, req := range map[string]pannier.InstallRequest{o.Scratch: {DryRun: true}, filepath.Join(dir, "skills"): {}} {
		_, err := s.Stage(t.Context(), req, full)
		if r := refused(t, err, "install.disk_full"); !strings.HasSuffix(r.Message, "no space left for "+where) {
			t.Errorf("%q does not name %s", r.Message, where)
		}
	}
}
