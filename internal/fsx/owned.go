package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// OwnerError says why [OpenOwned] refuses a directory.
type OwnerError struct {
	Message, Hint string
	// Planted says that an ordinary user made the symlink that leads to the directory of another user.
	Planted bool
}

func (e *OwnerError) Error() string { return e.Message }

// OpenOwned opens a directory that is to be changed. base is a directory of a user who may not be trusted, such as a
// workspace; it is empty if there is none. The error is an [OwnerError] if that user, or the owner of a symlink on the
// path, could have chosen a directory that they may not change:
//
//   - A symlink leads only to a directory of its owner, unless root or this user made it.
//   - A directory that a symlink below base leads to has the owner of base.
//   - Any other directory below base has the owner of base, or belongs to root or this user. It has any owner if base belongs to one
//     of these two.
//
// The directory is opened beneath the descriptor of base, and no symlink that is made meanwhile is followed.
func OpenOwned(base, dir string) (*os.Root, error) {
	rel, err := filepath.Rel(base, dir)
	if err != nil || base == "" || !filepath.IsLocal(rel) {
		base, rel = dir, "."
	}
	at, err := (&owned{path: "/"}).open(base)
	if err != nil || rel == "." {
		return at.root(err)
	}
	defer at.Close()
	to, err := at.open(rel)
	if err == nil && to.owner != at.owner && (len(to.makers) > 0 || !Trusts(to.owner) && !Trusts(at.owner)) {
		to.Close()
		err = &OwnerError{
			Message: fmt.Sprintf("%s leads to a directory of user %d, and %s belongs to user %d", dir, to.owner, base, at.owner),
			Hint:    fmt.Sprintf("put a directory of user %d in its place", at.owner),
		}
	}
	return to.root(err)
}

// OpenOwnedAbove is [OpenOwned] for a directory that may be missing: it opens the nearest parent that exists, and
// returns the path of the directory below it.
func OpenOwnedAbove(base, dir string) (root *os.Root, rel string, err error) {
	parent := dir
	for _, err := os.Lstat(parent); errors.Is(err, fs.ErrNotExist) && parent != "/"; _, err = os.Lstat(parent) {
		parent = filepath.Dir(parent)
	}
	if rel, err = filepath.Rel(parent, dir); err != nil {
		return nil, "", err
	}
	root, err = OpenOwned(base, parent)
	return root, rel, err
}

// Trusts reports whether a user may choose directories for this process.
func Trusts(uid uint32) bool { return uid == 0 || uid == uint32(os.Geteuid()) }

// owned is an open directory.
type owned struct {
	*os.File
	// path has no symlinks.
	path   string
	owner  uint32
	makers []uint32 // owners of the symlinks that led to it
}

func (o *owned) root(err error) (*os.Root, error) {
	if err != nil {
		return nil, err
	}
	return rootOf(o.File, nil, func() (*os.Root, error) { return os.OpenRoot(o.path) })
}

// open opens a directory from another, by a relative path or by an absolute one.
func (o *owned) open(name string) (*owned, error) {
	to := &owned{}
	var err error
	to.path, _, err = FollowPath(o.path, name, LinkRules{Readlink: func(dir, name string) (string, error) {
		target, maker, err := readlinkOwned(filepath.Join(dir, name))
		if err == nil {
			to.makers = append(to.makers, maker)
		}
		return target, err
	}})
	if err == nil {
		if rel, err2 := filepath.Rel(o.path, to.path); err2 == nil && filepath.IsLocal(rel) && o.File != nil {
			to.File, err = openWithoutLinks(int(o.Fd()), rel)
		} else {
			to.File, err = openWithoutLinks(unix.AT_FDCWD, to.path)
		}
	}
	var st unix.Stat_t
	if err == nil {
		err = retryEINTR(func() error { return unix.Fstat(int(to.Fd()), &st) })
	}
	if err != nil {
		to.Close()
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(o.path, name), Err: err}
	}
	to.owner = st.Uid
	if i := slices.IndexFunc(to.makers, func(uid uint32) bool { return uid != to.owner && !Trusts(uid) }); i >= 0 {
		to.Close()
		return nil, &OwnerError{
			Message: fmt.Sprintf("a symlink of user %d in %s leads to a directory of user %d", to.makers[i], filepath.Join(o.path, name), to.owner),
			Hint:    "put a directory in the place of the symlink", Planted: true,
		}
	}
	return to, nil
}

// readlinkOwned returns the target and the owner of a symlink; [unix.EINVAL] says that the entry is not a symlink.
func readlinkOwned(path string) (target string, owner uint32, err error) {
	for {
		var before, after unix.Stat_t
		if err := unix.Lstat(path, &before); err != nil {
			return "", 0, err
		}
		if before.Mode&unix.S_IFMT != unix.S_IFLNK {
			return "", 0, unix.EINVAL
		}
		target, err := os.Readlink(path)
		if err != nil {
			return "", 0, Cause(err)
		}
		if err := unix.Lstat(path, &after); err != nil {
			return "", 0, err
		}
		if stampOf(&before) == stampOf(&after) && before.Uid == after.Uid {
			return target, before.Uid, nil
		}
	}
}
