package archive

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"pannier/internal/fsx"
)

// Pack writes files of a directory as a tar_gz with one top-level directory: sorted, and with fixed times, owners and modes,
// so that equal trees give equal bytes in one build of pannier. The files are paths below root, with slashes. A file that is
// not regular, or has a name that [Unpack] refuses, is a [*pannier.Refusal]; a file that changes during packing is an error.
func Pack(ctx context.Context, w io.Writer, root *os.Root, top string, files []string) error {
	if parts, err := split(top); err != nil {
		return err
	} else if len(parts) != 1 || parts[0] != top {
		return refuse("top_level", quote(top)+" is not a name of a directory")
	}
	compressed := gzip.NewWriter(w)
	p := &packer{ctx: ctx, root: root, top: top, to: tar.NewWriter(compressed), buf: make([]byte, blockBytes)}
	if err := p.packAll(slices.Sorted(slices.Values(files))); err != nil {
		return err
	}
	if err := errors.Join(p.to.Close(), compressed.Close()); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	return nil
}

type packer struct {
	ctx  context.Context
	root *os.Root
	top  string
	to   *tar.Writer
	buf  []byte
}

func (p *packer) packAll(files []string) error {
	for i, rel := range files {
		switch name := p.top + "/" + rel; {
		case !fs.ValidPath(rel) || rel == ".":
			return refuseEntry("traversal", rel, "is not a path below the directory")
		case i > 0 && files[i-1] == rel:
			return refuseEntry("duplicate", rel, "is listed twice")
		default:
			if _, err := split(name); err != nil {
				return err
			}
			if err := p.pack(rel, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *packer) pack(rel, name string) error {
	f, info, err := p.open(rel)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	mode := plainMode
	if info.Mode()&0o111 != 0 {
		mode = executableMode
	}
	err = p.to.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: int64(mode), ModTime: time.Unix(0, 0)})
	if err == nil {
		err = copyExactly(p.ctx, p.to, f, p.buf, info.Size())
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", quote(rel), err)
	}
	return nil
}

// open opens a regular file.
func (p *packer) open(rel string) (*os.File, fs.FileInfo, error) {
	info, err := p.root.Lstat(rel)
	if err == nil && !info.Mode().IsRegular() {
		return nil, nil, refuseMode(rel, info.Mode())
	}
	var f *os.File
	if err == nil {
		f, info, err = fsx.OpenRegularIn(p.root, rel)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("pack: %w", err)
	}
	return f, info, nil
}

func refuseMode(rel string, mode fs.FileMode) error {
	if mode&fs.ModeSymlink != 0 {
		return refuseEntry("link", rel, "is a link")
	}
	return refuseEntry("special", rel, "is not a regular file: %s", strings.ToLower(mode.Type().String()))
}
