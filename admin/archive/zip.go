package archive

import (
	"cmp"
	"compress/flate"
	"context"
	"hash/crc32"
	"io"
	"slices"
	"strings"
)

// The supported compression methods (APPNOTE.TXT 4.4.5).
const (
	methodStore   = 0
	methodDeflate = 8
)

// Flags of an entry (APPNOTE.TXT 4.4.4).
const (
	flagEncrypted  = 1<<0 | 1<<6 | 1<<13
	flagDescriptor = 1 << 3
	flagPatch      = 1 << 5
)

// File types in Unix modes, and the systems with such modes (APPNOTE.TXT 4.4.2).
const (
	typeMask      = 0o170000
	typeDirectory = 0o040000
	typeRegular   = 0o100000
	typeLink      = 0o120000

	madeByUnix   = 3
	madeByDarwin = 19
	dosDirectory = 0x10
)

// unpackZip checks all entries of a zip, then writes them.
func unpackZip(ctx context.Context, s *source, t admitter, w *writer) error {
	records, directory, err := readDirectory(s, t.limit().MaxEntries)
	if err != nil {
		return s.classify(err)
	}
	names, paths := make([]string, len(records)), make([]string, len(records))
	for i := range records {
		names[i] = records[i].name
	}
	t.begin(names)
	for i := range records {
		r := &records[i]
		if paths[i], err = t.admit(r.entry()); err != nil {
			return s.classify(err)
		}
		fault := checkRecord(*r)
		if fault == nil {
			fault = checkLocal(s, r, directory)
		}
		if isRefusal(fault) {
			paths[i], fault = "", t.failed(r.entry(), fault)
		}
		if fault != nil {
			return s.classify(fault)
		}
	}
	sorted := slices.SortedFunc(slices.Values(records), func(a, b record) int { return cmp.Compare(a.offset, b.offset) })
	for i := 1; i < len(sorted); i++ { // as in zip bombs
		if sorted[i-1].end() > int64(sorted[i].offset) {
			return refuseEntry("overlap", sorted[i].name, "shares bytes with %s", quote(sorted[i-1].name))
		}
	}
	for i, r := range records {
		err := unpackRecord(ctx, s, w, paths[i], r)
		if err != nil {
			err = t.failed(r.entry(), s.classify(err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r record) entry() entry {
	return entry{name: r.name, dir: strings.HasSuffix(r.name, "/"), executable: r.hasMode() && r.mode()&0o111 != 0, size: int64(r.size)}
}

// hasMode reports whether the packing system has file modes.
func (r record) hasMode() bool { return r.system == madeByUnix || r.system == madeByDarwin }

func (r record) mode() uint32 { return r.attributes >> 16 }

// checkRecord checks the type in the mode of systems that have modes, refuses links of all systems, and checks the
// coding.
func checkRecord(r record) error {
	unix, is, dir := r.hasMode(), r.mode()&typeMask, strings.HasSuffix(r.name, "/")
	switch {
	case is == typeLink:
		return refuseEntry("link", r.name, "is a link")
	case !unix && r.attributes&dosDirectory != 0 && !dir, unix && is == typeDirectory && !dir, unix && is == typeRegular && dir:
		return refuseEntry("conflict", r.name, "is a directory by its type or its name, and a file by the other")
	case unix && is != 0 && is != typeDirectory && is != typeRegular:
		return refuseEntry("special", r.name, "is of the type %#o: neither a file nor a directory", is)
	case r.flags&flagEncrypted != 0:
		return refuseEntry("encrypted", r.name, "is encrypted")
	case r.flags&flagPatch != 0, r.method != methodStore && r.method != methodDeflate:
		return refuseEntry("method", r.name, "is compressed by the method %d", r.method)
	case r.method == methodStore && r.size != r.compressed:
		return refuseEntry("size_mismatch", r.name, "is stored uncompressed, but has %d bytes in %d", r.size, r.compressed)
	}
	return nil
}

func unpackRecord(ctx context.Context, s *source, w *writer, rel string, r record) error {
	e := r.entry()
	switch {
	case rel == "":
		return nil
	case e.dir:
		return w.directory(rel)
	}
	var contents io.Reader = io.NewSectionReader(s, r.contents(), int64(r.compressed))
	if r.method == methodDeflate {
		inflated := flate.NewReader(contents)
		defer func() { _ = inflated.Close() }()
		contents = inflated
	}
	sum := crc32.NewIEEE()
	if err := w.write(ctx, rel, e, io.TeeReader(contents, sum)); err != nil {
		return err
	}
	if sum.Sum32() != r.sum {
		return refuseEntry("damaged", r.name, "has the checksum %08x instead of %08x", sum.Sum32(), r.sum)
	}
	return nil
}
