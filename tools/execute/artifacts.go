package execute

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"pannier"
	"pannier/internal/fsx"
	"pannier/tools/output"
)

// The bounds of what is kept of all calls, and of the work for one.
const (
	maxKeptCalls = 256
	maxKeptBytes = 512 << 20
	maxSeen      = 10_000 // entries of a directory for artifacts that are looked at
	maxDepth     = 16
)

// artifacts are the files that calls have left. Calls that are older than [pannier.MaxArtifactAge] lose them, and the oldest ones where
// there are too many.
type artifacts struct {
	dir string

	mu     sync.Mutex
	calls  []*left // oldest first
	bytes  int64
	closed bool
}

// left are the files of one call, in a directory of their own where they are called 0, 1 and so on.
type left struct {
	call, dir string
	files     []pannier.Artifact
	bytes     int64
	expiry    *time.Timer
}

// keep moves what a call has left out of its directory.
func (a *artifacts) keep(ctx context.Context, call, work string, mask *output.Mask) (files []pannier.Artifact, leftOut map[string]int) {
	c := collector{ctx: ctx, work: work, mask: mask, leftOut: map[string]int{}}
	if c.root, c.err = fsx.OpenRoot(work); c.err != nil {
		return nil, nil
	}
	defer c.root.Close()
	_ = fs.WalkDir(c.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		return c.visit(a.dir, name, d, err)
	})
	if c.into == "" {
		return nil, c.leftOut
	}
	l := &left{call: call, dir: c.into, files: c.files, bytes: c.bytes}
	a.mu.Lock()
	a.calls, a.bytes = append(a.calls, l), a.bytes+l.bytes
	l.expiry = time.AfterFunc(pannier.MaxArtifactAge, func() { a.drop(l) })
	var old []*left
	for len(a.calls) > maxKeptCalls || len(a.calls) > 1 && a.bytes > maxKeptBytes || len(a.calls) > 0 && a.closed {
		old = append(old, a.forget(0))
	}
	a.mu.Unlock()
	for _, l := range old {
		removeTree(l.dir)
	}
	return c.files, c.leftOut
}

// forget takes a call off the list. The mutex is held.
func (a *artifacts) forget(i int) *left {
	l := a.calls[i]
	a.calls, a.bytes = slices.Delete(a.calls, i, i+1), a.bytes-l.bytes
	l.expiry.Stop()
	return l
}

// drop removes the files of a call.
func (a *artifacts) drop(l *left) {
	a.mu.Lock()
	i := slices.Index(a.calls, l)
	if i >= 0 {
		a.forget(i)
	}
	a.mu.Unlock()
	if i >= 0 {
		removeTree(l.dir)
	}
}

// close forgets all calls, whose files are removed with the directory above.
func (a *artifacts) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.closed = true; len(a.calls) > 0; {
		a.forget(0)
	}
}

// read returns a part of a file from an offset, nothing at its end.
func (a *artifacts) read(call, name string, offset int64) ([]byte, error) {
	missing := toolError(pannier.ToolArtifactMissing, "the runner no longer has this artifact", "call the tool again; artifacts are kept for an hour, as far as there is space")
	path := ""
	a.mu.Lock()
	for _, l := range a.calls {
		if i := slices.IndexFunc(l.files, func(f pannier.Artifact) bool { return f.Name == name }); l.call == call && i >= 0 {
			path = filepath.Join(l.dir, strconv.Itoa(i))
		}
	}
	a.mu.Unlock()
	if path == "" || offset < 0 {
		return nil, missing
	}
	f, _, err := fsx.OpenRegular(path, syscall.O_NOFOLLOW)
	if err != nil {
		return nil, missing
	}
	defer f.Close()
	part := make([]byte, pannier.MaxArtifactPart)
	n, err := f.ReadAt(part, offset)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read an artifact: %w", err)
	}
	return part[:n], nil
}

// collector takes the files of one call. All of its processes have ended, so nothing changes meanwhile; but it can have left anything.
type collector struct {
	ctx     context.Context
	work    string
	root    *os.Root
	mask    *output.Mask
	into    string // made for the first file
	files   []pannier.Artifact
	bytes   int64
	seen    int
	leftOut map[string]int
	err     error
}

// visit is a [fs.WalkDirFunc].
func (c *collector) visit(parent, name string, d fs.DirEntry, err error) error {
	if name == "." {
		allowAll(c.root, name)
		return nil
	}
	if c.seen++; c.seen > maxSeen || c.ctx.Err() != nil {
		c.leftOut[pannier.ArtifactTooMany]++
		return fs.SkipAll
	}
	reason := ""
	switch {
	case err != nil:
		reason = pannier.ArtifactUnreadable
	case strings.HasPrefix(d.Name(), "."):
		reason = pannier.ArtifactHidden
	case !pannier.IsArtifactName(name), c.mask.String(name) != name, strings.Count(name, "/") >= maxDepth:
		reason = pannier.ArtifactName
	case d.IsDir():
		allowAll(c.root, name)
		return nil
	case d.Type()&fs.ModeSymlink != 0:
		reason = pannier.ArtifactLink
	case !d.Type().IsRegular():
		reason = pannier.ArtifactSpecial
	case len(c.files) >= pannier.MaxArtifacts:
		reason = pannier.ArtifactTooMany
	default:
		reason = c.take(parent, name)
	}
	if reason != "" {
		c.leftOut[reason]++
	}
	if reason != "" && d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// take moves a file, and says why it does not.
func (c *collector) take(parent, name string) (reason string) {
	if info, err := c.root.Lstat(name); err == nil && info.Mode().IsRegular() && info.Mode()&0o400 == 0 {
		_ = c.root.Chmod(name, 0o600)
	}
	f, info, err := fsx.OpenRegularIn(c.root, name)
	if err != nil {
		return pannier.ArtifactUnreadable
	}
	defer f.Close()
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		return pannier.ArtifactLink
	}
	if c.bytes+info.Size() > pannier.MaxArtifactBytes {
		return pannier.ArtifactTooLarge
	}
	hash := sha256.New()
	if n, err := io.Copy(hash, io.LimitReader(f, info.Size())); err != nil || n != info.Size() {
		return pannier.ArtifactUnreadable
	}
	if c.into == "" {
		if c.into, err = os.MkdirTemp(parent, ""); err != nil {
			return pannier.ArtifactUnreadable
		}
	}
	to := filepath.Join(c.into, strconv.Itoa(len(c.files)))
	err = errors.Join(f.Chmod(0o600), os.Rename(filepath.Join(c.work, filepath.FromSlash(name)), to))
	if moved, err2 := os.Lstat(to); err != nil || err2 != nil || !os.SameFile(moved, info) {
		return pannier.ArtifactUnreadable
	}
	c.files = append(c.files, pannier.Artifact{Name: name, Bytes: info.Size(), Digest: pannier.Digest(hash.Sum(nil))})
	c.bytes += info.Size()
	return ""
}
