package execute

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
)

// The bounds of copies.
const (
	// maxFiles and maxSkillBytes bound one skill.
	maxFiles      = 4096
	maxSkillBytes = 256 << 20
	// maxCopies and maxCopyBytes bound all copies together, also those in use.
	maxCopies    = 64
	maxCopyBytes = 512 << 20
)

// skillCopy is a private copy of a skill. Its files have the bytes that the manifest names.
type skillCopy struct {
	dir    string
	bytes  int64
	stamps map[string]fsx.Stamp // of each file, by path, since it is complete
	made   chan struct{}        // closed when the copy is complete, or failed
	err    *pannier.ToolError

	// The fields that follow are guarded by the cache.
	uses int
	used uint64 // grows with each use
}

// copies keeps copies of skills, by manifest. Copies that are in use are never removed.
type copies struct {
	dir      string
	prepared *prepared

	mu    sync.Mutex
	all   map[pannier.Digest]*skillCopy
	bytes int64
	clock uint64
}

func newCopies(dir string) *copies { return &copies{dir: dir, all: map[pannier.Digest]*skillCopy{}} }

// acquire returns a copy of the skill of a job. The caller calls release once it does not use the copy any more.
func (c *copies) acquire(ctx context.Context, job *pannier.ToolJob) (made *skillCopy, release func(), failed *pannier.ToolError) {
	if failed := checkManifest(job.Files); failed != nil {
		return nil, nil, failed
	}
	key, size := manifestKey(job.Files)
	for {
		made, mine, failed := c.reserve(key, size)
		if failed != nil {
			return nil, nil, failed
		}
		if mine {
			made.err = made.fill(ctx, job, c.prepared)
			close(made.made)
		} else {
			select {
			case <-made.made:
			case <-ctx.Done():
				c.release(key, made, false)
				return nil, nil, toolError(pannier.ToolCanceled, "the call was canceled while its skill was copied", "call it again if its result is needed")
			}
		}
		switch {
		case made.err != nil:
			c.release(key, made, true)
			if !mine && made.err.Code == pannier.ToolCanceled && ctx.Err() == nil {
				continue // the call that made the copy was canceled, this one was not
			}
			return nil, nil, made.err
		case !mine && !made.intact():
			c.release(key, made, true)
			continue
		}
		return made, func() { c.release(key, made, false) }, nil
	}
}

// reserve returns the copy with a key and counts its use. It is mine if the caller has to fill it.
func (c *copies) reserve(key pannier.Digest, size int64) (made *skillCopy, mine bool, failed *pannier.ToolError) {
	var evicted []string
	defer func() {
		for _, dir := range evicted {
			removeTree(dir)
		}
	}()
	c.mu.Lock()
	defer c.mu.Unlock() // before the directories are removed
	c.clock++
	if made := c.all[key]; made != nil {
		made.uses, made.used = made.uses+1, c.clock
		return made, false, nil
	}
	for len(c.all) >= maxCopies || c.bytes+size > maxCopyBytes {
		dir, ok := c.evict()
		if !ok {
			return nil, false, toolError(pannier.ToolBusy, "copies of other skills that run now take all of the space for copies", "call again when other calls have ended")
		}
		evicted = append(evicted, dir)
	}
	made = &skillCopy{
		dir: filepath.Join(c.dir, fmt.Sprintf("%s-%d", hex.EncodeToString(key[:8]), c.clock)), bytes: size,
		stamps: make(map[string]fsx.Stamp), made: make(chan struct{}), uses: 1, used: c.clock,
	}
	c.all[key], c.bytes = made, c.bytes+size
	return made, true, nil
}

// evict forgets the copy that was not used for the longest time, and returns its directory. It returns false if all are in use.
func (c *copies) evict() (dir string, ok bool) {
	var oldest pannier.Digest
	var found *skillCopy
	for key, made := range c.all {
		if made.uses == 0 && (found == nil || made.used < found.used) {
			oldest, found = key, made
		}
	}
	if found == nil {
		return "", false
	}
	delete(c.all, oldest)
	c.bytes -= found.bytes
	return found.dir, true
}

// release ends a use. A copy that is spoiled is not used again, and is removed with its last use.
func (c *copies) release(key pannier.Digest, made *skillCopy, spoiled bool) {
	c.mu.Lock()
	made.uses--
	if spoiled && c.all[key] == made {
		delete(c.all, key)
		c.bytes -= made.bytes
	}
	unused := made.uses == 0 && c.all[key] != made
	c.mu.Unlock()
	if unused {
		removeTree(made.dir)
	}
}

// intact reports whether no file of the copy was touched since it was made. A tool that runs as the user of the runner can
// change modes and times of the files, though not their bytes.
func (s *skillCopy) intact() bool {
	for name, stamp := range s.stamps {
		if now, err := fsx.Lstat(filepath.Join(s.dir, filepath.FromSlash(name))); err != nil || now != stamp {
			return false
		}
	}
	return true
}

// fill copies the files and verifies each while it is copied.
func (s *skillCopy) fill(ctx context.Context, job *pannier.ToolJob, packages *prepared) *pannier.ToolError {
	from, err := fsx.OpenRoot(job.SkillDir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		err = pannier.ErrChanged
	}
	if err != nil {
		return copyError(job, err)
	}
	defer from.Close()
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		return copyError(job, err)
	}
	to, err := os.OpenRoot(s.dir)
	if err != nil {
		return copyError(job, err)
	}
	defer to.Close()
	dirs := map[string]bool{".": true}
	for i := range job.Files {
		if ctx.Err() != nil {
			return toolError(pannier.ToolCanceled, "the call was canceled while its skill was copied", "call it again if its result is needed")
		}
		if err := copyFile(from, to, &job.Files[i], dirs); err != nil {
			return copyError(job, err)
		}
	}
	if packages != nil {
		if err := packages.linkPackages(to, s.dir, job.Files); err != nil {
			return copyError(job, err)
		}
	}
	for dir := range dirs {
		if err := to.Chmod(dir, 0o555); err != nil {
			return copyError(job, err)
		}
	}
	for i := range job.Files {
		name := job.Files[i].Path
		if s.stamps[name], err = fsx.Lstat(filepath.Join(s.dir, filepath.FromSlash(name))); err != nil {
			return copyError(job, err)
		}
	}
	return nil
}

// copyFile copies a file through its digest. It is [pannier.ErrChanged] where the file is not the one of the manifest.
func copyFile(from, to *os.Root, file *pannier.ToolFile, dirs map[string]bool) error {
	in, info, err := fsx.OpenRegularIn(from, file.Path)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EIO), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return err
	case err != nil: // it is missing, of another kind, or a link leads out of the skill
		return pannier.ErrChanged
	}
	defer in.Close()
	if info.Size() != file.Size {
		return pannier.ErrChanged
	}
	for dir := path.Dir(file.Path); !dirs[dir]; dir = path.Dir(dir) {
		dirs[dir] = true
	}
	if err := to.MkdirAll(path.Dir(file.Path), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o444)
	if file.Executable {
		mode = 0o555
	}
	out, err := to.OpenFile(file.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(in, file.Size+1))
	if err != nil {
		return err
	}
	if n != file.Size || pannier.Digest(sum.Sum(nil)) != file.SHA256 {
		return pannier.ErrChanged
	}
	return out.Chmod(mode)
}

func checkManifest(files []pannier.ToolFile) *pannier.ToolError {
	if len(files) == 0 || len(files) > maxFiles {
		return toolError(pannier.ToolCopyFailed, fmt.Sprintf("the skill has %d files; one with tools has 1 to %d", len(files), maxFiles), "remove files that the tools do not need")
	}
	var size int64
	seen := make(map[string]bool, len(files))
	for i := range files {
		name := files[i].Path
		if !fs.ValidPath(name) || name == "." || strings.ContainsRune(name, 0) || seen[name] || files[i].Size < 0 {
			return toolError(pannier.ToolCopyFailed, fmt.Sprintf("the manifest has the invalid path %.100q", name), "update pannier on both sides")
		}
		seen[name] = true
		if size += files[i].Size; size > maxSkillBytes {
			return toolError(pannier.ToolCopyFailed, fmt.Sprintf("the skill has more than %d bytes", maxSkillBytes), "remove files that the tools do not need")
		}
	}
	return nil
}

// manifestKey returns what tells one manifest from another, and the size of its files.
func manifestKey(files []pannier.ToolFile) (key pannier.Digest, size int64) {
	sum := sha256.New()
	var line []byte
	for i := range files {
		f := &files[i]
		line = append(append(line[:0], f.Path...), 0, 0)
		if f.Executable {
			line[len(line)-1] = 1
		}
		sum.Write(append(binary.BigEndian.AppendUint64(line, uint64(f.Size)), f.SHA256[:]...))
		size += f.Size
	}
	return pannier.Digest(sum.Sum(nil)), size
}

// copyError says why a skill could not be copied.
func copyError(job *pannier.ToolJob, err error) *pannier.ToolError {
	switch {
	case errors.Is(err, pannier.ErrChanged):
		return toolError(pannier.ToolChanged, fmt.Sprintf("the files of skill %q are not those that were checked", job.Skill), "call again after the sidecar has read the skill again; a runner elsewhere needs --workspace")
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EROFS):
		return toolError(pannier.ToolCopyFailed, "the skill was not copied: "+err.Error(), "free space for the runner, or name another directory with --dir")
	}
	return toolError(pannier.ToolCopyFailed, "the skill was not copied: "+err.Error(), "let the user of the runner read the skill and write below its --dir")
}

func toolError(code, message, hint string) *pannier.ToolError {
	return &pannier.ToolError{Code: code, Message: message, Hint: hint}
}
