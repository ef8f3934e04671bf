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

// Pack writes files of a directory as a tar_gz with one top-level directory: sorted, and with fixed times, owners and
// modes, so that equal trees give equal bytes in one build of pannier. The files are paths below root, with slashes. A
// file that is not regular, or has a name that [Unpack] refuses, is a [*pannier.Refusal]; a file that changes during
// packing is an error.
func Pack(ctx context.Context, w io.Writer, root *os.Root, top string, files []string) error {
	if parts, err := split(top); err != nil {
		return err
	} else if len(parts) != 1 || parts[0] != top {
		return refuse("top_level", quote(top)+" is not a name of a directory")
	}
	compressed := gzip.NewWriter(w)
	p := &packer{root: root, to: tar.NewWriter(compressed), buf: make([]byte, blockBytes)}
	files = slices.Sorted(slices.Values(files))
	for i, rel := range files {
		switch {
		case !fs.ValidPath(rel) || rel == ".":
			return refuseEntry("traversal", rel, "is not a path below the directory")
		case i > 0 && files[i-1] == rel:
			return refuseEntry("duplicate", rel, "is listed twice")
		}
		if _, err := split(top + "/" + rel); err != nil {
			return err
		}
		if err := p.pack(ctx, rel, top+"/"+rel); err != nil {
			return err
		}
	}
	if err := errors.Join(p.to.Close(), compressed.Close()); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	return nil
}

type packer struct {
	root *os.Root
	to   *tar.Writer
	buf  []byte
}

func (p *packer) pack(ctx context.Context, rel, name string) error {
	info, err := p.root.Lstat(rel)
	switch {
	case err != nil:
		return fmt.Errorf("pack: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return refuseEntry("link", rel, "is a link")
	case !info.Mode().IsRegular():
		return refuseEntry("special", rel, "is not a regular file: %s", strings.ToLower(info.Mode().Type().String()))
	}
	f, info, err := fsx.OpenRegularIn(p.root, rel)
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	defer func() { _ = f.Close() }()
	mode := plainMode
	if info.Mode()&0o111 != 0 {
		mode = executableMode
	}
	err = p.to.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: int64(mode), ModTime: time.Unix(0, 0)})
	if err == nil {
		err = copyExactly(ctx, p.to, f, p.buf, info.Size())
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", quote(rel), err)
	}
	return nil
}
