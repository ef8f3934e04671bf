package link

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
)

// markerName is the file in a copy that says that pannier made it.
const markerName = pannier.OwnDir + "/copy.json"

// marker says what pannier copied.
type marker struct {
	WorkspaceID string `json:"workspace_id"`
	Slug        string `json:"slug"`
	// Files has the SHA-256 of each file that was copied, with an x before it if the file is executable, by path.
	Files map[string]string `json:"files"`
}

// marker returns the marker of an entry, if it is a copy that pannier made of a skill of that name.
func (p *pass) marker(name string) (marker, bool) {
	if p.root == nil {
		return marker{}, false
	}
	if info, err := p.root.Lstat(name); err != nil || !info.IsDir() {
		return marker{}, false
	}
	m, ok := p.markerIn(name)
	return m, ok && m.WorkspaceID == p.WorkspaceID && m.Slug == name
}

func (p *pass) markerIn(dir string) (m marker, ok bool) {
	text, _, err := fsx.ReadRegularIn(p.root, dir+"/"+markerName, maxManifest)
	return m, err == nil && json.Unmarshal(text, &m) == nil
}

// copyAll copies skills whose copies are missing or old. A skill that cannot be read keeps its older copy.
func (p *pass) copyAll(ctx context.Context, todo []Skill) error {
	for _, s := range todo {
		if s.Fingerprint == p.compared[s.Slug] && !s.Fingerprint.IsZero() && p.state(s) == stateCopy {
			p.report.Skills++
			continue
		}
		files, err := p.read(ctx, s.Slug)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			p.report.add(Failed, s.Slug, err.Error())
			continue
		}
		changed, err := p.copy(ctx, s, files)
		if err != nil {
			return err
		}
		if changed {
			p.report.add(Copied, s.Slug, "")
		}
		p.report.Skills++
		if p.compared == nil {
			p.compared = map[string]pannier.Digest{}
		}
		p.compared[s.Slug] = s.Fingerprint
	}
	return nil
}

// read returns the files of a skill with their digests.
func (p *pass) read(ctx context.Context, slug string) (map[string]string, error) {
	list, err := p.Contents.Files(ctx, slug)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, f := range list {
		if !utf8.ValidString(f.Path) || strings.ContainsRune(f.Path, utf8.RuneError) {
			continue // neither the API nor the marker can name it
		}
		digest, err := p.send(ctx, slug, f.Path, io.Discard)
		if err != nil {
			return nil, err
		}
		if f.Executable {
			digest = "x" + digest
		}
		files[f.Path] = digest
	}
	return files, nil
}

// send writes a file of a skill and returns its digest.
func (p *pass) send(ctx context.Context, slug, file string, to io.Writer) (string, error) {
	sum := sha256.New()
	if err := p.Contents.Read(ctx, slug, file, io.MultiWriter(sum, to)); err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// copy makes the copy of a skill unless it is up to date.
func (p *pass) copy(ctx context.Context, s Skill, files map[string]string) (changed bool, err error) {
	state := p.state(s)
	if m, ok := p.marker(s.Slug); ok && equal(m.Files, files) {
		return false, nil
	}
	if p.DryRun {
		return true, nil
	}
	fresh := p.fresh("new-")
	if err := p.stage(ctx, s.Slug, fresh, files); err != nil {
		_ = p.root.RemoveAll(fresh) // frees its blocks where the disk is full
		return false, err
	}
	switch state {
	case stateCurrent, stateLink:
		if err := p.root.Remove(s.Slug); err != nil {
			return false, err
		}
		delete(p.made.Links, s.Slug)
	case stateCopy:
		old, err := p.exchange(fresh, s.Slug)
		if err != nil {
			return false, err
		}
		return true, p.purge(s.Slug, old)
	}
	return true, p.root.Rename(fresh, s.Slug) // fails where others have files in a directory of that name by now
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// stage writes a copy to a new directory. Its files are read-only, so that an editor says that they are not the originals.
func (p *pass) stage(ctx context.Context, slug, dir string, files map[string]string) error {
	if err := p.root.MkdirAll(dir+"/"+pannier.OwnDir, 0o755); err != nil {
		return err
	}
	for name, digest := range files {
		if err := p.root.MkdirAll(path.Join(dir, path.Dir(name)), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o444)
		if strings.HasPrefix(digest, "x") {
			mode = 0o555
		}
		f, err := p.root.OpenFile(dir+"/"+name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		got, err := p.send(ctx, slug, name, f)
		if err == nil && got != strings.TrimPrefix(digest, "x") {
			err = fmt.Errorf("%s of %s: %w", name, slug, pannier.ErrChanged)
		}
		if err := errors.Join(cmp.Or(err, f.Sync()), f.Close()); err != nil {
			return err
		}
	}
	text, err := json.Marshal(marker{p.WorkspaceID, slug, files})
	if err != nil {
		return err
	}
	return fsx.WriteFileIn(p.root, dir+"/"+markerName, text, fsx.WriteOptions{Temporary: dir + "/" + markerName + ".new"})
}

// exchange puts a copy in the place of an older one, and returns where that is now.
func (p *pass) exchange(fresh, name string) (old string, err error) {
	top, err := p.root.Open(".")
	if err != nil {
		return "", err
	}
	defer top.Close()
	err = unix.Renameat2(int(top.Fd()), fresh, int(top.Fd()), name, unix.RENAME_EXCHANGE)
	old = p.fresh("old-")
	if err == nil {
		return old, p.root.Rename(fresh, old)
	}
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EOPNOTSUPP) {
		return "", &os.LinkError{Op: "exchange", Old: fresh, New: name, Err: err}
	}
	if err := p.root.Rename(name, old); err != nil {
		return "", err
	}
	return old, p.root.Rename(fresh, name)
}

// purge removes a copy that has no entry any more, but for files that others wrote or changed.
func (p *pass) purge(slug, old string) error {
	m, _ := p.markerIn(old)
	var dirs []string
	err := fs.WalkDir(p.root.FS(), old, func(at string, d fs.DirEntry, err error) error {
		switch below := strings.TrimPrefix(at, old+"/"); {
		case err != nil:
			return err
		case below == pannier.OwnDir: // last, so that a killed process can go on
			return fs.SkipDir
		case d.IsDir() && d.Name() == "__pycache__":
			if err := p.root.RemoveAll(at); err != nil {
				return err
			}
			return fs.SkipDir
		case d.IsDir():
			dirs = append(dirs, at)
		case d.Type().IsRegular() && p.isCopied(at, m.Files[below]):
			return p.root.Remove(at)
		}
		return nil
	})
	if err == nil {
		err = p.root.RemoveAll(old + "/" + pannier.OwnDir)
	}
	if err != nil {
		return err
	}
	for _, dir := range slices.Backward(dirs) {
		_ = p.root.Remove(dir) // fails where something is left in it
	}
	if _, err := p.root.Lstat(old); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	kept := p.fresh("kept-" + slug + "-")
	p.report.add(Kept, slug, "files that others wrote into the copy are in "+p.real+"/"+kept)
	return p.root.Rename(old, kept)
}

// isCopied reports whether a file of a copy still is as it was copied.
func (p *pass) isCopied(at, digest string) bool {
	f, _, err := fsx.OpenRegularIn(p.root, at)
	if err != nil {
		return false
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return err == nil && hex.EncodeToString(sum.Sum(nil)) == strings.TrimPrefix(digest, "x")
}
