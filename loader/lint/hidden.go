package lint

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"pannier"
)

// HiddenRoots returns the directories of skills below a directory that discovery does not enter, because a name begins with a dot:
// `skills` in directories such as .claude, .agents, .github and .codex, and such as .curated right in a `skills`. No link is
// followed, and no more directories are looked into than the rules allow.
func HiddenRoots(dir string, rules pannier.DiscoveryRules) []pannier.Root {
	var roots []pannier.Root
	type stop struct {
		rel   string
		depth int
	}
	add := func(rel string) {
		roots = append(roots, pannier.Root{Path: filepath.Join(dir, rel), Name: rel, Kind: pannier.SourceWorkspace})
	}
	looked := 0
	for level := []stop{{rel: "."}}; len(level) > 0 && looked < rules.MaxDirs; looked++ {
		at := level[0]
		level = level[1:]
		entries, err := os.ReadDir(filepath.Join(dir, at.rel))
		if err != nil || at.rel != "." && holdsFile(entries) {
			continue
		}
		inSkills := filepath.Base(filepath.Join(dir, at.rel)) == "skills"
		for _, e := range entries {
			rel := path.Join(at.rel, e.Name())
			switch {
			case !e.IsDir() || e.Name() == ".git" || e.Name() == pannier.OwnDir:
			case !strings.HasPrefix(e.Name(), "."):
				if !rules.Skips(e.Name()) && at.depth < rules.MaxDepth {
					level = append(level, stop{rel, at.depth + 1})
				}
			case inSkills && !isFile(filepath.Join(dir, rel, pannier.SkillFile)): // else it is a skill itself
				add(rel)
			case isDir(filepath.Join(dir, rel, "skills")):
				add(path.Join(rel, "skills"))
				level = append(level, stop{path.Join(rel, "skills"), at.depth + 2})
			}
		}
	}
	return roots
}

func holdsFile(entries []fs.DirEntry) bool {
	for _, e := range entries {
		if !e.IsDir() && pannier.IsSkillFile(e.Name()) {
			return true
		}
	}
	return false
}

func isFile(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && !info.IsDir()
}

func isDir(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}
