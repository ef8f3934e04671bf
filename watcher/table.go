package watcher

import (
	"maps"
	"path/filepath"
	"slices"

	"pannier/internal/fsx"
)

// role says why a directory is watched, and so which of its events count. A directory can have several.
type role uint8

const (
	// roleTree was reached from a root by the rules. Directories and links in it count, and the files that decide what a skill is.
	roleTree role = 1 << iota
	// roleProbe is skipped by its name, and would be a skill if it held a SKILL.md. Only that counts.
	roleProbe
	// roleWorkspace counts for config.yaml.
	roleWorkspace
	// roleAnchor holds an entry of the chain to a place or to a wanted directory. Only such entries count.
	roleAnchor
	// roleExtra is wanted by the consumer. Everything in it counts, unless it is a skill, of which the same counts as in a tree.
	roleExtra

	roleReached = roleTree | roleProbe
)

// watch is one watched directory. There are as many as skills, so its size counts.
type watch struct {
	path      string     // without links, as the backend knows it
	id        fsx.FileID // what was at path when it was armed
	kind      string     // of the file system, if others may change it unseen
	roles     role
	confirmed bool // the kernel reports changes in it
	// refused is why it does not, where it was asked.
	refused error
	seen    *sample // nil unless it is polled

	// The rest is for directories that were reached by the rules.

	top     bool                // a root itself, which is entered whatever it holds
	skipped bool                // the rules skip its name
	skill   bool                // it holds a SKILL.md, so that nothing below it can be a skill
	place   *place              // whose budget it counts against
	links   map[string]struct{} // the names of links in it, as far as they are known
	reach   int                 // how many levels below it may still be entered
	parent  *watch
	below   map[*watch]struct{}
}

func (d *watch) has(r role) bool { return d.roles&r != 0 }

// resample has polling look for other files that may matter by now.
func (d *watch) resample() {
	if d.seen != nil {
		d.seen.stale = true
	}
}

// entered reports whether the directories in d are watched as well.
func (d *watch) entered() bool { return d.has(roleTree) && !d.skill && d.reach > 0 }

// table holds the watches by path and by identity. The goroutine of Run is the only one that writes it.
type table struct {
	byPath map[string]*watch
	byID   map[fsx.FileID]*watch // of two paths to one directory, that which came first
	polled map[*watch]struct{}
}

func newTable() table {
	return table{
		byPath: make(map[string]*watch), byID: make(map[fsx.FileID]*watch), polled: make(map[*watch]struct{}),
	}
}

// join makes d a directory that was reached by the rules, in the tree of parent, or as a root where that is nil.
func (d *watch) join(p *place, parent *watch, reach int) {
	if d.place == nil {
		d.place = p
		p.dirs++
	}
	d.reach = max(d.reach, reach)
	if parent == nil {
		d.top = true
		return
	}
	d.parent = parent
	if parent.below == nil {
		parent.below = make(map[*watch]struct{})
	}
	parent.below[d] = struct{}{}
}

// leave undoes join.
func (d *watch) leave() {
	if d.place != nil {
		d.place.dirs--
	}
	d.place, d.top, d.skill, d.reach = nil, false, false, 0
}

// children returns the directories that were reached through d. It is a copy, so that they can be removed meanwhile.
func (d *watch) children() []*watch { return slices.Collect(maps.Keys(d.below)) }

// parentOf returns the watch of the directory that holds the entry at path.
func (t table) parentOf(path string) *watch { return t.byPath[filepath.Dir(path)] }
