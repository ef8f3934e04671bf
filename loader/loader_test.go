package loader_test

import (
	"os"
	"path/filepath"
	"testing"

	"pannier"
	"pannier/loader"
)

func rulesFor(root string) pannier.DiscoveryRules {
	return pannier.DiscoveryRules{
		Workspace: filepath.Dir(root),
		Roots:     []pannier.Root{{Path: root, Name: filepath.Base(root), Kind: pannier.SourceWorkspace, Implicit: true}},
		Skip:      []string{"node_modules"}, MaxDepth: 6, MaxDirs: 20000,
		MaxSkillBytes: 1 << 20, MaxFrontmatterBytes: 64 << 10,
	}
}

func writeSkill(tb testing.TB, root, dir, text string) {
	tb.Helper()
	path := filepath.Join(root, dir, "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func load(tb testing.TB, l *loader.Loader, b pannier.Batch) pannier.Catalog {
	tb.Helper()
	c, err := l.Load(tb.Context(), b)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// full loads everything below a root with a loader of its own.
func full(tb testing.TB, root string) pannier.Catalog {
	tb.Helper()
	return load(tb, loader.New(loader.Options{Rules: rulesFor(root)}), pannier.Batch{Full: true})
}

// only returns the one skill of a catalog.
func only(tb testing.TB, c pannier.Catalog) *pannier.Skill {
	tb.Helper()
	if len(c.Skills) != 1 {
		tb.Fatalf("%d skills, want 1: %q", len(c.Skills), paths(c))
	}
	return c.Skills[0]
}

// paths returns the paths of the skills below their root.
func paths(c pannier.Catalog) []string {
	paths := []string{}
	for _, s := range c.Skills {
		paths = append(paths, s.PathBelowRoot)
	}
	return paths
}

func codes(problems []pannier.Problem) []string {
	codes := []string{}
	for _, p := range problems {
		codes = append(codes, p.Code)
	}
	return codes
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func mkdir(tb testing.TB, path string) {
	tb.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		tb.Fatal(err)
	}
}

func link(tb testing.TB, target, path string) {
	tb.Helper()
	if err := os.Symlink(target, path); err != nil {
		tb.Fatal(err)
	}
}

func rename(tb testing.TB, from, to string) {
	tb.Helper()
	if err := os.Rename(from, to); err != nil {
		tb.Fatal(err)
	}
}

func remove(tb testing.TB, path string) {
	tb.Helper()
	if err := os.RemoveAll(path); err != nil {
		tb.Fatal(err)
	}
}

// good returns a SKILL.md without fault.
func good(description string) string {
	return "---\nname: N\ndescription: " + description + "\n---\nbody\n"
}
