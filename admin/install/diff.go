package install

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"pannier"
	"pannier/internal/fsx"
)

// The bounds of a comparison of two versions.
const (
	maxDiffFiles = 2000      // that are listed
	maxDiffTexts = 200       // with a patch
	maxDiffText  = 256 << 10 // bytes of all patches
	maxDiffFile  = 128 << 10 // bytes of a file with a patch
	maxDiffRead  = 64 << 20  // bytes of files that are compared
	maxDiffTree  = 20000     // entries of a version
)

// treeFiles are the files of a version, by path.
type treeFiles map[string]fs.FileInfo

func (t treeFiles) truncated() bool { return len(t) > maxDiffTree }

// tree lists the files of a version that clients may read: the rules serve them, and they are no hard links to files of
// another owner.
func (p *place) tree(ctx context.Context, rel string) (treeFiles, error) {
	files := treeFiles{}
	top, err := p.dir.Stat(rel)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(p.dir.FS(), rel, func(sub string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		name := strings.TrimPrefix(sub, rel+"/")
		switch {
		case d.IsDir() && sub != rel && p.store.rules.Skips(d.Name()):
			return fs.SkipDir
		case d.IsDir() || !p.store.rules.Serves(name):
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return unlessMissing(err)
		}
		of, ok := info.Sys().(*syscall.Stat_t)
		in, ok2 := top.Sys().(*syscall.Stat_t)
		if foreign := ok && ok2 && info.Mode().IsRegular() && of.Nlink > 1 && of.Uid != in.Uid; !foreign {
			files[name] = info
		}
		if files.truncated() {
			return fs.SkipAll
		}
		return nil
	})
	return files, err
}

// diff compares two directories.
func (p *place) diff(ctx context.Context, from, to string, into *pannier.VersionDiff) error {
	a, err := p.tree(ctx, from)
	if err != nil {
		return err
	}
	b, err := p.tree(ctx, to)
	if err != nil {
		return err
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	d := &differ{place: p, from: from, to: to, left: maxDiffText, reads: maxDiffRead}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.file(name, a[name], b[name]); err != nil {
			return err
		}
	}
	into.Files, into.Truncated = append(into.Files, d.files...), d.truncated || a.truncated() || b.truncated()
	return nil
}

// differ collects the files that differ in two versions.
type differ struct {
	place    *place
	from, to string
	// left is what is left of the bytes of all patches, reads of those that are compared.
	left, reads int64
	texts       int
	files       []pannier.FileDiff
	truncated   bool
}

// file compares a file of both versions; nil is none.
func (d *differ) file(name string, a, b fs.FileInfo) error {
	f := pannier.FileDiff{Path: name, Change: pannier.FileChanged}
	switch {
	case a == nil:
		f.Change = pannier.FileAdded
	case b == nil:
		f.Change = pannier.FileRemoved
	default:
		same, err := d.same(name, a, b)
		if err != nil {
			return err
		}
		if same && a.Mode() == b.Mode() {
			return nil
		}
		if same {
			f.Change = pannier.FileMode
		}
	}
	if len(d.files) == maxDiffFiles {
		d.truncated = true
		return nil
	}
	if f.Change != pannier.FileMode {
		if err := d.patch(&f, a, b); err != nil {
			return err
		}
	}
	d.files = append(d.files, f)
	return nil
}

// same reports whether a file has the same content in both versions.
func (d *differ) same(name string, a, b fs.FileInfo) (bool, error) {
	if a.Size() != b.Size() || a.Mode().Type() != b.Mode().Type() {
		return false, nil
	}
	if !a.Mode().IsRegular() {
		x, err := d.place.dir.Readlink(path.Join(d.from, name))
		y, err2 := d.place.dir.Readlink(path.Join(d.to, name))
		return err == nil && err2 == nil && x == y, nil
	}
	if d.reads -= a.Size(); d.reads < 0 {
		d.truncated = true // it may differ
		return true, nil
	}
	return d.compare(name)
}

func (d *differ) compare(name string) (bool, error) {
	x, _, err := fsx.OpenRegularIn(d.place.dir, path.Join(d.from, name))
	if err != nil {
		return false, err
	}
	defer x.Close()
	y, _, err := fsx.OpenRegularIn(d.place.dir, path.Join(d.to, name))
	if err != nil {
		return false, err
	}
	defer y.Close()
	a, b := make([]byte, 32<<10), make([]byte, 32<<10)
	for {
		n, err := io.ReadFull(x, a)
		m, err2 := io.ReadFull(y, b)
		if !bytes.Equal(a[:n], b[:m]) {
			return false, nil
		}
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		switch {
		case ended && (errors.Is(err2, io.EOF) || errors.Is(err2, io.ErrUnexpectedEOF)):
			return true, nil
		case err != nil && !ended:
			return false, err
		case err2 != nil:
			return false, nil
		}
	}
}

// patch adds the lines that differ, if both versions are text.
func (d *differ) patch(f *pannier.FileDiff, a, b fs.FileInfo) error {
	if a != nil && !a.Mode().IsRegular() || b != nil && !b.Mode().IsRegular() {
		f.Binary = true
		return nil
	}
	if d.texts == maxDiffTexts || size(a) > maxDiffFile || size(b) > maxDiffFile {
		f.Truncated, d.truncated = true, true
		return nil
	}
	before, after := []byte(nil), []byte(nil)
	ok, err := true, error(nil)
	if a != nil {
		before, ok, err = d.place.readText(path.Join(d.from, f.Path))
	}
	if b != nil && ok && err == nil {
		after, ok, err = d.place.readText(path.Join(d.to, f.Path))
	}
	if f.Binary = !ok; err != nil || !ok {
		return err
	}
	d.texts++
	text := string(diff.Diff("", before, "", after))
	text = text[max(strings.Index(text, "@@ "), 0):] // without the lines that name the files
	f.Additions, f.Deletions = lines(text, "+"), lines(text, "-")
	if d.left -= int64(len(text)); d.left < 0 {
		d.left, f.Truncated, d.truncated = 0, true, true
		return nil
	}
	f.Patch = text
	return nil
}

func size(info fs.FileInfo) int64 {
	if info == nil {
		return 0
	}
	return info.Size()
}

// readText returns the text of a file, and false if it has none that can be shown.
func (p *place) readText(rel string) (text []byte, ok bool, err error) {
	text, _, err = fsx.ReadRegularIn(p.dir, rel, maxDiffFile)
	if err != nil {
		return nil, false, err
	}
	return text, int64(len(text)) <= maxDiffFile && utf8.Valid(text) && !bytes.ContainsRune(text, 0), nil
}

// lines counts the lines of a patch that begin with a sign.
func lines(patch, sign string) (n int) {
	for line := range strings.Lines(patch) {
		if strings.HasPrefix(line, sign) {
			n++
		}
	}
	return n
}
