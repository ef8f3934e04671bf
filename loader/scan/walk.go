package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"pannier/internal/fsx"
)

// walker scans one skill directory.
type walker struct {
	root     *os.Root
	options  Options
	findings *findings

	skill   string // the skill directory below the root, without links
	entries int
	files   int
	bytes   int64
	work    int // the units that are left
	packed  packed
	own     func() own // read once, when an installer is found

	truncated bool
	full      bool // the bound on entries was reached
	spent     bool // the bound on bytes was reached
}

// listBatch is the number of entries in a read of a directory. The context is checked between two reads.
const listBatch = 512

// scan scans the skill directory. An error means that ctx is done.
func (w *walker) scan(ctx context.Context, dir string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	real, err := w.resolve(path.Clean(cmp.Or(dir, ".")))
	switch {
	case errors.Is(err, errEscapes):
		w.findings.add("scan.path.containment", ".", 0, "")
		return nil
	case err != nil:
		w.findings.add("scan.path.skill_missing", ".", 0, cause(err))
		return nil
	}
	w.skill = real
	top, err := fsx.OpenRootIn(w.root, real)
	if err != nil {
		w.findings.add(openErrorRule(err), ".", 0, cause(err))
		return nil
	}
	defer top.Close()
	if info, err := top.Stat("."); err == nil {
		w.checkMode(info, ".")
	}
	w.own = sync.OnceValue(func() own { return readOwn(top) })
	return w.walk(ctx, top, "", 0)
}

// readOwn reads who a skill is of. A SKILL.md that cannot be read names no vendor.
func readOwn(top *os.Root) own {
	f, err := top.OpenFile("SKILL.md", os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	if err != nil {
		return own{}
	}
	defer f.Close()
	var text []byte
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		text, _ = io.ReadAll(io.LimitReader(f, 16<<10))
	}
	return ownOf(text)
}

func openErrorRule(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "scan.path.unreadable"
	}
	return "scan.path.skill_missing"
}

// walk scans a directory, files first, so that a bound cuts off the deepest entries.
func (w *walker) walk(ctx context.Context, dir *os.Root, rel string, depth int) error {
	infos, err := w.list(ctx, dir, rel)
	if err != nil {
		return err
	}
	for _, info := range infos {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !info.IsDir() {
			w.entry(ctx, dir, path.Join(rel, info.Name()), info)
		}
	}
	for _, info := range infos {
		if !info.IsDir() {
			continue
		}
		if err := w.enter(ctx, dir, path.Join(rel, info.Name()), info, depth+1); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// list returns the entries of a directory by name, within the bound on entries. If there are more, the file system decides
// which.
func (w *walker) list(ctx context.Context, dir *os.Root, rel string) ([]fs.FileInfo, error) {
	file, err := dir.Open(".")
	if err != nil {
		w.unreadable(rel, err)
		return nil, nil
	}
	defer file.Close()
	var infos []fs.FileInfo
	for !w.full {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		entries, err := file.ReadDir(min(listBatch, w.options.MaxEntries-w.entries+1))
		for _, e := range entries {
			if w.entries == w.options.MaxEntries {
				w.full, w.truncated = true, true
				w.findings.add("scan.bound.entries", displayPath(rel), 0, fmt.Sprintf("more than %d", w.options.MaxEntries))
				break
			}
			w.entries++
			info, err := dir.Lstat(e.Name())
			if err != nil {
				w.unreadable(path.Join(rel, e.Name()), err)
				continue
			}
			infos = append(infos, info)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				w.unreadable(rel, err)
			}
			break
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return infos, nil
}

func (w *walker) enter(ctx context.Context, parent *os.Root, rel string, info fs.FileInfo, depth int) error {
	w.checkName(rel)
	w.checkMode(info, rel)
	if depth > w.options.MaxDepth {
		w.truncated = true
		w.findings.add("scan.bound.depth", displayPath(rel), 0, fmt.Sprintf("more than %d", w.options.MaxDepth))
		return nil
	}
	if w.full {
		return nil
	}
	dir, err := fsx.OpenRootIn(parent, info.Name())
	if err != nil {
		w.unreadable(rel, err)
		return nil
	}
	defer dir.Close()
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(opened, info) {
		w.unreadable(rel, cmp.Or(err, errReplaced))
		return nil
	}
	return w.walk(ctx, dir, rel, depth)
}

var errReplaced = errors.New("it was replaced during the scan")

func (w *walker) unreadable(rel string, err error) {
	w.truncated = true
	w.findings.add("scan.path.unreadable", displayPath(rel), 0, cause(err))
}

func (w *walker) entry(ctx context.Context, dir *os.Root, rel string, info fs.FileInfo) {
	w.checkName(rel)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		w.checkLink(rel)
	case info.Mode().IsRegular():
		w.checkMode(info, rel)
		w.file(ctx, dir, rel, info)
	default:
		w.findings.add("scan.file.special", displayPath(rel), 0, fsx.StampOf(info).KindName())
	}
}

// checkMode checks the permissions. On a directory, set-group-id only sets the group of new files.
func (w *walker) checkMode(info fs.FileInfo, rel string) {
	mode := info.Mode()
	if mode.IsRegular() && mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		w.findings.add("scan.file.setuid", displayPath(rel), 0, "")
	}
	if mode&0o002 != 0 && mode&fs.ModeSticky == 0 {
		w.findings.add("scan.file.world_writable", displayPath(rel), 0, "")
	}
}

// checkLink checks the target of a symlink without opening it.
func (w *walker) checkLink(rel string) {
	target, err := w.resolve(path.Join(w.skill, rel))
	switch {
	case errors.Is(err, errEscapes):
		w.findings.add("scan.path.symlink_escape", displayPath(rel), 0, "")
	case err != nil:
		w.findings.add("scan.path.symlink_broken", displayPath(rel), 0, cause(err))
	case w.skill == "." || target == w.skill || strings.HasPrefix(target, w.skill+"/"):
		w.findings.add("scan.path.symlink_inside", displayPath(rel), 0, "")
	default:
		w.findings.add("scan.path.symlink_present", displayPath(rel), 0, "")
	}
}
