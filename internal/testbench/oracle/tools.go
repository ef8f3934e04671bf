package oracle

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// noteTools remembers what can make a skill of tools only: a directory right below the root, and that its tools/ was
// looked into.
func (w *walk) noteTools(p place) {
	switch {
	case p.depth == 1:
		w.boxes = append(w.boxes, p.rel)
	case p.depth == 2 && path.Base(p.rel) == toolsName:
		w.toolsSeen[path.Dir(p.rel)] = true
	}
}

// addToolDirs adds the skills that have tools only: no SKILL.md, none below them, and a regular file *.py right in tools/.
func (w *walk) addToolDirs() {
	for _, rel := range w.boxes {
		shown := path.Join(w.name, rel)
		holdsSkill := slices.ContainsFunc(w.tree, func(s Skill) bool { return strings.HasPrefix(s.Path, shown+"/") })
		if !holdsSkill && w.toolsSeen[rel] && w.hasScript(path.Join(rel, toolsName)) {
			w.tree = append(w.tree, Skill{Path: shown, ToolsOnly: true})
		}
	}
}

func (w *walk) hasScript(rel string) bool {
	entries, err := w.entries(rel)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		if !strings.HasSuffix(e.Name(), ".py") || strings.HasPrefix(e.Name(), ".") {
			return false
		}
		file, err := w.root.Stat(path.Join(rel, e.Name()))
		return err == nil && file.Mode().IsRegular()
	})
}
