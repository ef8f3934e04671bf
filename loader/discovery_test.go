package loader_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"pannier"
	"pannier/loader"
)

// tree writes a skill into each of the directories, and returns their root.
func tree(t *testing.T, dirs ...string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "skills")
	mkdir(t, root)
	for _, dir := range dirs {
		writeSkill(t, root, dir, good("d"))
	}
	return root
}

func wantPaths(t *testing.T, c pannier.Catalog, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), paths(c)); diff != "" {
		t.Errorf("skills: want -, got +:\n%s", diff)
	}
}

func wantCodes(t *testing.T, problems []pannier.Problem, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), codes(problems)); diff != "" {
		t.Errorf("problems: want -, got +:\n%s\n%v", diff, problems)
	}
	for _, p := range problems {
		if p.Message == "" || p.Hint == "" {
			t.Errorf("%v has the hint %q", p, p.Hint)
		}
	}
}

func TestDiscovery(t *testing.T) {
	tests := []struct {
		name       string
		dirs, want []string
	}{
		{"order of bytes", []string{"b", "a/z", "a-b", "B", "ä"}, []string{"B", "a-b", "a/z", "b", "ä"}},
		{"nested is not searched", []string{"a", "a/b", "a/b/c"}, []string{"a"}},
		{"beside each other", []string{"g/a", "g/b", "h/i/j"}, []string{"g/a", "g/b", "h/i/j"}},
		{"skipped with a SKILL.md of their own", []string{".a", "node_modules"}, []string{".a", "node_modules"}},
		{"skipped without", []string{".a/b", "node_modules/c", "d"}, []string{"d"}},
		{"six deep", []string{"1/2/3/4/5/6"}, []string{"1/2/3/4/5/6"}},
		{"names of any bytes", []string{"\xff\xfe", "a b", "a\nb", strings.Repeat("x", 255), "-", "…"}, []string{"-", "a\nb", "a b", strings.Repeat("x", 255), "…", "\xff\xfe"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := full(t, tree(t, tt.dirs...))
			wantPaths(t, c, tt.want...)
			wantCodes(t, c.Problems)
		})
	}
}

func TestDiscoveryOtherCases(t *testing.T) {
	root := tree(t, "both")
	for dir, name := range map[string]string{"lower": "skill.md", "mixed": "Skill.md", "upper": "SKILL.MD", "both": "skill.md", "other": "skills.md"} {
		mkdir(t, filepath.Join(root, dir))
		write(t, filepath.Join(root, dir, name), good("d"))
	}
	mkdir(t, filepath.Join(root, "dir/skill.md"))
	writeSkill(t, root, "dir/skill.md/x", good("d"))
	c := full(t, root)
	wantPaths(t, c, "both", "dir/skill.md/x", "lower", "mixed", "upper")
	for _, s := range c.Skills {
		want := []string{"skill.file.case"}
		if s.File == pannier.SkillFile {
			want = nil
		}
		wantCodes(t, s.Problems, want...)
	}
	if s := c.Skills[2]; s.File != "skill.md" || s.FilePath() != "skills/lower/skill.md" || s.Description != "d" {
		t.Errorf("%s with %q", s.FilePath(), s.Description)
	}
}

func TestDiscoverySkillFileInRoot(t *testing.T) {
	for _, name := range []string{"SKILL.md", "skill.md"} {
		root := tree(t, "a")
		write(t, filepath.Join(root, name), good("d"))
		l := loader.New(loader.Options{Rules: rulesFor(root)})
		for range 2 {
			c := load(t, l, pannier.Batch{Full: true})
			wantPaths(t, c, "a")
			wantCodes(t, c.Problems, "root.skill_file")
			if c.Problems[0].Path != "skills/"+name {
				t.Errorf("told of %s", c.Problems[0].Path)
			}
		}
	}
}

func TestDiscoveryBounds(t *testing.T) {
	root := tree(t, "1/2/3/4/5/6/7", "1/2/3/4/5/6/x/y", "a", "b", "c/d", "e/f")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	for _, b := range []pannier.Batch{{Full: true}, {Full: true}, {Dirs: []string{root}}, {Dirs: []string{filepath.Join(root, "a")}}, {}} {
		c := load(t, l, b)
		wantPaths(t, c, "a", "b", "c/d", "e/f")
		wantCodes(t, c.Problems, "root.max_depth")
		if !strings.HasPrefix(c.Problems[0].Message, "2 directories") || c.Problems[0].Severity != pannier.SeverityInfo {
			t.Errorf("told %v", c.Problems[0])
		}
	}
	rules := rulesFor(root)
	rules.MaxDirs = 6 // the root, three of the five right in it, and two below the first
	l = loader.New(loader.Options{Rules: rules})
	for _, b := range []pannier.Batch{{Full: true}, {Full: true}, {Dirs: []string{filepath.Join(root, "c/d")}}, {}} {
		c := load(t, l, b)
		wantPaths(t, c, "a", "b")
		wantCodes(t, c.Problems, "root.max_dirs")
		if !strings.HasPrefix(c.Problems[0].Message, "3 directories") {
			t.Errorf("told %v", c.Problems[0])
		}
		if slices.Contains(c.Watch.Dirs, filepath.Join(root, "c/d")) || !slices.Contains(c.Watch.Dirs, filepath.Join(root, "1/2")) {
			t.Errorf("watched: %q; want what was looked into", c.Watch.Dirs)
		}
	}
	remove(t, filepath.Join(root, "1"))
	remove(t, filepath.Join(root, "b"))
	c := load(t, l, pannier.Batch{Dirs: []string{root}})
	wantPaths(t, c, "a", "c/d", "e/f")
	wantCodes(t, c.Problems)
}

func TestDiscoveryManyDirectoriesAreDeterministic(t *testing.T) {
	root := tree(t)
	for i := range 300 {
		writeSkill(t, root, fmt.Sprintf("g%d/s%d", i%7, i), good("d"))
	}
	rules := rulesFor(root)
	rules.MaxDirs = 150
	first := load(t, loader.New(loader.Options{Rules: rules}), pannier.Batch{Full: true})
	if len(first.Skills) != 150-1-7 {
		t.Errorf("%d skills", len(first.Skills))
	}
	for range 5 {
		again := load(t, loader.New(loader.Options{Rules: rules}), pannier.Batch{Full: true})
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestWhatIsNoRegularFile(t *testing.T) {
	tests := []struct {
		name, code string
		put        func(path string) error
	}{
		{"FIFO", "skill.file.kind", func(path string) error { return unix.Mkfifo(path, 0o644) }},
		{"directory", "skill.file.kind", func(path string) error { return os.Mkdir(path, 0o755) }},
		{"socket", "skill.file.kind", func(path string) error { return unix.Mknod(path, unix.S_IFSOCK|0o644, 0) }},
		{"device", "skill.file.kind", func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3))) }},
		{"link to a FIFO", "skill.file.kind", func(path string) error {
			if err := unix.Mkfifo(path+".fifo", 0o644); err != nil {
				return err
			}
			return os.Symlink(filepath.Base(path)+".fifo", path)
		}},
		{"dangling link", "skill.file.unreadable", func(path string) error { return os.Symlink("nowhere", path) }},
		{"link to itself", "skill.file.unreadable", func(path string) error { return os.Symlink(filepath.Base(path), path) }},
		{"link out of the root", "skill.file.unreadable", func(path string) error { return os.Symlink("../../../outside", path) }},
		{"absolute link", "skill.file.unreadable", func(path string) error { return os.Symlink("/etc/hostname", path) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, "good")
			write(t, filepath.Join(root, "../outside"), good("secret"))
			mkdir(t, filepath.Join(root, "bad"))
			mkdir(t, filepath.Join(root, "meta"))
			write(t, filepath.Join(root, "meta/SKILL.md"), good("d"))
			if err := tt.put(filepath.Join(root, "bad/SKILL.md")); err != nil {
				t.Skip(err)
			}
			if err := tt.put(filepath.Join(root, "meta/_meta.json")); err != nil {
				t.Fatal(err)
			}
			c := full(t, root)
			wantPaths(t, c, "bad", "good", "meta")
			bad, meta := c.Skills[0], c.Skills[2]
			wantCodes(t, bad.Problems, tt.code)
			wantCodes(t, meta.Problems, "meta.unreadable")
			if !bad.Broken || !bad.FileDigest.IsZero() || meta.Broken || !meta.MetaFileDigest.IsZero() || c.Skills[1].Broken {
				t.Errorf("%+v\n%+v", bad, meta)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	root := tree(t, "a", "b/c", "d")
	link(t, "b/c", filepath.Join(root, "link"))
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	before := load(t, l, pannier.Batch{Full: true})
	for _, path := range []string{"a/SKILL.md", "b", "."} {
		path = filepath.Join(root, path)
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		held := load(t, l, pannier.Batch{Full: true})
		if diff := cmp.Diff(paths(before), paths(held)); diff != "" || len(held.Problems) == 0 && !held.Skills[0].LastGood {
			t.Errorf("%s: %s, problems %v", path, diff, held.Problems)
		}
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, load(t, l, pannier.Batch{Full: true})); diff != "" {
			t.Errorf("%s is readable again: %s", path, diff)
		}
	}
}

// TestDiscoveryFindsWithinBudget finds skills although the directories above them exceed max_dirs.
func TestDiscoveryFindsWithinBudget(t *testing.T) {
	root := tree(t)
	for i := range 30 {
		writeSkill(t, root, fmt.Sprintf("g%02d/a", i), good("d"))
		writeSkill(t, root, fmt.Sprintf("g%02d/b", i), good("d"))
	}
	rules := rulesFor(root)
	rules.MaxDirs = 21
	l := loader.New(loader.Options{Rules: rules})
	var first []string
	for _, b := range []pannier.Batch{{Full: true}, {Full: true}, {Dirs: []string{filepath.Join(root, "g00")}}, {}} {
		c := load(t, l, b)
		var paths []string
		for _, s := range c.Skills {
			paths = append(paths, s.PathBelowRoot)
		}
		if first == nil {
			first = paths
		}
		if len(paths) < 7 || !slices.Equal(paths, first) {
			t.Errorf("found %q, before %q", paths, first)
		}
		wantCodes(t, c.Problems, "root.max_dirs")
		if c.Problems[0].Severity != pannier.SeverityWarning {
			t.Errorf("told %v", c.Problems[0])
		}
	}
}
