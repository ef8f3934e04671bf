package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"pannier"
	"pannier/admin/archive"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var small = archive.Limits{MaxUncompressed: 1 << 20, MaxFile: 512 << 10, MaxEntries: 100}

// openRoot opens a directory as a root until the test ends.
func openRoot(tb testing.TB, dir string) *os.Root {
	tb.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = root.Close() })
	return root
}

// unpackTo unpacks bytes into a new directory, and returns that too.
func unpackTo(tb testing.TB, packed []byte, format pannier.ArchiveFormat, l archive.Limits) (archive.Contents, string, error) {
	tb.Helper()
	dir := tb.TempDir()
	c, err := archive.Unpack(context.Background(), archive.File{From: bytes.NewReader(packed), Size: int64(len(packed)), Format: format}, openRoot(tb, dir), l)
	return c, dir, err
}

// listing tells of all that is below a directory: mode, path, and the text of files.
func listing(tb testing.TB, dir string) string {
	tb.Helper()
	var b strings.Builder
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s", info.Mode(), path)
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(dir + "/" + path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", text)
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func gzipped(parts ...[]byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for _, part := range parts {
		_, _ = w.Write(part)
	}
	_ = w.Close()
	return b.Bytes()
}

// tarOf packs headers with a text for each file; a size that is not set is that of the text.
func tarOf(headers ...tar.Header) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		text := []byte("text")
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag != tar.TypeReg {
			text = nil
		}
		if h.Size == 0 {
			h.Size = int64(len(text))
		} else {
			text = make([]byte, h.Size)
		}
		if err := w.WriteHeader(&h); err != nil {
			panic(err)
		}
		if _, err := w.Write(text); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// skillTar packs a skill, with further entries behind its SKILL.md.
func skillTar(headers ...tar.Header) []byte {
	return gzipped(tarOf(append([]tar.Header{{Name: "sk/SKILL.md"}}, headers...)...))
}

// tarFiles packs files of these names, or directories where a name ends in a slash.
func tarFiles(names ...string) []byte {
	var headers []tar.Header
	for _, name := range names {
		h := tar.Header{Name: name}
		if strings.HasSuffix(name, "/") {
			h.Typeflag = tar.TypeDir
		}
		headers = append(headers, h)
	}
	return gzipped(tarOf(headers...))
}

// block is a header of a tar, made by hand, for what archive/tar does not write.
func block(name string, kind byte, size int) []byte {
	b := make([]byte, 512)
	copy(b, name)
	copy(b[100:], "0000644\x000000000\x000000000\x00")
	copy(b[124:], fmt.Sprintf("%011o\x0000000000000\x00", size))
	b[156] = kind
	copy(b[257:], "ustar\x0000")
	copy(b[148:], "        ")
	sum := 0
	for _, c := range b {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
	return b
}

// padded is the contents of an entry of a tar.
func padded(text string) []byte {
	return append([]byte(text), make([]byte, (512-len(text)%512)%512)...)
}

// paxRecord is one line of the contents of a PAX header.
func paxRecord(key, value string) string {
	length := len(key) + len(value) + 3
	for n := 0; n != length; {
		n = length
		length = len(fmt.Sprint(n)) + len(key) + len(value) + 3
	}
	return fmt.Sprintf("%d %s=%s\n", length, key, value)
}

// paxTar packs a skill and, behind its SKILL.md, PAX records of a kind in front of the file sk/a.
func paxTar(kind byte, records string) []byte {
	return gzipped(block("sk/SKILL.md", '0', 4), padded("text"), block("pax", kind, len(records)), padded(records),
		block("sk/a", '0', 4), padded("text"), make([]byte, 1024))
}

// zipOf packs entries with a text for each file.
func zipOf(headers ...zip.FileHeader) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, h := range headers {
		to, err := w.CreateHeader(&h)
		if err != nil {
			panic(err)
		}
		if !strings.HasSuffix(h.Name, "/") {
			if _, err := to.Write([]byte("text")); err != nil {
				panic(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func zipFiles(names ...string) []byte {
	var headers []zip.FileHeader
	for _, name := range names {
		headers = append(headers, zip.FileHeader{Name: name})
	}
	return zipOf(headers...)
}

// zipRaw packs two stored files in headers that tell everything in front: the second is what a test spoils.
func zipRaw(name string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{"sk/SKILL.md", name} {
		h := zip.FileHeader{Name: name, CRC32: 0x3b8ba7c7, CompressedSize64: 4, UncompressedSize64: 4}
		to, err := w.CreateRaw(&h)
		if err != nil {
			panic(err)
		}
		_, _ = to.Write([]byte("text"))
	}
	_ = w.Close()
	return b.Bytes()
}

// spoiled returns bytes with others written over them, at an offset behind the last place of a mark.
func spoiled(packed []byte, mark string, offset int, with string) []byte {
	packed = bytes.Clone(packed)
	copy(packed[bytes.LastIndex(packed, []byte(mark))+offset:], with)
	return packed
}
