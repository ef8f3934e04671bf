package archive

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"pannier"
)

// maxIgnored bounds the listed names of ignored entries.
const maxIgnored = 20

// Limits bound the unpacked files together, each file, and the number of entries. Sizes are in bytes and below an
// exabyte. Ignored entries count, and so do directories that only occur in the paths of others.
type Limits struct {
	MaxUncompressed, MaxFile int64
	MaxEntries               int
	// Reserve is called before each file is written. Its error ends the unpacking. It is optional.
	Reserve func(bytes int64) error
}

// Contents describes what was unpacked.
type Contents struct {
	// Top is the top-level directory, empty if the archive has none.
	Top string
	// Files and Bytes count what was written.
	Files int
	Bytes int64
	// Ignored names the ignored entries, sorted: the first 20, and then the number of further ones.
	Ignored []string
}

// Detect returns the format by the first four bytes of an archive, and false if it is unknown.
func Detect(head []byte) (pannier.ArchiveFormat, bool) {
	if len(head) < 4 {
		return "", false
	}
	switch {
	case head[0] == 0x1f && head[1] == 0x8b && head[2] == 8:
		return pannier.TarGz, true
	case string(head[:4]) == "PK\x03\x04", string(head[:4]) == "PK\x05\x06":
		return pannier.Zip, true
	}
	return "", false
}

// File is an archive of Size bytes.
type File struct {
	From   io.ReaderAt
	Size   int64
	Format pannier.ArchiveFormat
}

// Unpack writes the files of an archive into an empty directory, without its top-level directory, and syncs nothing. A
// refusal is a [*pannier.Refusal] with a code of the package documentation. After an error the caller must discard the
// directory.
func Unpack(ctx context.Context, src File, into *os.Root, l Limits) (Contents, error) {
	t, w := newTree(l), newWriter(into, l)
	if err := unpack(ctx, &source{File: src, stopped: ctx.Err}, t, w); err != nil {
		return Contents{}, err
	}
	return t.contents(w)
}

// admitter decides which entries of an archive are written, and where.
type admitter interface {
	// begin is called with the names of all entries, if the format has them at its beginning.
	begin(names []string)
	// admit returns the path that an entry is written to, empty if it is not written.
	admit(e entry) (rel string, err error)
	// failed returns what ends the unpacking because of an entry with a fault, whether it was admitted or not; nil goes
	// on.
	failed(e entry, fault error) error
	limit() Limits
}

func unpack(ctx context.Context, s *source, t admitter, w *writer) error {
	if s.Size == 0 {
		return refuse("empty", "the archive has no bytes")
	}
	head := make([]byte, min(s.Size, 4))
	if _, err := io.ReadFull(s.whole(), head); err != nil {
		return s.classify(err)
	}
	if is, ok := Detect(head); !ok || is != s.Format {
		return refuse("format", fmt.Sprintf("the archive is not a %.20q", s.Format))
	}
	if s.Format == pannier.Zip {
		return unpackZip(ctx, s, t, w)
	}
	return unpackTarGz(ctx, s, t, w)
}

// contents checks the archive as a whole, and completes what a writer has written.
func (t *tree) contents(w *writer) (Contents, error) {
	switch {
	case len(t.kinds) == 0:
		return Contents{}, refuse("empty", "the archive contains no files")
	case t.kinds[skillFile] != file:
		return Contents{}, refuse("no_skill", fmt.Sprintf("the archive has no file %s in its directory %s", skillFile, quote(t.top)))
	}
	for key, rel := range t.spelled {
		if path.Base(key) != "head" {
			continue
		}
		// The config of a bare git repository, see gitrepository-layout(5), can run commands when the agent calls git there.
		// With commondir the rest is elsewhere.
		has := func(name string) bool { return t.spelled[path.Join(path.Dir(key), name)] != "" }
		if has("commondir") || has("objects") && has("refs") {
			return Contents{}, refuseEntry("reserved", rel, "is in a bare git repository")
		}
	}
	for rel, kind := range t.kinds {
		if kind == file || rel == "" {
			continue
		}
		if err := w.root.Chmod(rel, directoryMode); err != nil { // the umask applies to the mode of mkdir
			return Contents{}, targetError{err}
		}
	}
	slices.Sort(t.ignored)
	if more := len(t.ignored) - maxIgnored; more > 0 {
		t.ignored = append(t.ignored[:maxIgnored:maxIgnored], fmt.Sprintf("and %d more", more))
	}
	return Contents{Top: t.top, Files: w.files, Bytes: w.bytes, Ignored: t.ignored}, nil
}
