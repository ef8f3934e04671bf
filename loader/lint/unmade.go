package lint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"pannier"
)

// maxUnmadeDirs bounds the directories that are read below a root, beside those that discovery may enter.
const maxUnmadeDirs = 100_000

// namedFiles is how many paths a problem names.
const namedFiles = 5

// skillFiles are the SKILL.md below a root, by directory, and how many directories were not read.
type skillFiles struct {
	files  map[string]string
	unread int
}

// findSkillFiles walks each root, also where discovery does not go, and follows no symlink. A root that cannot be opened has no
// files: loading it says why. It fails only when ctx is done.
func (a *auditor) findSkillFiles(ctx context.Context) ([]skillFiles, error) {
	found := make([]skillFiles, len(a.Rules.Roots))
	for i, r := range a.Rules.Roots {
		found[i].files = map[string]string{}
		root, err := os.OpenRoot(r.Path)
		if err != nil {
			continue
		}
		err = found[i].walk(ctx, root.FS(), a.rootsBelow(r.Path), a.Rules.MaxDirs+maxUnmadeDirs)
		root.Close()
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// rootsBelow returns the directories below a root that are not walked with it: other roots, and pannier's own directory.
func (a *auditor) rootsBelow(root string) []string {
	dirs := []string{pannier.OwnDir}
	for _, r := range a.Rules.Roots {
		if rel, ok := strings.CutPrefix(r.Path, strings.TrimSuffix(root, "/")+"/"); ok {
			dirs = append(dirs, rel)
		}
	}
	return dirs
}

func (s *skillFiles) walk(ctx context.Context, root fs.FS, except []string, maxDirs int) error {
	dirs := 0
	return fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			return nil
		case err != nil:
			s.unread++
			return nil
		case e.IsDir():
			// Kubernetes publishes volumes through directories whose names begin with two dots.
			if name != "." && strings.HasPrefix(e.Name(), "..") || slices.Contains(except, name) {
				return fs.SkipDir
			}
			if dirs++; dirs > maxDirs {
				s.unread++
				return fs.SkipDir
			}
		case pannier.IsSkillFile(e.Name()):
			dir := path.Dir(name)
			if s.files[dir] != pannier.SkillFile { // of several spellings, discovery reads SKILL.md, or the last
				s.files[dir] = e.Name()
			}
		}
		return nil
	})
}

// unmade are the SKILL.md of one kind that no skill is made of.
type unmade struct {
	severity          pannier.Severity
	code, where, hint string
	files             []string
}

// reportUnmade returns a problem for each kind of SKILL.md in each root that no skill is made of.
func (a *auditor) reportUnmade(found []skillFiles, catalog pannier.Catalog) []pannier.Problem {
	var problems []pannier.Problem
	for i, r := range a.Rules.Roots {
		if slices.ContainsFunc(catalog.Problems, func(p pannier.Problem) bool { return p.Code == "root.same" && p.Path == r.Name }) {
			continue // its skills are those of another root
		}
		made := map[string]bool{}
		for _, s := range catalog.Skills {
			if s.RootIndex == i && !s.ToolsOnly {
				made[s.PathBelowRoot] = true
			}
		}
		nested := unmade{pannier.SeverityInfo, "root.nested_skills", "below a skill, which is not searched for further ones", "move the folders that are skills beside the one that they lie in, not below it", nil}
		skipped := unmade{pannier.SeverityInfo, "root.skipped_skills", "in directories that are skipped", "move what is a skill out of directories whose names begin with a dot or stand under skip", nil}
		unreached := unmade{pannier.SeverityWarning, "root.unreached_skills", "deeper than six directories, or past max_dirs", "move what is a skill further up, or raise max_dirs", nil}
		for dir, file := range found[i].files {
			if dir == "." || made[dir] { // discovery reports a SKILL.md in the root itself
				continue
			}
			of := a.kindOf(dir, made, &nested, &skipped, &unreached)
			of.files = append(of.files, path.Join(dir, file))
		}
		slices.Sort(skipped.files)
		if len(skipped.files) > 0 {
			skipped.hint += fmt.Sprintf(", or check them where they are: `pannier audit %s`", path.Join(r.Name, path.Dir(path.Dir(skipped.files[0]))))
		}
		for _, of := range []unmade{nested, skipped, unreached} {
			if len(of.files) > 0 {
				problems = append(problems, of.problem(r.Name))
			}
		}
		if n := found[i].unread; n > 0 {
			problems = append(problems, pannier.Problem{
				Code: "root.uncounted", Severity: pannier.SeverityInfo, Path: r.Name,
				Message: fmt.Sprintf("%d directories were not searched for SKILL.md that make no skill, because of a bound of that search or because they cannot be read", n),
				Hint:    "move what holds no skills out of the root, and make the rest readable for the user that runs the audit",
			})
		}
	}
	return problems
}

// kindOf returns which kind a SKILL.md is: the first directory of its path that discovery does not enter decides.
func (a *auditor) kindOf(dir string, made map[string]bool, nested, skipped, unreached *unmade) *unmade {
	at := ""
	for name := range strings.SplitSeq(dir, "/") {
		if at != "" && made[at] {
			return nested
		}
		at = path.Join(at, name)
		switch {
		case strings.Count(at, "/") >= a.Rules.MaxDepth:
			return unreached
		case a.Rules.Skips(name) && !made[at]:
			return skipped
		}
	}
	return unreached
}

func (u unmade) problem(root string) pannier.Problem {
	slices.Sort(u.files)
	names, lie := strings.Join(u.files[:min(len(u.files), namedFiles)], ", "), "lie"
	if more := len(u.files) - namedFiles; more > 0 {
		names += fmt.Sprintf(", and %d more", more)
	}
	if len(u.files) == 1 {
		lie = "lies"
	}
	return pannier.Problem{
		Code: u.code, Severity: u.severity, Path: root,
		Message: fmt.Sprintf("%d SKILL.md %s %s: %s", len(u.files), lie, u.where, names), Hint: u.hint,
	}
}
