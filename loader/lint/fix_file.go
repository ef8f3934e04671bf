package lint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader/profile"
)

// Fix is what can be fixed in one SKILL.md. Nothing has been written yet.
type Fix struct {
	// Path is the file as the report shows it. To is what it will be called, where that is something else.
	Path, To string
	Changes  []Change
	// Diff is what changes in the text, as a unified diff.
	Diff string

	root, dir string // absolute, and below it
	file, to  string // in dir
	stat      fs.FileInfo
	text      []byte
	fixed     []byte
}

// Fixes returns what can be fixed in the skills of a report that count, in its order, and a problem for each file that
// is left as it is although something could be fixed in it. o are the options that the report was made with.
//
// Only regular files below their root are fixed, and only those that still are as they were judged. The name of a skill
// is fixed where the profile asks for that of the folder.
func Fixes(ctx context.Context, o Options, r Report) (fixes []Fix, left []pannier.Problem, err error) {
	a, err := newAuditor(o)
	if err != nil {
		return nil, nil, err
	}
	for i := range r.Skills {
		s := &r.Skills[i]
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if s.read == nil || s.read.File == "" || !o.counts(s) {
			continue
		}
		f, err := a.plan(s)
		if err != nil {
			left = append(left, pannier.Problem{
				Code: "audit.not_fixed", Severity: pannier.SeverityInfo, Path: f.Path,
				Message: "the file is left as it is: " + fsx.Cause(err).Error(), Hint: "fix it by hand, or audit again",
			})
		} else if len(f.Changes) > 0 {
			fixes = append(fixes, f)
		}
	}
	return fixes, left, nil
}

// These are of files that have more than one name: a new file in the place of one would part it from the others.
var (
	errLink     = errors.New("it is a link; fix the file that it leads to")
	errHardLink = errors.New("the file has other names too (hard links), which would keep the old text")
)

// plan returns what can be fixed in the SKILL.md of one skill.
func (a *auditor) plan(s *Skill) (Fix, error) {
	read := s.read
	f := Fix{
		Path: path.Join(s.Path, read.File), root: a.Rules.Roots[read.RootIndex].Path, dir: read.PathBelowRoot,
		file: read.File, to: read.File,
	}
	dir, err := f.open()
	if err != nil {
		return f, err
	}
	defer dir.Close()
	if f.stat, err = dir.Lstat(f.file); err != nil {
		return f, err
	}
	if f.text, err = a.textOf(read); err != nil || f.text == nil {
		return f, err
	}
	folder := ""
	if slices.Contains(a.profiles, profile.NameAgentSkills) {
		folder = read.Folder
	}
	fixed := fix(string(f.text), folder, a.Rules.MaxFrontmatterBytes)
	f.fixed, f.Changes = []byte(fixed.text()), fixed.changes
	f.Diff = unifiedDiff(f.text, f.fixed)
	if read.File != pannier.SkillFile {
		f.to = pannier.SkillFile
		f.To = path.Join(s.Path, f.to)
		f.Changes = append(f.Changes, Change{What: "renamed the file to " + pannier.SkillFile})
	}
	switch {
	case len(f.Changes) == 0:
	case !f.stat.Mode().IsRegular():
		return f, errLink
	case namesOf(f.stat) > 1:
		return f, errHardLink
	}
	return f, nil
}

// textOf returns the SKILL.md that the reader has read; nil where it has read none.
func (a *auditor) textOf(s *pannier.Skill) ([]byte, error) {
	if s.File == "" || s.FileDigest.IsZero() {
		return nil, nil
	}
	found, err := a.places[s.RootIndex].Find(path.Join(s.PathBelowRoot, s.File))
	if err != nil {
		return nil, err
	}
	defer found.Root.Close()
	text, _, err := fsx.ReadRegularIn(found.Root, found.Rel, a.Rules.MaxSkillBytes)
	if err == nil && pannier.DigestOf(text) != s.FileDigest {
		err = pannier.ErrChanged
	}
	return text, err
}

func namesOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

func (f *Fix) open() (*os.Root, error) {
	root, err := fsx.OpenRoot(f.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return fsx.OpenRootIn(root, f.dir)
}

// Apply writes the fixed text: into a new file beside the old one, synced, with its mode and owner, which then takes its
// place. It returns an error that is [pannier.ErrChanged], and changes nothing, where the file is not what it was when it
// was judged.
func (f *Fix) Apply() error {
	dir, err := f.open()
	if err != nil {
		return fmt.Errorf("fix %s: %w", f.Path, err)
	}
	defer dir.Close()
	if err := f.apply(dir); err != nil {
		return fmt.Errorf("fix %s: %w", f.Path, err)
	}
	return nil
}

func (f *Fix) apply(dir *os.Root) error {
	if err := f.unchanged(dir); err != nil {
		return err
	}
	if !bytes.Equal(f.fixed, f.text) {
		if err := fsx.WriteFileIn(dir, f.file, f.fixed, fsx.WriteOptions{
			Prepare: f.keepOwner, SkipDirSync: true,
			Before: func(step fsx.Step) error {
				if step == fsx.StepRename {
					return f.unchanged(dir) // as late as possible
				}
				return nil
			},
		}); err != nil {
			return err
		}
	}
	if f.to != f.file {
		if err := renameTo(dir, f.file, f.to); err != nil {
			return err
		}
	}
	return fsx.SyncDirIn(dir, ".")
}

// unchanged fails where the file is not what it was when it was judged.
func (f *Fix) unchanged(dir *os.Root) error {
	stat, err := dir.Lstat(f.file)
	if err == nil && !sameStat(stat, f.stat) {
		return pannier.ErrChanged
	}
	text, stat, err := fsx.ReadRegularIn(dir, f.file, int64(len(f.text)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fsx.ErrNotRegular) || err == nil && !(sameStat(stat, f.stat) && bytes.Equal(text, f.text)) {
		return pannier.ErrChanged
	}
	return err
}

func sameStat(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode() && namesOf(a) == namesOf(b)
}

func (f *Fix) keepOwner(file *os.File) error {
	fresh, err := file.Stat()
	if err != nil {
		return err
	}
	was, okWas := f.stat.Sys().(*syscall.Stat_t)
	is, okIs := fresh.Sys().(*syscall.Stat_t)
	if okWas && okIs && (was.Uid != is.Uid || was.Gid != is.Gid) {
		if err := file.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return fmt.Errorf("the owner cannot be kept: %w", err)
		}
	}
	return file.Chmod(f.stat.Mode().Perm())
}

// renameTo gives a file another name that nothing has yet.
func renameTo(dir *os.Root, from, to string) error {
	if _, err := dir.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fmt.Errorf("there is a %s already", to))
	}
	own, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer own.Close()
	fd := int(own.Fd())
	err = unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // the file system does not know how
		return dir.Rename(from, to)
	}
	return err
}

// Heading returns the lines that begin the diff of a file.
func (f *Fix) Heading() string {
	after := cmp.Or(f.To, f.Path)
	var b strings.Builder
	if f.To != "" {
		fmt.Fprintf(&b, "rename from %s\nrename to %s\n", f.Path, f.To)
	}
	if f.Diff != "" {
		fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", f.Path, after)
	}
	return b.String()
}
