package oracle

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// The names and the bound of docs/SKILLS.md that no setting changes.
const (
	skillName    = "SKILL.md"
	metaName     = "_meta.json"
	toolsName    = "tools"
	maxMetaBytes = 64 << 10
)

// Rules say where a walk looks and how far, in the words of the settings.
type Rules struct {
	// Roots are absolute. One that is not there holds nothing.
	Roots []Root
	// Skip names directories that are not entered, besides those that begin with a dot.
	Skip []string
	// MaxDepth and MaxDirs bound a root, MaxSkillBytes a SKILL.md.
	MaxDepth, MaxDirs int
	MaxSkillBytes     int64
}

// Root is a directory of skills. Name is what paths on the socket begin with.
type Root struct{ Path, Name string }

// Defaults returns the rules of a sidecar with default settings.
func Defaults(workspace string) Rules {
	return Rules{
		Roots:    []Root{{Path: filepath.Join(workspace, "skills"), Name: "skills"}},
		Skip:     []string{"node_modules", "venv", "__pycache__"},
		MaxDepth: 6, MaxDirs: 20000, MaxSkillBytes: 1 << 20,
	}
}

// Skill is a skill directory as it lies on the disk.
type Skill struct {
	// Path begins with the name of the root.
	Path string
	// ToolsOnly is set where Python files make the skill, and no SKILL.md.
	ToolsOnly bool
	// Text and Meta are the hexadecimal SHA-256 of SKILL.md and _meta.json, empty where such a file is missing, cannot be
	// read, is not a regular file or is too long.
	Text, Meta string
}

// Tree is what a walk found, ordered by path in bytes.
type Tree []Skill

// Digest returns the tree_digest that a list of this tree has, by docs/SKILLS.md, "Digests".
func (t Tree) Digest() string {
	h := sha256.New()
	for _, s := range t {
		if !s.ToolsOnly {
			fmt.Fprintf(h, "%s\x00%s\x00%s\n", s.Path, s.Text, s.Meta)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Walk looks at every root. It fails where a directory cannot be read, because what a sidecar knew of it stays then.
// A tree that changes meanwhile may give a result that never existed.
func Walk(rules Rules) (Tree, error) {
	var (
		tree Tree
		errs []error
	)
	for _, root := range rules.Roots {
		found, err := walkRoot(rules, root)
		tree, errs = append(tree, found...), append(errs, err)
	}
	slices.SortFunc(tree, func(a, b Skill) int { return cmp.Compare(a.Path, b.Path) })
	return tree, errors.Join(errs...)
}

// place is a directory below a root. A skipped one counts only where it holds a SKILL.md itself.
type place struct {
	rel     string
	depth   int
	skipped bool
}

// walk is one look at one root.
type walk struct {
	rules Rules
	name  string
	root  *os.Root
	tree  Tree
	// boxes are the directories right below the root that hold no SKILL.md, toolsSeen those whose tools/ was looked into.
	boxes     []string
	toolsSeen map[string]bool
	errs      []error
}

func walkRoot(rules Rules, r Root) (Tree, error) {
	root, err := os.OpenRoot(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("root %s: %w", r.Name, err)
	}
	defer root.Close()
	w := &walk{rules: rules, name: r.Name, root: root, toolsSeen: map[string]bool{}}
	w.levels()
	w.addToolDirs()
	return w.tree, errors.Join(w.errs...)
}

// levels goes through the directories level by level, as the bound on their number counts them.
func (w *walk) levels() {
	level := []place{{}}
	for seen := 0; len(level) > 0; {
		level = level[:min(len(level), w.rules.MaxDirs-seen)]
		seen += len(level)
		var next []place
		for _, p := range level {
			next = append(next, w.visit(p)...)
		}
		level = next
	}
}

// visit adds the skill that a directory is, or returns the directories in it.
func (w *walk) visit(p place) []place {
	if _, err := w.root.Lstat(path.Join(p.rel, skillName)); err == nil && p.rel != "" {
		w.add(p.rel, skillName)
		return nil
	}
	if p.skipped {
		return nil
	}
	entries, err := w.entries(p.rel)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.errs = append(w.errs, fmt.Errorf("directory %s: %w", path.Join(w.name, p.rel), err))
		}
		return nil
	}
	if file := otherCase(entries); file != "" && p.rel != "" {
		w.add(p.rel, file)
		return nil
	}
	w.noteTools(p)
	if p.depth == w.rules.MaxDepth {
		return nil
	}
	return w.children(p, entries)
}

// entries returns what is in a directory, by name in bytes.
func (w *walk) entries(rel string) ([]fs.DirEntry, error) {
	dir, err := w.root.Open(path.Join(rel, "."))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, err
}

// otherCase returns the last, in bytes, of the names that are SKILL.md but for their case.
func otherCase(entries []fs.DirEntry) string {
	var file string
	for _, e := range entries {
		if strings.EqualFold(e.Name(), skillName) && len(e.Name()) == len(skillName) && !e.IsDir() {
			file = e.Name()
		}
	}
	return file
}

func (w *walk) children(p place, entries []fs.DirEntry) []place {
	var children []place
	for _, e := range entries {
		rel := path.Join(p.rel, e.Name())
		if e.IsDir() || e.Type() == fs.ModeSymlink && w.leadsOn(rel) {
			skipped := strings.HasPrefix(e.Name(), ".") || slices.Contains(w.rules.Skip, e.Name())
			children = append(children, place{rel: rel, depth: p.depth + 1, skipped: skipped})
		}
	}
	return children
}

// leadsOn reports whether a link leads to a directory of the root that it does not lie in itself. An os.Root follows links
// as docs/SKILLS.md has it: relative ones, never out of the root.
func (w *walk) leadsOn(rel string) bool {
	target, err := w.root.Stat(rel)
	if err != nil || !target.IsDir() {
		return false
	}
	for dir := rel; dir != "."; {
		dir = path.Dir(dir)
		if above, err := w.root.Stat(dir); err != nil || os.SameFile(above, target) {
			return false
		}
	}
	return true
}

func (w *walk) add(rel, file string) {
	w.tree = append(w.tree, Skill{
		Path: path.Join(w.name, rel),
		Text: w.sum(path.Join(rel, file), w.rules.MaxSkillBytes),
		Meta: w.sum(path.Join(rel, metaName), maxMetaBytes),
	})
}

// sum returns the hexadecimal SHA-256 of a regular file, empty where there is none that can be read whole.
func (w *walk) sum(rel string, limit int64) string {
	file, err := w.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return ""
	}
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
