package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
)

// The overhead of a tar: header, PAX records and padding of each entry, and the padding of the last record.
const (
	overheadOfEntry = 8 << 10
	overheadOfTar   = 1 << 20
)

// unpackTarGz writes the files of a tar_gz.
func unpackTarGz(ctx context.Context, s *source, t admitter, w *writer) error {
	compressed := bufio.NewReaderSize(s.whole(), blockBytes)
	gz, err := gzip.NewReader(compressed)
	if err != nil {
		return s.classify(err)
	}
	gz.Multistream(false)
	limit := t.limit().MaxUncompressed + int64(t.limit().MaxEntries)*overheadOfEntry + overheadOfTar
	out := &stream{stopped: ctx.Err, from: gz, left: limit, limit: limit}
	if err := unpackTar(ctx, tar.NewReader(out), t, w); err != nil {
		return s.classify(err)
	}
	if out.ended {
		return refuse("truncated", "the archive ends without the two empty blocks that end a tar")
	}
	if err := checkRest(out, w.buf); err != nil {
		return s.classify(err)
	}
	// Some readers ignore a second member.
	switch _, err := compressed.ReadByte(); {
	case err == nil:
		return refuse("trailing_data", "there is data after the end of the compressed archive")
	case !errors.Is(err, io.EOF):
		return s.classify(err)
	}
	return nil
}

// checkRest reads to the end, where gzip compares its checksum, and refuses anything but zeros.
func checkRest(out io.Reader, buf []byte) error {
	for {
		n, err := out.Read(buf)
		for _, b := range buf[:n] {
			if b != 0 {
				return refuse("trailing_data", "there is data after the end of the tar")
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func unpackTar(ctx context.Context, archive *tar.Reader, t admitter, w *writer) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackHeader(ctx, header, archive, t, w); err != nil {
			return err
		}
	}
}

func unpackHeader(ctx context.Context, h *tar.Header, contents io.Reader, t admitter, w *writer) error {
	e := entry{name: h.Name, dir: h.Typeflag == tar.TypeDir, executable: h.Mode&0o111 != 0, size: h.Size}
	fault := checkRecords(h)
	switch {
	case h.Typeflag == tar.TypeXGlobalHeader && fault != nil:
		return fault // it concerns all entries
	case h.Typeflag == tar.TypeXGlobalHeader:
		e = entry{name: ".", dir: true} // it counts
	case fault == nil:
		fault = checkType(h)
	}
	if fault != nil {
		return t.failed(e, fault)
	}
	rel, err := t.admit(e)
	switch {
	case err != nil || rel == "":
		return err
	case e.dir:
		return w.directory(rel)
	}
	return w.write(ctx, rel, e, contents)
}

// checkRecords refuses PAX records about the place or size of an entry, other than the plain path of one entry.
// archive/tar ignores records of a global header, other readers do not; a long GNU name overrides a path in
// archive/tar, and the reverse elsewhere.
func checkRecords(h *tar.Header) error {
	global := h.Typeflag == tar.TypeXGlobalHeader
	for _, key := range slices.Sorted(maps.Keys(h.PAXRecords)) {
		switch value := h.PAXRecords[key]; {
		case strings.HasPrefix(key, "GNU.sparse."), key == "SCHILY.realsize":
			return refuseEntry("sparse", h.Name, "is a sparse file")
		case key == "path" && !global && (value == h.Name || value == ""):
		case key == "path", key == "size", key == "linkpath", key == "hdrcharset":
			return refuseEntry("pax", h.Name, "has an unexpected PAX record %q", key)
		}
	}
	return nil
}

func checkType(h *tar.Header) error {
	switch h.Typeflag {
	case tar.TypeReg:
		if strings.HasSuffix(h.Name, "/") {
			return refuseEntry("conflict", h.Name, "is a file by its type and a directory by its name")
		}
		return nil
	case tar.TypeDir:
		return nil
	case tar.TypeSymlink, tar.TypeLink:
		return refuseEntry("link", h.Name, "is a link")
	case tar.TypeGNUSparse:
		return refuseEntry("sparse", h.Name, "is a sparse file")
	}
	return refuseEntry("special", h.Name, "is of the type %q: neither a file nor a directory", h.Typeflag)
}
