package scan

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// The bounds of all archives in one skill together. An archive in an archive is opened; deeper ones, larger ones and other formats
// are not.
const (
	maxPackedDepth   = 2
	maxPackedEntries = 1000
	maxPackedFile    = 4 << 20
	maxPackedBytes   = 32 << 20
)

// packed counts what was read of archives.
type packed struct {
	entries int
	bytes   int64
}

var errPackedBound = errors.New("the content exceeds the limit")

// unpack scans an archive, recognized by its first bytes. ok says that the format is supported. why says what was not
// scanned, "" if everything was.
func (w *walker) unpack(ctx context.Context, rel string, data []byte, depth int) (why string, ok bool) {
	open := opener(data)
	if open == nil {
		return "", false
	}
	if depth == maxPackedDepth {
		return "archives nested in two archives are not opened", true
	}
	err := open(ctx, w, rel, data, depth)
	if err != nil {
		return err.Error(), true
	}
	return "", true
}

type openArchive func(ctx context.Context, w *walker, rel string, data []byte, depth int) error

func opener(data []byte) openArchive {
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return openZip
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		return compressed(func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) })
	case bytes.HasPrefix(data, []byte("BZh")) && len(data) > 4 && '1' <= data[3] && data[3] <= '9':
		return compressed(func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil })
	case len(data) > 262 && string(data[257:262]) == "ustar":
		return openTar
	}
	return nil
}

func openZip(ctx context.Context, w *walker, rel string, data []byte, depth int) error {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return err
	}
	for _, f := range r.File {
		if f.FileInfo().IsDir() {
			continue
		}
		file, err := f.Open()
		if err != nil {
			return err
		}
		err = w.packedFile(ctx, rel, f.Name, file, depth)
		file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func openTar(ctx context.Context, w *walker, rel string, data []byte, depth int) error {
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := w.packedFile(ctx, rel, header.Name, r, depth); err != nil {
			return err
		}
	}
}

// compressed returns the opener of a compressed file. A tar in it belongs to the same archive.
func compressed(decode func(io.Reader) (io.Reader, error)) openArchive {
	return func(ctx context.Context, w *walker, rel string, data []byte, depth int) error {
		r, err := decode(bytes.NewReader(data))
		if err != nil {
			return err
		}
		left := min(maxPackedBytes-w.packed.bytes, 4*maxPackedFile)
		inner, err := io.ReadAll(io.LimitReader(r, left+1))
		if err == nil && int64(len(inner)) > left {
			err = errPackedBound
		}
		if err != nil {
			w.packed.bytes += int64(len(inner))
			return err
		}
		if len(inner) > 262 && string(inner[257:262]) == "ustar" {
			before := w.packed.bytes
			err := openTar(ctx, w, rel, inner, depth)
			w.packed.bytes = max(w.packed.bytes, before+int64(len(inner))) // includes entries that are not files
			return err
		}
		name := strings.TrimSuffix(path.Base(rel), path.Ext(rel))
		return w.packedFile(ctx, rel, name, bytes.NewReader(inner), depth)
	}
}

// packedFile scans a file of an archive. Its path is that of the archive, "!/" and its own.
func (w *walker) packedFile(ctx context.Context, rel, name string, r io.Reader, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limit := min(maxPackedFile, maxPackedBytes-w.packed.bytes)
	if w.packed.entries++; w.packed.entries > maxPackedEntries || limit <= 0 {
		return errPackedBound
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	w.packed.bytes += int64(len(data))
	if err != nil {
		return err
	}
	inner := rel + "!/" + strings.TrimLeft(head(name, 200), "/")
	past := int64(len(data)) > limit
	w.content(ctx, inner, data[:min(int64(len(data)), limit)])
	if past {
		return fmt.Errorf("%s is larger than %d bytes, or all are", displayPath(path.Base(inner)), limit)
	}
	if why, ok := w.unpack(ctx, inner, data, depth+1); ok && why != "" {
		w.findings.add(archive, displayPath(inner), 0, why)
	} else if !ok && endings[strings.ToLower(path.Ext(name))] == archive {
		w.findings.add(archive, displayPath(inner), 0, "")
	}
	return nil
}
