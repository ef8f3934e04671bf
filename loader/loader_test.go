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
