package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"strings"
	"testing"

	"pannier"
	"pannier/admin/archive"
)

const (
	local   = "PK\x03\x04"
	central = "PK\x01\x02"
	end     = "PK\x05\x06"
)

// unixEntry is an entry with a mode as Unix has it.
func unixEntry(name string, mode fs.FileMode) zip.FileHeader {
	h := zip.FileHeader{Name: name}
	h.SetMode(mode)
	return h
}

var (
	goodTar = tarFiles("sk/SKILL.md", "sk/a")
	goodZip = zipFiles("sk/SKILL.md", "sk/a")
	rawZip  = zipRaw("sk/aaaa")
	// namedTwice tells the name of a file again in an extra field, as Info-ZIP may.
	namedTwice = zipOf(zip.FileHeader{Name: "sk/SKILL.md"}, zip.FileHeader{Name: "sk/a", Extra: []byte("\x75\x70\x09\x00\x01\x00\x00\x00\x00sk/a")})
	deep       = "sk/" + strings.Repeat("d/", 31) + "f"
	// cyrillic is SKILL.md in a name field that is no UTF-8; xs come to more than a path may have, in parts that are not
	// too long.
	cyrillic = "sk/\xd1\xe9"
	xs       = "sk/" + strings.Repeat(strings.Repeat("x", 250)+"/", 4) + "xxxxxxxxxxxxxxxxxx"
)

// refusedTar has an archive for each rule that holds for tar_gz.
var refusedTar = []struct {
	name, code string
	packed     []byte
}{
	{"nothing at all", "archive.empty", nil},
	{"no gzip", "archive.format", tarOf(tar.Header{Name: "sk/SKILL.md"})},
	{"a zip", "archive.format", goodZip},
	{"no entry", "archive.empty", gzipped(make([]byte, 1024))},
	{"nothing but .", "archive.empty", tarFiles("./")},
	{"nothing but ignored", "archive.empty", tarFiles("sk/.DS_Store")},
	{"header of gzip", "archive.truncated", goodTar[:6]},
	{"half of it", "archive.truncated", goodTar[:len(goodTar)/2]},
	{"no checksum", "archive.truncated", goodTar[:len(goodTar)-8]},
	{"no end", "archive.truncated", gzipped(block("sk/SKILL.md", '0', 4), padded("text"))},
	{"one empty block", "archive.truncated", gzipped(block("sk/SKILL.md", '0', 4), padded("text"), make([]byte, 512))},
	{"no contents", "archive.truncated", gzipped(block("sk/SKILL.md", '0', 4))},
	{"half a header", "archive.truncated", gzipped(block("sk/SKILL.md", '0', 4)[:300])},
	{"wrong checksum", "archive.damaged", append(bytes.Clone(goodTar[:len(goodTar)-8]), make([]byte, 8)...)},
	{"no tar", "archive.damaged", gzipped([]byte(strings.Repeat("no tar. ", 128)))},
	{"broken deflate", "archive.damaged", append(bytes.Clone(goodTar[:10]), bytes.Repeat([]byte{0xff}, 64)...)},
	{"negative size", "archive.damaged", gzipped(spoiledBlock(block("sk/SKILL.md", '0', 4), 124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))},
	{"behind the tar", "archive.trailing_data", gzipped(tarOf(tar.Header{Name: "sk/SKILL.md"}), []byte("more"))},
	{"a tar behind the tar", "archive.trailing_data", gzipped(tarOf(tar.Header{Name: "sk/SKILL.md"}), tarOf(tar.Header{Name: "sk/a"}))},
	{"second member", "archive.trailing_data", append(bytes.Clone(goodTar), gzipped(nil)...)},
	{"behind the gzip", "archive.trailing_data", append(bytes.Clone(goodTar), 0)},
	{"entries", "archive.entries", tarFiles(strings.Fields("sk/SKILL.md" + strings.Repeat(" ./", 100))...)},
	{"implied directories", "archive.entries", tarFiles("sk/SKILL.md", "sk/a/"+strings.Repeat("d/", 29)+"f", "sk/b/"+strings.Repeat("d/", 29)+"f", "sk/c/"+strings.Repeat("d/", 29)+"f", "sk/e/"+strings.Repeat("d/", 29)+"f")},
	{"global headers", "archive.entries", gzipped(bytes.Repeat(append(block("pax_global_header", 'g', len(paxRecord("comment", "x"))), padded(paxRecord("comment", "x"))...), 101))},
	{"file size", "archive.file_size", skillTar(tar.Header{Name: "sk/a", Size: 512<<10 + 1})},
	{"declared size", "archive.file_size", gzipped(block("sk/SKILL.md", '0', 1<<32))},
	{"total size", "archive.total_size", skillTar(tar.Header{Name: "sk/a", Size: 400 << 10}, tar.Header{Name: "sk/b", Size: 400 << 10}, tar.Header{Name: "sk/c", Size: 400 << 10})},
	{"ignored size", "archive.total_size", skillTar(tar.Header{Name: "sk/._a", Size: 400 << 10}, tar.Header{Name: "sk/._b", Size: 400 << 10}, tar.Header{Name: "sk/._c", Size: 400 << 10})},
	{"component", "archive.path_length", tarFiles("sk/SKILL.md", "sk/"+strings.Repeat("x", 256))},
	{"path", "archive.path_length", tarFiles("sk/SKILL.md", xs)},
	{"path of dots", "archive.path_length", tarFiles("sk/SKILL.md", strings.Repeat("./", 1100)+"sk/a")},
	{"depth", "archive.depth", tarFiles("sk/SKILL.md", deep)},
	{"file without a name", "archive.name_empty", gzipped(block(".", '0', 0), make([]byte, 1024))},
	{"not UTF-8", "archive.name_encoding", gzipped(block(cyrillic, '0', 0), make([]byte, 1024))},
	{"line feed", "archive.name_control", tarFiles("sk/SKILL.md", "sk/a\nb")},
	{"escape", "archive.name_control", tarFiles("sk/SKILL.md", "sk/\x1b[2J")},
	{"C1", "archive.name_control", tarFiles("sk/SKILL.md", "sk/\u009b")},
	{"right to left", "archive.name_control", tarFiles("sk/SKILL.md", "sk/a\u202efdp.sh")},
	{"line separator", "archive.name_control", tarFiles("sk/SKILL.md", "sk/a\u2028b")},
	{"NUL in a record", "archive.damaged", paxTar('x', paxRecord("path", "sk/a\x00b"))},
	{"backslash", "archive.name_backslash", tarFiles("sk/SKILL.md", `sk\..\..\a`)},
	{"absolute", "archive.absolute_path", tarFiles("/sk/SKILL.md")},
	{"absolute by record", "archive.absolute_path", paxTar('x', paxRecord("path", "/etc/passwd"))},
	{"drive", "archive.absolute_path", tarFiles("c:/sk/SKILL.md")},
	{"parent", "archive.traversal", tarFiles("sk/SKILL.md", "../a")},
	{"parent within", "archive.traversal", tarFiles("sk/SKILL.md", "sk/x/../a")},
	{"parent of an ignored one", "archive.traversal", tarFiles("sk/SKILL.md", "../.DS_Store")},
	{"two at the top", "archive.top_level", tarFiles("sk/SKILL.md", "other/a")},
	{"other case at the top", "archive.top_level", tarFiles("sk/SKILL.md", "SK/a")},
	{"file at the top", "archive.top_level", tarFiles("SKILL.md", "scripts/a")},
	{"file as the top", "archive.top_level", tarFiles("sk/SKILL.md", "sk")},
	{"no SKILL.md", "archive.no_skill", tarFiles("sk/README.md")},
	{"other case", "archive.no_skill", tarFiles("sk/skill.md")},
	{"too deep", "archive.no_skill", tarFiles("sk/sk/SKILL.md")},
	{"directory SKILL.md", "archive.no_skill", tarFiles("sk/SKILL.md/a")},
	{"own directory", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.pannier/lock.json")},
	{"own directory by another name", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.PANNIER/")},
	{"git", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.git/config")},
	{"git deeper", "archive.reserved", tarFiles("sk/SKILL.md", "sk/a/b/.git/hooks/x")},
	{"git directory alone", "archive.reserved", tarFiles("sk/SKILL.md", "sk/a/.git/")},
	{"gitlink", "archive.reserved", tarFiles("sk/SKILL.md", "sk/a/.git")},
	{"git in capitals", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.GIT/config")},
	{"git in both cases", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.Git")},
	{"git with a dot behind", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.git./config")},
	{"git with blanks behind", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.git . ./config")},
	{"git with what can not be seen", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.g\u200cit/config")},
	{"git in wide letters", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.ｇｉｔ/config")},
	{"git by its short name", "archive.reserved", tarFiles("sk/SKILL.md", "sk/GIT~1/config")},
	{"git as a stream", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.git::$INDEX_ALLOCATION/config")},
	{"git, bare", "archive.reserved", tarFiles("sk/SKILL.md", "sk/a/HEAD", "sk/a/config", "sk/a/objects/", "sk/a/refs/")},
	{"git, bare, the skill itself", "archive.reserved", tarFiles("sk/SKILL.md", "sk/refs/heads/main", "sk/objects/x", "sk/HEAD")},
	{"git, bare, in capitals", "archive.reserved", tarFiles("sk/SKILL.md", "sk/a/head", "sk/a/Objects/x", "sk/a/REFS/x")},
	{"git, bare, with a common directory", "archive.reserved", tarFiles("sk/SKILL.md", "sk/a/HEAD", "sk/a/commondir")},
	{"hg", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.hg/hgrc")},
	{"svn", "archive.reserved", tarFiles("sk/SKILL.md", "sk/x/.svn/wc.db")},
	{"bzr", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.bzr/x")},
	{"jj", "archive.reserved", tarFiles("sk/SKILL.md", "sk/.jj/x")},
	{"darcs", "archive.reserved", tarFiles("sk/SKILL.md", "sk/_darcs/prefs/x")},
	{"cvs", "archive.reserved", tarFiles("sk/SKILL.md", "sk/CVS/Root")},
	{"twice", "archive.duplicate", tarFiles("sk/SKILL.md", "sk/a", "./sk//a")},
	{"directory twice", "archive.duplicate", tarFiles("sk/SKILL.md", "sk/a/", "sk/a/")},
	{"top twice", "archive.duplicate", tarFiles("sk/", "sk/SKILL.md", "./sk/")},
	{"case", "archive.collision", tarFiles("sk/SKILL.md", "sk/Skill.md")},
	{"case of directories", "archive.collision", tarFiles("sk/SKILL.md", "sk/a/x", "sk/A/y")},
	{"sharp s", "archive.collision", tarFiles("sk/SKILL.md", "sk/straße", "sk/STRASSE")},
	{"NFC and NFD", "archive.collision", tarFiles("sk/SKILL.md", "sk/\u00e9", "sk/e\u0301")},
	{"NFKC", "archive.collision", tarFiles("sk/SKILL.md", "sk/\ufb01le", "sk/file")},
	{"not to be seen", "archive.collision", tarFiles("sk/SKILL.md", "sk/SKILL\u200d.md")},
	{"directory then file", "archive.conflict", tarFiles("sk/SKILL.md", "sk/a/", "sk/a")},
	{"file then directory", "archive.conflict", tarFiles("sk/SKILL.md", "sk/a", "sk/a/")},
	{"below a file", "archive.conflict", tarFiles("sk/SKILL.md", "sk/a", "sk/a/b")},
	{"implied then file", "archive.conflict", tarFiles("sk/SKILL.md", "sk/a/b", "sk/a")},
	{"file with a slash", "archive.conflict", gzipped(block("sk/SKILL.md", '0', 4), padded("text"), block("sk/a/", '0', 4), padded("text"), make([]byte, 1024))},
	{"directory with data", "archive.directory_data", gzipped(block("sk/", '5', 4), padded("text"), block("sk/SKILL.md", '0', 4), padded("text"), make([]byte, 1024))},
	{"symbolic link", "archive.link", skillTar(tar.Header{Name: "sk/a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})},
	{"hard link", "archive.link", skillTar(tar.Header{Name: "sk/a", Typeflag: tar.TypeLink, Linkname: "sk/SKILL.md"})},
	{"linked SKILL.md", "archive.link", gzipped(tarOf(tar.Header{Name: "sk/SKILL.md", Typeflag: tar.TypeSymlink, Linkname: "a"}))},
	{"ignored link", "archive.link", skillTar(tar.Header{Name: "sk/._a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})},
	{"device", "archive.special", skillTar(tar.Header{Name: "sk/a", Typeflag: tar.TypeChar})},
	{"block device", "archive.special", skillTar(tar.Header{Name: "sk/a", Typeflag: tar.TypeBlock})},
	{"pipe", "archive.special", skillTar(tar.Header{Name: "sk/a", Typeflag: tar.TypeFifo})},
	{"contiguous", "archive.special", gzipped(block("sk/a", '7', 0), make([]byte, 1024))},
	{"volume of GNU", "archive.special", gzipped(block("sk/a", 'V', 0), make([]byte, 1024))},
	{"unknown", "archive.special", gzipped(block("sk/a", 'Z', 0), make([]byte, 1024))},
	{"sparse of PAX 0.1", "archive.sparse", paxTar('x', paxRecord("GNU.sparse.size", "4")+paxRecord("GNU.sparse.numblocks", "1")+paxRecord("GNU.sparse.map", "0,4"))},
	{"sparse of PAX 1.0", "archive.sparse", paxTar('x', paxRecord("GNU.sparse.major", "9")+paxRecord("GNU.sparse.minor", "0")+paxRecord("GNU.sparse.name", "sk/b"))},
	{"sparse of GNU", "archive.sparse", gzipped(block("sk/SKILL.md", '0', 4), padded("text"), sparseBlock(), padded("text"), make([]byte, 1024))},
	{"global path", "archive.pax", paxTar('g', paxRecord("path", "sk/b"))},
	{"global size", "archive.pax", paxTar('g', paxRecord("size", "0"))},
	{"global link", "archive.pax", paxTar('g', paxRecord("linkpath", "/etc/passwd"))},
	{"global sparse", "archive.sparse", paxTar('g', paxRecord("GNU.sparse.name", "sk/b"))},
	{"size of a record", "archive.pax", paxTar('x', paxRecord("size", "4"))},
	{"link of a record", "archive.pax", paxTar('x', paxRecord("linkpath", "/etc/passwd"))},
	{"character set", "archive.pax", paxTar('x', paxRecord("hdrcharset", "BINARY"))},
	{"long name of GNU and path", "archive.pax", gzipped(block("x", 'x', len(paxRecord("path", "sk/b"))), padded(paxRecord("path", "sk/b")),
		block("././@LongLink", 'L', 5), padded("sk/c\x00"), block("sk/a", '0', 0), make([]byte, 1024))},
}

// refusedZip has an archive for each rule that holds for zip.
var refusedZip = []struct {
	name, code string
	packed     []byte
}{
	{"nothing at all", "archive.empty", nil},
	{"a tar", "archive.format", goodTar},
	{"something before it", "archive.format", append([]byte("#!/bin/sh\n"), goodZip...)},
	{"no entry", "archive.empty", zipFiles()},
	{"half of it", "archive.truncated", goodZip[:len(goodZip)/2]},
	{"last byte", "archive.truncated", goodZip[:len(goodZip)-1]},
	{"behind it", "archive.trailing_data", append(bytes.Clone(goodZip), 0)},
	{"half a comment", "archive.truncated", append(spoiled(goodZip, end, 20, "\x05"), "hel"...)},
	{"record with a long comment", "archive.truncated", spoiled(goodZip, central, 32, "\xff\xff")},
	{"record with a long name", "archive.truncated", spoiled(goodZip, central, 28, "\xff\x01")},
	{"long local extra", "archive.truncated", spoiled(rawZip, local, 28, "\xff\xff")},
	{"several parts", "archive.damaged", spoiled(goodZip, end, 4, "\x01")},
	{"other part", "archive.damaged", spoiled(goodZip, central, 34, "\x01")},
	{"directory elsewhere", "archive.damaged", spoiled(goodZip, end, 16, "\x00\x00")},
	{"fewer records than there are", "archive.damaged", spoiled(goodZip, end, 8, "\x01\x00\x01")},
	{"more records than there are", "archive.truncated", spoiled(goodZip, end, 8, "\x03\x00\x03")},
	{"broken record", "archive.damaged", spoiled(goodZip, central, 0, "XX")},
	{"file in the directory", "archive.truncated", spoiled(rawZip, central, 20, "\xff\x00\x00\x00\xff")},
	{"local header elsewhere", "archive.damaged", spoiled(rawZip, central, 42, "\x01")},
	{"wrong checksum", "archive.damaged", spoiled(rawZip, local, 30+7, "tExt")},
	{"broken deflate", "archive.damaged", spoiled(goodZip, local, 30+4, "\xff\xff")},
	{"entries", "archive.entries", zipFiles(strings.Fields("sk/SKILL.md" + strings.Repeat(" ./", 100))...)},
	{"file size", "archive.file_size", spoiled(rawZip, central, 24, "\x00\x00\x10")},
	{"longer than it says", "archive.size_mismatch", spoiled(spoiled(sized(), central, 24, "\x03"), local, 22, "\x03")},
	{"shorter than it says", "archive.size_mismatch", spoiled(spoiled(sized(), central, 24, "\x05"), local, 22, "\x05")},
	{"stored in fewer bytes", "archive.size_mismatch", spoiled(spoiled(rawZip, central, 24, "\x05"), local, 22, "\x05")},
	{"long name", "archive.path_length", zipFiles("sk/SKILL.md", strings.Repeat("x/", 1100))},
	{"component", "archive.path_length", zipFiles("sk/SKILL.md", "sk/"+strings.Repeat("x", 256))},
	{"depth", "archive.depth", zipFiles("sk/SKILL.md", deep)},
	{"not UTF-8", "archive.name_encoding", zipFiles("sk/SKILL.md", cyrillic)},
	{"NUL", "archive.name_control", zipFiles("sk/SKILL.md", "sk/a\x00.png")},
	{"no name", "archive.name_empty", zipFiles("sk/SKILL.md", "")},
	{"backslash", "archive.name_backslash", zipFiles(`sk\SKILL.md`)},
	{"absolute", "archive.absolute_path", zipFiles("sk/SKILL.md", "/etc/passwd")},
	{"drive", "archive.absolute_path", zipFiles("sk/SKILL.md", "C:/a")},
	{"parent", "archive.traversal", zipFiles("sk/SKILL.md", "../../a")},
	{"parent in a flat one", "archive.traversal", zipFiles("SKILL.md", "a/../../b")},
	{"parent to SKILL.md", "archive.traversal", zipFiles("a/../SKILL.md")},
	{"two at the top", "archive.top_level", zipFiles("sk/SKILL.md", "other/a")},
	{"file at the top", "archive.top_level", zipFiles("sk/SKILL.md", "README.md")},
	{"no SKILL.md", "archive.no_skill", zipFiles("sk/README.md")},
	{"own directory", "archive.reserved", zipFiles("sk/SKILL.md", "sk/.pannier/x")},
	{"git in a zip", "archive.reserved", zipFiles("sk/SKILL.md", "sk/a/.git/config")},
	{"git in a flat one", "archive.reserved", zipFiles("SKILL.md", ".git/config")},
	{"own directory in a flat one", "archive.reserved", zipFiles("SKILL.md", ".Pannier/x")},
	{"twice", "archive.duplicate", zipFiles("sk/SKILL.md", "sk/SKILL.md")},
	{"case", "archive.collision", zipFiles("SKILL.md", "skill.MD")},
	{"below a file", "archive.conflict", zipFiles("sk/SKILL.md", "sk/a", "sk/a/b")},
	{"directory without a slash", "archive.conflict", zipOf(unixEntry("sk/SKILL.md", 0o644), unixEntry("sk/a", fs.ModeDir|0o755))},
	{"directory without a slash, of DOS", "archive.conflict", spoiled(goodZip, central, 38, "\x10")},
	{"file with a slash", "archive.conflict", zipOf(unixEntry("sk/SKILL.md", 0o644), zip.FileHeader{Name: "sk/a/", CreatorVersion: 3 << 8, ExternalAttrs: 0o100644 << 16})},
	{"directory with data", "archive.directory_data", bytes.ReplaceAll(rawZip, []byte("sk/aaaa"), []byte("sk/aaa/"))},
	{"symbolic link", "archive.link", zipOf(unixEntry("sk/SKILL.md", 0o644), unixEntry("sk/a", fs.ModeSymlink|0o777))},
	{"symbolic link, not of Unix", "archive.link", zipOf(zip.FileHeader{Name: "sk/SKILL.md"}, zip.FileHeader{Name: "sk/a", ExternalAttrs: 0o120777 << 16})},
	{"device", "archive.special", zipOf(unixEntry("sk/SKILL.md", 0o644), unixEntry("sk/a", fs.ModeDevice|fs.ModeCharDevice|0o644))},
	{"pipe", "archive.special", zipOf(unixEntry("sk/SKILL.md", 0o644), unixEntry("sk/a", fs.ModeNamedPipe|0o644))},
	{"encrypted", "archive.encrypted", spoiled(spoiled(rawZip, central, 8, "\x01"), local, 6, "\x01")},
	{"encrypted directory", "archive.encrypted", spoiled(spoiled(rawZip, central, 9, "\x20"), local, 7, "\x20")},
	{"bzip2", "archive.method", spoiled(spoiled(rawZip, central, 10, "\x0c"), local, 8, "\x0c")},
	{"patch", "archive.method", spoiled(spoiled(rawZip, central, 8, "\x20"), local, 6, "\x20")},
	{"zip64 by its end", "archive.zip64", spoiled(goodZip, end, 16, "\xff\xff\xff\xff")},
	{"zip64 by the number", "archive.zip64", spoiled(goodZip, end, 8, "\xff\xff\xff\xff")},
	{"zip64 by its locator", "archive.zip64", bytes.Replace(goodZip, []byte(end), append([]byte("PK\x06\x07"+strings.Repeat("\x00", 16)), end...), 1)},
	{"zip64 entry", "archive.zip64", spoiled(rawZip, central, 24, "\xff\xff\xff\xff")},
	{"zip64 in the local header", "archive.header_mismatch", spoiled(rawZip, local, 18, "\xff\xff\xff\xff\xff\xff\xff\xff")},
	{"other name", "archive.header_mismatch", spoiled(rawZip, local, 30, "sk/bbbb")},
	{"other method", "archive.header_mismatch", spoiled(rawZip, local, 8, "\x08")},
	{"other checksum", "archive.header_mismatch", spoiled(rawZip, local, 14, "\x00")},
	{"other encryption", "archive.header_mismatch", spoiled(rawZip, local, 6, "\x01")},
	{"other name in a field", "archive.header_mismatch", zipOf(zip.FileHeader{Name: "sk/SKILL.md"}, zip.FileHeader{Name: "sk/a", Extra: []byte("\x75\x70\x09\x00\x01\x00\x00\x00\x00sk/b")})},
	{"other name in a field in front", "archive.header_mismatch", bytes.Replace(namedTwice, []byte("\x00sk/a"), []byte("\x00sk/b"), 1)},
	{"same bytes", "archive.overlap", overlapping()},
}

func spoiledBlock(b []byte, at int, with string) []byte {
	copy(b[at:], with)
	copy(b[148:], "        ")
	sum := 0
	for _, c := range b {
		sum += int(c)
	}
	copy(b[148:], []byte{'0' + byte(sum>>15&7), '0' + byte(sum>>12&7), '0' + byte(sum>>9&7), '0' + byte(sum>>6&7), '0' + byte(sum>>3&7), '0' + byte(sum&7), 0, ' '})
	return b
}

// sparseBlock is the header of a file with one piece of four bytes and a hole behind it, as old GNU tar has them.
func sparseBlock() []byte {
	b := block("sk/a", 'S', 4)
	copy(b[257:], "ustar  \x00")
	copy(b[386:], "00000000000\x0000000000004\x00")
	return spoiledBlock(b, 483, "00000002000\x00")
}

// sized is a zip with a deflated file that is told of in front.
func sized() []byte {
	const deflated = "\x2b\x49\xad\x28\x01\x00" // "text"
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{"sk/SKILL.md", "sk/a"} {
		to, _ := w.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: crc32.ChecksumIEEE([]byte("text")), CompressedSize64: uint64(len(deflated)), UncompressedSize64: 4})
		_, _ = to.Write([]byte(deflated))
	}
	_ = w.Close()
	return b.Bytes()
}

// overlapping is a zip whose first file says that it goes on into the second.
func overlapping() []byte {
	packed := bytes.Clone(rawZip)
	first := bytes.Index(packed, []byte(central))
	copy(packed[first+20:], "\x10\x00\x00\x00\x10")
	copy(packed[18:], "\x10\x00\x00\x00\x10")
	return packed
}

func TestRefusedTarGz(t *testing.T) {
	for _, test := range refusedTar {
		t.Run(test.name, func(t *testing.T) { checkRefused(t, test.packed, pannier.TarGz, test.code) })
	}
}

func TestRefusedZip(t *testing.T) {
	for _, test := range refusedZip {
		t.Run(test.name, func(t *testing.T) { checkRefused(t, test.packed, pannier.Zip, test.code) })
	}
}

func checkRefused(t *testing.T, packed []byte, format pannier.ArchiveFormat, code string) {
	t.Helper()
	before := descriptors(t)
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = archive.Unpack(context.Background(), archive.File{From: bytes.NewReader(packed), Size: int64(len(packed)), Format: format}, root, small)
	_ = root.Close()
	r, ok := errors.AsType[*pannier.Refusal](err)
	if !ok || r.Code != code {
		t.Fatalf("%#v, want %s", err, code)
	}
	if r.Hint == "" || len(r.Message) > 700 || strings.ContainsFunc(r.Message, func(r rune) bool { return r < ' ' || r > '~' && r < 0xa0 }) {
		t.Errorf("message %q, hint %q", r.Message, r.Hint)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	checkTree(t, dir, small)
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(open)
}

// checkTree looks for what no archive may bring about.
func checkTree(tb testing.TB, dir string, l archive.Limits) {
	tb.Helper()
	var entries int
	var bytes int64
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		entries++
		switch {
		case info.Mode().IsRegular():
			bytes += info.Size()
			if info.Size() > l.MaxFile {
				tb.Errorf("%q has %d bytes", path, info.Size())
			}
		case !d.IsDir():
			tb.Errorf("%q is %s", path, info.Mode())
		}
		if strings.Count(path, "/") >= 32 || len(path) > 1024 {
			tb.Errorf("%q is too long or too deep", path)
		}
		return nil
	})
	if err != nil || entries > l.MaxEntries+1 || bytes > l.MaxUncompressed {
		tb.Errorf("%d entries, %d bytes, %v", entries, bytes, err)
	}
}

// TestRulesAreDocumented compares the codes that tests provoke with the list in the package documentation.
func TestRulesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{"archive.skills": true} // by TestBoundsOfSeveral
	for _, tests := range [][]struct {
		name, code string
		packed     []byte
	}{refusedTar, refusedZip} {
		for _, test := range tests {
			seen[test.code] = true
		}
	}
	for line := range strings.Lines(string(text)) {
		if code, ok := strings.CutPrefix(line, "//\tarchive."); ok {
			code = "archive." + strings.Fields(code)[0]
			if !seen[code] {
				t.Errorf("no test for %s", code)
			}
			delete(seen, code)
		}
	}
	if len(seen) > 0 {
		t.Errorf("not documented: %v", seen)
	}
}
