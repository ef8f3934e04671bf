package loader

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"pannier/internal/fsx"
)

// steadyTries is how often a load begins anew because a volume was swapped, or a root replaced, in the midst of it.
const steadyTries = 8

// shiftTries is the same for directories and links that are replaced. They are fewer, and what still changes then
// is taken as it is: any writer may replace a link without end, and that must not keep other skills from the catalog. The event of
// the last change brings the next scan.
const shiftTries = 4

// dropTransient drops what is compared after a scan only.
func (l *Loader) dropTransient() {
	for _, t := range l.trees {
		t.links, t.fresh = nil, nil
	}
}

// markSwapped asks for another scan of each root that was replaced, or a volume of it swapped, and reports whether there is one.
func (l *Loader) markSwapped() (again bool) {
	for _, t := range l.trees {
		if t.unstable = t.swapped(); t.unstable {
			t.top.markAll()
			again = true
		}
	}
	return again
}

// markShifted asks for another scan where a directory or a link was replaced, and reports whether that is so anywhere.
// What lies behind links is scanned each time and needs no mark.
func (l *Loader) markShifted() (again bool) {
	for _, t := range l.trees {
		replaced := t.markReplaced()
		again = again || replaced || t.links.retargeted()
	}
	return again
}

// Steady reports whether what the last load read is still what the paths of the roots lead to. What else was read between that
// load and this call is then of the same volumes as the skills.
func (l *Loader) Steady() bool {
	return !slices.ContainsFunc(l.trees, (*tree).swapped)
}

// swapped reports whether the root, or a volume that it was read from, is another one than when the load began.
func (t *tree) swapped() bool {
	if t.failure != nil {
		return false
	}
	if st, err := os.Stat(t.root.Path); err == nil {
		now := fsx.StampOf(st)
		if now.Dev != t.dev || now.Ino != t.top.ino {
			return true
		}
	}
	return t.volumes.retargeted()
}

// markReplaced marks the directories above the nodes that were read if they were replaced since their entries were read, with all
// that is known below them. A skill itself is checked by its reader.
func (t *tree) markReplaced() (any bool) {
	seen := map[*node]bool{t.top: true} // which swapped compares
	for _, n := range t.fresh {
		for ; n != nil && !seen[n]; n = n.parent {
			if n.record != nil {
				continue
			}
			if seen[n] = true; n.replaced() {
				n.markAll()
				any = true
			}
		}
	}
	return any
}

// replaced reports whether there is another directory now at the path of one whose entries were read, or none.
func (n *node) replaced() bool {
	if n.list().listed == (fsx.Stamp{}) {
		return false
	}
	now, err := fsx.LstatAt(unix.AT_FDCWD, n.abs+"/.")
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir)
	}
	return now.Dev != n.list().listed.Dev || now.Ino != n.list().listed.Ino
}
