package loader_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/loader"
)

// writeTool writes a file below a root.
func writeTool(tb testing.TB, root, path string) {
	tb.Helper()
	path = filepath.Join(root, path)
	mkdir(tb, filepath.Dir(path))
	write(tb, path, "print('hello')\n")
}

func TestToolsOnly(t *testing.T) {
	root := tree(t, "with", "group/below", "below-tools/tools/x", ".hidden")
	for _, path := range []string{
		"a/tools/run.py", "a/tools/lib/more.py", "a/notes.txt", // the one skill
		"with/tools/run.py", "group/tools/run.py", "below-tools/tools/run.py", // what holds a SKILL.md groups
		"deep/b/tools/run.py", "tools/run.py", // not right below the root
		"text/tools/run.txt", "upper/tools/run.PY", "upper/Tools/run.py", "hidden/tools/.run.py", "deeper/tools/x/run.py", "file/tools", "scripts/scripts/run.py",
		"directory/tools/run.py/file", ".dot/tools/run.py", "node_modules/tools/run.py", ".hidden/tools/run.py",
	} {
		writeTool(t, root, path)
	}
	mkdir(t, filepath.Join(root, "lower/tools"))
	writeTool(t, root, "lower/tools/run.py")
	write(t, filepath.Join(root, "lower/skill.md"), good("d"))
	c := full(t, root)
	wantPaths(t, c, ".hidden", "a", "below-tools/tools/x", "group/below", "lower", "with")
	for _, s := range c.Skills {
		if s.ToolsOnly != (s.PathBelowRoot == "a") {
			t.Errorf("%s: tools only %t", s.Path, s.ToolsOnly)
		}
	}
	s := c.Skills[1]
	wantCodes(t, s.Problems, "skill.tools_only")
	if p := s.Problems[0]; p.Severity != pannier.SeverityInfo || p.Path != s.Path || !strings.Contains(p.Hint, "SKILL.md") {
		t.Errorf("told %+v", p)
	}
	if s.Name != "a" || s.Slug != "a" || s.Description != "" || s.File != "" || s.FilePath() != "skills/a" || !s.UserInvocable || s.DisableModelInvocation || s.Broken || !s.Implicit {
		t.Errorf("%+v", s)
	}
	if !s.Digest.IsZero() || !s.MetaDigest.IsZero() || !s.FileDigest.IsZero() || s.Sum.IsZero() {
		t.Errorf("%+v", s)
	}
	if !slices.Contains(c.Watch.Dirs, filepath.Join(root, "a/tools")) {
		t.Errorf("watched: %q", c.Watch.Dirs)
	}
}

func TestToolsOnlyIdentity(t *testing.T) {
	tests := []struct {
		name, dir, meta                   string
		slug, owner, shown, version, code string
	}{
		{"folder", "My Tools", "", "my-tools", "", "My Tools", "", "skill.tools_only"},
		{"_meta.json", "a", `{"slug":"b","owner":"Acme Inc","displayName":"Tools","version":"1.0"}`, "b", "acme-inc", "Tools", "1.0", "skill.tools_only"},
		{"torn _meta.json", "a", `{`, "a", "", "a", "", "meta.syntax skill.tools_only"},
		{"no letter of ASCII", "技能", "", pannier.FallbackSlug("技能"), "", "技能", "", "skill.slug.empty skill.tools_only"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			writeTool(t, root, tt.dir+"/tools/run.py")
			if tt.meta != "" {
				write(t, filepath.Join(root, tt.dir, "_meta.json"), tt.meta)
			}
			s := only(t, full(t, root))
			if s.Slug != tt.slug || s.Owner != tt.owner || s.Name != tt.shown || s.Version != tt.version || !s.ToolsOnly {
				t.Errorf("slug %q, owner %q, name %q, version %q", s.Slug, s.Owner, s.Name, s.Version)
			}
			if got := strings.Join(codes(s.Problems), " "); got != tt.code {
				t.Errorf("problems %v, want %q", s.Problems, tt.code)
			}
			for _, p := range s.Problems {
				if strings.Contains(p.Hint, "`slug:`") {
					t.Errorf("without a frontmatter, %q cannot be followed", p.Hint)
				}
			}
			if tt.meta == "" != s.MetaDigest.IsZero() || !s.Digest.IsZero() {
				t.Errorf("digest %s, of its metadata %s", s.Digest, s.MetaDigest)
			}
		})
	}
}

// TestToolsOnlyComesAndGoes tells the loader only of the directory in which something changed, as the watcher does.
func TestToolsOnlyComesAndGoes(t *testing.T) {
	root := tree(t, "s")
	mkdir(t, filepath.Join(root, "a/tools"))
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	wantPaths(t, load(t, l, pannier.Batch{Full: true}), "s")
	look := func(dir string, want ...string) *pannier.Skill {
		t.Helper()
		c := load(t, l, pannier.Batch{Dirs: []string{filepath.Join(root, dir)}})
		wantPaths(t, c, want...)
		if diff := cmp.Diff(full(t, root).Skills, c.Skills); diff != "" {
			t.Errorf("a first look -, this one +:\n%s", diff)
		}
		return c.Skills[0]
	}

	writeTool(t, root, "a/tools/run.py")
	first := look("a/tools", "a", "s")
	if same := look("a/tools", "a", "s"); same != first {
		t.Error("the same tools make another skill")
	}
	writeTool(t, root, "a/tools/walk.py")
	second := look("a/tools", "a", "s")
	if second.Sum == first.Sum {
		t.Error("one more tool, and the same sum")
	}
	remove(t, filepath.Join(root, "a/tools/walk.py"))
	if again := look("a/tools", "a", "s"); again.Sum != first.Sum {
		t.Error("the same tools, and another sum")
	}
	write(t, filepath.Join(root, "a/_meta.json"), `{"version":"2"}`)
	if meta := look("a", "a", "s"); meta.Version != "2" || meta.Sum == first.Sum {
		t.Errorf("version %q", meta.Version)
	}
	writeSkill(t, root, "a/sub", good("d"))
	look("a", "a/sub", "s")
	remove(t, filepath.Join(root, "a/sub"))
	look("a", "a", "s")
	writeSkill(t, root, "a", good("d"))
	look("a", "a", "s")
	remove(t, filepath.Join(root, "a/SKILL.md"))
	look("a", "a", "s")
	remove(t, filepath.Join(root, "a/tools/run.py"))
	look("a/tools", "s")
	writeTool(t, root, "a/tools/run.py")
	look("a/tools", "a", "s")
	remove(t, filepath.Join(root, "a/tools"))
	look("a", "s")
}

func TestToolsOnlyByLinks(t *testing.T) {
	root := tree(t)
	writeTool(t, root, "a/tools/run.py")
	writeTool(t, root, "../outside.py")
	link(t, "a", filepath.Join(root, "b"))
	for name, target := range map[string]string{"c": "../../a/tools/run.py", "d": "../../../outside.py", "e": "nowhere.py", "f": "../../a/tools"} {
		mkdir(t, filepath.Join(root, name, "tools"))
		link(t, target, filepath.Join(root, name, "tools/run.py"))
	}
	mkdir(t, filepath.Join(root, "g"))
	link(t, "../a/tools", filepath.Join(root, "g/tools"))
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	wantPaths(t, load(t, l, pannier.Batch{Full: true}), "a", "b", "c", "g")
	remove(t, filepath.Join(root, "a/tools/run.py")) // links are followed at every look
	wantPaths(t, load(t, l, pannier.Batch{Dirs: []string{filepath.Join(root, "a/tools")}}))
}

func TestToolsOnlyHasNoText(t *testing.T) {
	root := t.TempDir()
	writeTool(t, root, "a/tools/run.py")
	writeTool(t, root, "a/notes.txt")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	s := only(t, load(t, l, pannier.Batch{Full: true}))
	if _, err := l.Read(t.Context(), s); !errors.Is(err, pannier.ErrNotServable) || !strings.Contains(err.Error(), "no instructions") {
		t.Errorf("read: %v", err)
	}
	files, truncated, err := l.Files(t.Context(), s)
	if err != nil || truncated || len(files) != 2 || files[0].Path != "notes.txt" || files[1].Path != "tools/run.py" {
		t.Errorf("files %v, truncated %t, error %v", files, truncated, err)
	}
}

func TestToolsOnlyWithinBounds(t *testing.T) {
	root := tree(t)
	writeTool(t, root, "a/tools/run.py")
	writeTool(t, root, "b/tools/run.py")
	for _, tt := range []struct {
		depth, dirs int
		want        []string
		code        string
	}{{2, 5, []string{"a", "b"}, ""}, {2, 4, []string{"a"}, "root.max_dirs"}, {1, 5, nil, "root.max_depth"}} {
		rules := rulesFor(root)
		rules.MaxDepth, rules.MaxDirs = tt.depth, tt.dirs
		c := load(t, loader.New(loader.Options{Rules: rules}), pannier.Batch{Full: true})
		wantPaths(t, c, tt.want...)
		if got := strings.Join(codes(c.Problems), " "); got != tt.code {
			t.Errorf("told %v, want %q", c.Problems, tt.code)
		}
	}
}

// walkTools returns the skills that have tools only, by path in bytes, found without the loader.
func walkTools(root string) []string {
	found := []string{}
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		name := e.Name()
		real, err := filepath.EvalSymlinks(filepath.Join(root, name))
		if err != nil || !strings.HasPrefix(real, root+"/") || strings.HasPrefix(name, ".") || name == "node_modules" {
			continue
		}
		tools, err := filepath.EvalSymlinks(filepath.Join(real, "tools"))
		if err != nil || !strings.HasPrefix(tools, root+"/") || strings.HasPrefix(real+"/", tools+"/") || walk(root, name, 1, []string{root}) != nil {
			continue
		}
		if holdsScript(root, tools) {
			found = append(found, name)
		}
	}
	return found
}

func holdsScript(root, dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		real, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		info, _ := os.Stat(real)
		return err == nil && strings.HasPrefix(real, root+"/") && info != nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), ".py")
	})
}
