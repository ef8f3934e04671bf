// Package loader turns a batch of hints into the whole catalog: it finds skill directories, reads their frontmatter and
// their digests, and keeps what it learned of each directory until the disk says otherwise.
//
// # What it believes
//
// The disk. A [pannier.Batch] only names directories to scan first. A full batch compares everything: the stat of
// every directory and file that counts, and the content of those whose stat moved, or moved so shortly before the last
// scan that an equal stat proves nothing. Every five minutes a full batch reads everything, since there are writes that
// move no stat; that one and a manual one also list every directory. On remote file systems and overlays, where the times
// of a directory may stand still, every scan lists it.
//
// # What it opens
//
// SKILL.md, _meta.json and the lock file of a root, and nothing else below it, each through an [os.Root] that is opened anew for
// every load, so that no link leads out of the root and a root that was replaced is never read by its old inode. Only
// regular files are read, opened without blocking, so that a FIFO costs its skill a problem and nothing else.
//
// # What a fault costs
//
// The skill that it is in. A skill whose text stops parsing stays as it last was, marked last good, until it is corrected
// or gone; a directory or root that cannot be read keeps what was known of it. A skill that is gone stays for a grace, which
// ends with one more scan.
//
// # What a catalog shows
//
// One state of each volume, and of each directory that is replaced in one step or behind a link that is replaced. Where that
// happens while it is read, it is read again, so that a catalog does not show some skills as they were before and others as they
// are after.
//
// # What it leaves for later
//
// What only a scan of the whole directory shows, such as tools and verdicts, is reported by [Loader.Inspect] when a client
// asks, and never on the way of a reload.
package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"pannier"
	"pannier/internal/fsx"
)

// Options configure a [Loader].
type Options struct {
	Rules pannier.DiscoveryRules
	// DeleteGrace is how long a skill that has vanished stays in the catalog, marked [pannier.Skill.Deleting], before a scan
	// that still does not find it ends it. With zero it is gone at once.
	DeleteGrace time.Duration
	// Scripts says that [Loader.Contents] finds scripts, for which it reads documents and programs.
	Scripts bool
}

// Loader keeps the catalog of a workspace. [Loader.Load] is for one caller at a time, who may ask [Loader.Revisit] and
// [Loader.Steady] after it; [Loader.Read], [Loader.Files],
// [Loader.Inspect] and [Loader.Manifest] are for any number of callers at any time.
type Loader struct {
	rules   pannier.DiscoveryRules
	scripts bool
	trees   []*tree
	watch   pannier.WatchSet
	// interrupted says that the last load came to no end, so that what its batch asked for is still to be done.
	interrupted bool
	// mounts is the text of mountsFile that mountProblems were found in.
	mountsFile    string
	mounts        []byte
	mountProblems []pannier.Problem
	mountedFiles  []string      // the files that are mounted alone, sorted
	manifests     manifestCache // has a lock of its own
}

// New returns a loader that knows nothing yet. It touches no file.
func New(o Options) *Loader {
	l := &Loader{rules: o.Rules, scripts: o.Scripts, mountsFile: mountsFile}
	for i, root := range o.Rules.Roots {
		t := &tree{rules: o.Rules, index: i, root: root, top: &node{abs: root.Path}, now: time.Now}
		t.grace.length = o.DeleteGrace
		l.trees = append(l.trees, t)
	}
	return l
}

// spareSkills is how many skills may come between two loads without a larger list.
const spareSkills = 16

// Load scans where b says and returns the whole catalog. It fails only when ctx is done; whatever is wrong with the
// disk is a problem in the catalog.
func (l *Loader) Load(ctx context.Context, b pannier.Batch) (pannier.Catalog, error) {
	full := b.Full || l.interrupted
	l.interrupted = true
	for _, t := range l.trees {
		t.listAll = full && b.Trigger == pannier.TriggerManual
		t.began = t.now()
		for rel, v := range t.grace.held { // there may be no event of their return
			if t.grace.over(v, t.began) {
				t.markPlace(rel)
			}
		}
		if !full {
			// A directory that was moved is named itself, and may come back changed far below, so all that is known below counts; but
			// not below the root, where that would be everything: see [openScan].
			for _, dir := range b.Dirs {
				if _, ok := below(dir, t.root.Path); ok {
					t.top.marked = true // the root itself may have come, gone, or been replaced
				} else if rel, ok := below(t.root.Path, dir); ok {
					t.markPlace(rel)
				}
			}
		}
	}
	if err := l.loadSteady(ctx, full); err != nil {
		return pannier.Catalog{}, err
	}
	l.interrupted = false
	for _, t := range l.trees {
		t.restored = nil
	}
	if full {
		l.scanMounts()
	}
	c := pannier.Catalog{Seq: b.Seq, Problems: slices.Clone(l.mountProblems)}
	known := 0
	for _, t := range l.trees {
		known += len(t.grace.shown) + len(t.grace.held)
	}
	c.Skills = make([]*pannier.Skill, 0, known+len(l.trees)*spareSkills)
	for i, t := range l.trees {
		if p := t.sameAs(l.trees[:i]); p != nil {
			t.grace = grace{length: t.grace.length}
			c.Problems, c.Locks = append(c.Problems, *p), append(c.Locks, nil)
			continue
		}
		c.Problems = append(c.Problems, t.problems()...)
		c.Skills = t.serve(c.Skills, b.OwnChanges)
		c.Locks = append(c.Locks, t.lock.named)
	}
	c.Watch = l.watchSet()
	return c, nil
}

// sameAs returns a problem if the root is the same directory as one of the earlier roots, for example through a symlink. Its
// skills are those of the earlier root: served twice, each would shadow itself.
func (t *tree) sameAs(earlier []*tree) *pannier.Problem {
	for _, e := range earlier {
		if t.failure == nil && e.failure == nil && e.dev == t.dev && e.top.ino == t.top.ino {
			return &pannier.Problem{
				Code: "root.same", Severity: pannier.SeverityError, Path: t.root.Name,
				Message: "the same directory as the root " + e.root.Name + ", which has its skills",
				Hint:    "remove one of the two roots from the settings",
			}
		}
	}
	return nil
}

// Revisit returns when the loader wants to be called again although nothing has changed: when the grace of a skill that has
// vanished is over, or soon where a root did not hold still. Zero is never. It tells of the catalog last returned.
func (l *Loader) Revisit() (at time.Time) {
	for _, t := range l.trees {
		if due := t.revisit(); at.IsZero() || !due.IsZero() && due.Before(at) {
			at = due
		}
	}
	return at
}

// watchSet returns the directories that were scanned. It makes a new set only if they differ from those before.
func (l *Loader) watchSet() pannier.WatchSet {
	if files := l.mountedFiles; !slices.Equal(files, l.watch.Files) {
		l.watch.Files = files
		l.watch.Version++
	}
	if l.watch.Version > 0 && !slices.ContainsFunc(l.trees, func(t *tree) bool { return t.moved }) {
		return l.watch
	}
	dirs := make([]string, 0, len(l.watch.Dirs)+spareSkills)
	for _, t := range l.trees {
		dirs = t.appendDirs(dirs)
		t.moved = false
	}
	slices.Sort(dirs)
	if dirs = slices.Compact(dirs); l.watch.Version == 0 || !slices.Equal(dirs, l.watch.Dirs) {
		l.watch = pannier.WatchSet{Dirs: dirs, Files: l.mountedFiles, Version: l.watch.Version + 1}
	}
	return l.watch
}

// tree is what is known of one root.
type tree struct {
	rules pannier.DiscoveryRules
	index int
	root  pannier.Root
	top   *node
	dev   uint64 // of the root
	// moved says that there are other directories than in the watch set.
	moved bool
	// now is the clock. opened, if it is set, is called with each file that was opened.
	now    func() time.Time
	opened func(rel string)
	// readAll is when every file was last read.
	readAll time.Time
	lock    lock
	// failure says why the root cannot be read, foreign why it cannot be changed.
	failure, foreign *pannier.Problem
	grace            grace // keeps what has vanished
	kept
	loadState
}

// kept is what outlives the process: restored is what the first load takes over from an earlier one, and parsed says that
// there is more to keep.
type kept struct {
	restored *restored
	parsed   bool
}

// loadState is of the load that goes on, or went last.
type loadState struct {
	began   time.Time
	listAll bool // every directory is listed this time
	// entries are those of known directories that are scanned without listing the directory, by name.
	entries map[*node][]string
	// past counts the directories that lie beyond a bound, for the problem that tells of them.
	pastDepth, pastCount int
	// volumes are those that the last load read from, and unstable says that one of them did not hold still. links are the
	// other links that it went through, and fresh the directories of which it learned something. They are let go of with its end.
	volumes, links linkTargets
	fresh          []*node
	unstable       bool
}

// fail records why the root cannot be read. A root that does not exist, or is not a directory, has no skills; for any
// other failure what was known of it stays, because not to know is not the same as to know that nothing is there.
func (t *tree) fail(err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.forget()
		t.failure = &pannier.Problem{
			Code: "root.missing", Severity: pannier.SeverityInfo, Path: t.root.Name,
			Message: "the directory does not exist, so it has no skills",
			Hint:    "create " + t.root.Path + "; skills in it are found without a restart",
		}
	case isNoDir(t.root.Path):
		t.forget()
		t.failure = &pannier.Problem{
			Code: "root.not_directory", Severity: pannier.SeverityError, Path: t.root.Name,
			Message: "not a directory; it has no skills",
			Hint:    "put a directory in its place, or name another root",
		}
	default:
		t.failure = &pannier.Problem{
			Code: "root.unreadable", Severity: pannier.SeverityError, Path: t.root.Name,
			Message: "the directory cannot be read: " + fsx.Cause(err).Error(),
			Hint:    "make it readable for the user that pannier runs as; until then the skills last read from it stay",
		}
	}
}

// checkOwner records why skills cannot be installed into the root: another user could have chosen the directory.
func (t *tree) checkOwner() {
	t.foreign = nil
	if t.root.Kind != pannier.SourceWorkspace && t.root.Kind != pannier.SourceManaged {
		return // nothing is installed there
	}
	root, err := fsx.OpenOwned(t.rules.Workspace, t.root.Path)
	if err == nil {
		root.Close()
	}
	if refused, ok := errors.AsType[*fsx.OwnerError](err); ok {
		severity := pannier.SeverityInfo // such as a volume that an operator links
		if refused.Planted {
			severity = pannier.SeverityWarning
		}
		t.foreign = &pannier.Problem{
			Code: "root.foreign_owner", Severity: severity, Path: t.root.Name,
			Message: "its skills are read, but none can be installed, changed or removed: " + refused.Message, Hint: refused.Hint,
		}
	}
}

// isNoDir reports whether something else than a directory is at path. [os.OpenRoot] has no error for that which could be
// distinguished from others.
func isNoDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func (t *tree) forget() {
	t.moved = t.moved || t.top.known
	t.top = &node{abs: t.root.Path}
	t.pastDepth, t.pastCount = 0, 0
	t.lock = lock{entries: t.lock.entries} // an author of a broken file must not gain by it
}

// markPlace asks for a scan of a path below the root: of what is known there and below, and of the entries on the way to it.
func (t *tree) markPlace(rel string) {
	n := t.top
	for part := range strings.SplitSeq(rel, "/") {
		child := n.child(part)
		if child == nil && n.record != nil {
			n.markAll()
			return
		}
		switch names := t.entries[n]; {
		case n.marked || slices.Contains(names, part):
		case !n.takesEntries(part, t.rules.MaxDepth) || len(names) == maxEntries:
			n.marked = true
		default:
			if t.entries == nil {
				t.entries = map[*node][]string{}
			}
			t.entries[n] = append(names, part)
		}
		if child == nil {
			return
		}
		n = child
	}
	n.markAll()
}

func anyMarked(n *node) bool {
	return n.due() || slices.ContainsFunc(n.list().children, anyMarked)
}

// appendDirs appends every directory that wants watching.
func (t *tree) appendDirs(dirs []string) []string {
	dirs = append(dirs, t.root.Path)
	if t.lock.dir != "" {
		dirs = append(dirs, t.lock.dir)
	}
	return t.top.appendDirs(dirs, "")
}

func (t *tree) problems() []pannier.Problem {
	var problems []pannier.Problem
	if t.failure != nil {
		problems = append(problems, *t.failure)
	} else if t.foreign != nil {
		problems = append(problems, *t.foreign)
	}
	problems = t.top.appendProblems(append(problems, t.lock.problems...))
	if t.pastDepth > 0 {
		problems = append(problems, t.bound("root.max_depth", pannier.SeverityInfo, fmt.Sprintf("%d directories lie more than %d directories deep and were not scanned", t.pastDepth, t.rules.MaxDepth), "name a root that begins further down"))
	}
	if t.pastCount > 0 {
		problems = append(problems, t.bound("root.max_dirs", pannier.SeverityWarning, fmt.Sprintf("%d directories lie past max_dirs = %d and were not scanned", t.pastCount, t.rules.MaxDirs), "raise max_dirs"))
	}
	return problems
}

func (t *tree) bound(code string, severity pannier.Severity, message, remedy string) pannier.Problem {
	return pannier.Problem{
		Code: code, Severity: severity, Path: t.root.Name, Message: message,
		Hint: remedy + ", or move what holds no skills out of the root",
	}
}

// loadSteady loads all trees, and again where something was swapped meanwhile, so that a catalog shows it as it was before or
// after and never half of both. Roots whose volumes do not hold still are unstable, and keep what the catalog has of them.
func (l *Loader) loadSteady(ctx context.Context, full bool) error {
	defer l.dropTransient()
	for try, learned := 1, false; ; try++ {
		for _, t := range l.trees {
			if err := t.load(ctx, full); err != nil {
				return err
			}
		}
		again := l.markSwapped() && try < steadyTries
		// If nothing was read, the catalog is as it was before, so links that changed meanwhile make no mix of old and new.
		learned = learned || slices.ContainsFunc(l.trees, func(t *tree) bool { return len(t.fresh) > 0 })
		if learned && try < shiftTries && l.markShifted() {
			again = true
		}
		if !again {
			return nil
		}
	}
}

// load scans every directory of the tree that is marked, new, or, when full, known.
func (t *tree) load(ctx context.Context, full bool) error {
	if !full && len(t.entries) == 0 && !anyMarked(t.top) {
		return ctx.Err()
	}
	t.volumes, t.links, t.fresh = nil, nil, nil
	s, err := openScan(t)
	if err != nil {
		t.fail(err)
		return ctx.Err()
	}
	defer s.close()
	t.failure = nil
	t.checkOwner()
	s.thorough = full && s.now.Sub(t.readAll) >= fsx.ContentInterval
	if err := s.walk(ctx, full); err != nil {
		return err
	}
	if s.thorough {
		t.readAll = s.now
		if t.restored != nil {
			t.readAll = s.now.Add(restoredTrust - fsx.ContentInterval)
		}
	}
	t.volumes, t.links = linkTargets{}, linkTargets{}
	for _, r := range s.readers {
		t.volumes.addAll(r.volumes)
		t.links.addAll(r.links)
		t.fresh = append(t.fresh, r.fresh...)
		t.parsed = t.parsed || r.parsed
	}
	return nil
}
