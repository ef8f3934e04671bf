package scan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// file scans a regular file. It opens it without blocking and checks the kind again, because the file can be replaced by a
// FIFO.
func (w *walker) file(ctx context.Context, dir *os.Root, rel string, info fs.FileInfo) {
	f, err := dir.OpenFile(info.Name(), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	if err != nil {
		w.unreadable(rel, err)
		return
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !opened.Mode().IsRegular() || !os.SameFile(opened, info) {
		w.unreadable(rel, cmp.Or(err, errReplaced))
		return
	}
	w.files++
	data := w.read(f, rel, info.Size())
	w.bytes += int64(len(data))
	w.content(ctx, rel, data)
	if why, ok := w.unpack(ctx, rel, data, 0); ok || endings[strings.ToLower(path.Ext(rel))] == archive {
		if why != "" || !ok {
			w.findings.add(archive, displayPath(rel), 0, why)
		}
	}
}

// content scans the content of a file, or of an entry of an archive.
func (w *walker) content(ctx context.Context, rel string, data []byte) {
	if code := programRule(data); code != "" {
		w.findings.add(code, displayPath(rel), 0, "")
	}
	// A script with an interpreter line is searched as text instead.
	if code := endings[strings.ToLower(path.Ext(rel))]; code == script && !bytes.HasPrefix(data, []byte("#!")) {
		w.findings.add(code, displayPath(rel), 0, "")
	}
	hits, all := searchFile(ctx, rel, data, w.own, &w.work)
	w.findings.addHits(displayPath(rel), hits)
	if !all {
		w.truncated = true
		w.findings.add("scan.bound.places", displayPath(rel), 0, "")
	}
}

// read returns the content within the bounds. Content beyond a bound is a finding.
func (w *walker) read(f *os.File, rel string, size int64) []byte {
	limit := min(w.options.MaxFileBytes, w.options.MaxBytes-w.bytes)
	var b bytes.Buffer
	b.Grow(int(min(size, limit)) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(f, limit+1))
	if err != nil {
		w.unreadable(rel, err)
	}
	if n > limit {
		w.reachByteLimit(rel, max(size, n), limit < w.options.MaxFileBytes)
	}
	return head(b.Bytes(), int(limit))
}

func (w *walker) reachByteLimit(rel string, size int64, inAll bool) {
	if !inAll {
		w.truncated = true
		w.findings.add("scan.file.size_limit", displayPath(rel), 0, fmt.Sprintf("%d bytes, at most %d", size, w.options.MaxFileBytes))
		return
	}
	if !w.spent {
		w.findings.add("scan.bound.bytes", displayPath(rel), 0, fmt.Sprintf("more than %d; this and the files after it", w.options.MaxBytes))
	}
	w.truncated, w.spent = true, true
}

// The first bytes of programs. Those of Mach-O are read as a big-endian number: 32 and 64 bits, both byte orders.
var (
	elf   = []byte("\x7fELF")
	macho = map[uint32]bool{0xfeedface: true, 0xfeedfacf: true, 0xcefaedfe: true, 0xcffaedfe: true}
	fat   = map[uint32]binary.ByteOrder{
		0xcafebabe: binary.BigEndian, 0xcafebabf: binary.BigEndian, 0xbebafeca: binary.LittleEndian, 0xbfbafeca: binary.LittleEndian,
	}
)

// maxArchitectures tells a Mach-O file for several architectures from a Java class file, which begins with the same four
// bytes and a version of 45 or more.
const maxArchitectures = 44

// programRule returns the rule for a program, by its content; "" if the file is none.
func programRule(data []byte) string {
	if len(data) < 4 {
		return ""
	}
	magic := binary.BigEndian.Uint32(data)
	switch order := fat[magic]; {
	case bytes.Contains(head(data, firstPage), elf):
		return "scan.file.elf"
	case macho[magic]:
		return "scan.file.macho"
	case order != nil && (len(data) < 8 || order.Uint32(data[4:]) <= maxArchitectures):
		return "scan.file.macho"
	case data[0] == 'M' && data[1] == 'Z' && (bytes.IndexByte(head(data, 256), 0) >= 0 || bytes.Contains(head(data, firstPage), []byte("PE\x00\x00"))):
		return "scan.file.pe"
	}
	return ""
}

// firstPage is how far into a file a program for Linux is searched: a script can contain one after its first lines.
const firstPage = 4096

func head[T ~string | ~[]byte](data T, n int) T { return data[:min(n, len(data))] }

// Extensions with a rule.
var endings = map[string]string{
	".sh": script, ".bash": script, ".zsh": script, ".fish": script, ".ps1": script, ".cmd": script, ".bat": script, ".exe": script,
	".zip": archive, ".tar": archive, ".tgz": archive, ".gz": archive, ".bz2": archive, ".xz": archive, ".zst": archive, ".7z": archive,
	".rar": archive, ".jar": archive, ".whl": archive,
}

const (
	script  = "scan.file.suspicious_executable"
	archive = "scan.file.archive"
)

// commonHiddenFiles are hidden files that common tools expect.
var commonHiddenFiles = map[string]bool{
	".gitignore": true, ".gitattributes": true, ".gitkeep": true, ".keep": true, ".editorconfig": true, ".clawhubignore": true,
	".dockerignore": true, ".npmignore": true, ".prettierignore": true, ".env.example": true, ".env.template": true, ".env.sample": true,
}

// checkName checks the last component of a path. Kubernetes volumes have directories that begin with two dots.
func (w *walker) checkName(rel string) {
	name := path.Base(rel)
	if !utf8.ValidString(name) || strings.ContainsFunc(name, isInvisibleInName) {
		w.findings.add("scan.path.name", displayPath(rel), 0, "")
	}
	volume := name == "..data" || strings.HasPrefix(name, "..20") && strings.Contains(name, "_")
	if name[0] == '.' && !commonHiddenFiles[name] && !volume {
		w.findings.add("scan.path.hidden", displayPath(rel), 0, "")
	}
}

func isInvisibleInName(r rune) bool {
	return unicode.IsControl(r) || isBidi(r) || isInvisible(r) && r != joiner || isTag(r) || isFormat(r)
}

func isFormat(r rune) bool { return r == 0x200e || r == 0x200f || r == 0x2028 || r == 0x2029 }

// displayPath returns a path for findings: "." for the skill directory, and bytes that are not UTF-8 as \xNN.
func displayPath(rel string) string {
	switch {
	case rel == "":
		return "."
	case utf8.ValidString(rel):
		return rel
	}
	var b strings.Builder
	for i := 0; i < len(rel); {
		r, size := utf8.DecodeRuneInString(rel[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, rel[i])
		} else {
			b.WriteString(rel[i : i+size])
		}
		i += size
	}
	return b.String()
}
