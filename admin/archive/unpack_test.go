package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/admin/archive"
)

// skillListing is what comes of the skill that makeSkill makes.
const skillListing = `-rw-r--r-- SKILL.md "---\nname: sk\n---\n"
-rw-r--r-- empty ""
drwxr-xr-x référence
-rw-r--r-- référence/日本語.md "text\n"
drwxr-xr-x scripts
-rwxr-xr-x scripts/run.sh "#!/bin/sh\n"
`

// makeSkill makes a skill in a directory sk, beside what desktops leave there.
const makeSkill = `umask 077; mkdir -p sk/scripts sk/référence
printf -- '---\nname: sk\n---\n' >sk/SKILL.md; : >sk/empty; echo text >sk/référence/日本語.md
echo '#!/bin/sh' >sk/scripts/run.sh; chmod 4711 sk/scripts/run.sh
`

// TestRealTools unpacks what people's tools pack.
func TestRealTools(t *testing.T) {
	git := `git -c init.defaultBranch=main init -q . && git add sk && git -c user.name=x -c user.email=x@example.com commit -qm x && `
	for _, test := range []struct {
		tool, script string
		format       pannier.ArchiveFormat
		top          string
	}{
		{"tar", `tar -czf out sk`, pannier.TarGz, "sk"},
		{"tar", `tar -czf out ./sk`, pannier.TarGz, "sk"},
		{"tar", `tar --format=posix -czf out sk`, pannier.TarGz, "sk"},
		{"tar", `tar --format=ustar --sort=name -czf out sk`, pannier.TarGz, "sk"},
		{"tar", `tar --format=gnu -b 2000 -czf out sk`, pannier.TarGz, "sk"},
		{"git", git + `git archive --format=tar.gz -o out HEAD`, pannier.TarGz, "sk"},
		{"git", git + `git archive --format=tar.gz --prefix=x-1.0/ -o out HEAD:sk`, pannier.TarGz, "x-1.0"},
		{"git", git + `git archive --format=zip -o out HEAD`, pannier.Zip, "sk"},
		{"zip", `zip -qr out.zip sk && mv out.zip out`, pannier.Zip, "sk"},
		{"zip", `LC_ALL=C zip -qr out.zip sk && mv out.zip out`, pannier.Zip, "sk"},
		{"zip", `zip -qr - sk | cat >out`, pannier.Zip, "sk"},
		{"zip", `cd sk && zip -qrD0 ../out.zip . && mv ../out.zip ../out`, pannier.Zip, ""},
	} {
		t.Run(test.script, func(t *testing.T) {
			if _, err := exec.LookPath(test.tool); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			cmd := exec.Command("sh", "-euc", makeSkill+test.script)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			packed, err := os.ReadFile(dir + "/out")
			if err != nil {
				t.Fatal(err)
			}
			if format, ok := archive.Detect(packed); !ok || format != test.format {
				t.Errorf("detected %q", format)
			}
			c, into, err := unpackTo(t, packed, test.format, small)
			if err != nil {
				t.Fatalf("%#v", err)
			}
			if diff := cmp.Diff(skillListing, listing(t, into)); diff != "" {
				t.Error(diff)
			}
			if want := (archive.Contents{Top: test.top, Files: 4, Bytes: 32}); !cmp.Equal(c, want) {
				t.Errorf("%+v, want %+v", c, want)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	for head, want := range map[string]pannier.ArchiveFormat{
		"": "", "PK": "", "\x1f\x8b\x08": "", "\x1f\x8b\x08\x00": pannier.TarGz, "PK\x03\x04": pannier.Zip, "PK\x05\x06": pannier.Zip, "PK\x07\x08": "", "BZh9": "", "\x1f\x9d\x90\x00": "",
	} {
		if got, ok := archive.Detect([]byte(head)); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v", head, got, ok)
		}
	}
	_, _, err := unpackTo(t, goodTar, "rar", small)
	if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != "archive.format" {
		t.Errorf("%#v", err)
	}
}

func TestIgnored(t *testing.T) {
	names := []string{"sk/SKILL.md", "__MACOSX/sk/._SKILL.md", "sk/.DS_Store", "sk/a/Thumbs.db", "sk/a/._b", "sk/._c/d"}
	want := archive.Contents{Top: "sk", Files: 1, Bytes: 4, Ignored: []string{"__MACOSX/sk/._SKILL.md", "sk/.DS_Store", "sk/._c/d", "sk/a/._b", "sk/a/Thumbs.db"}}
	for format, packed := range map[pannier.ArchiveFormat][]byte{pannier.TarGz: tarFiles(names...), pannier.Zip: zipFiles(names...)} {
		c, dir, err := unpackTo(t, packed, format, small)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c); diff != "" {
			t.Error(diff)
		}
		if got := listing(t, dir); got != "-rw-r--r-- SKILL.md \"text\"\n" {
			t.Error(got)
		}
	}
	for i := range 30 {
		names = append(names, fmt.Sprintf("sk/._%02d", i))
	}
	c, _, err := unpackTo(t, tarFiles(names...), pannier.TarGz, small)
	if err != nil || len(c.Ignored) != 21 || c.Ignored[20] != "and 15 more" || !slices.IsSorted(c.Ignored[:20]) {
		t.Errorf("%q %v", c.Ignored, err)
	}
}

// TestAccepted has archives that look doubtful and are not.
func TestAccepted(t *testing.T) {
	long := "sk/" + strings.Repeat(strings.Repeat("x", 250)+"/", 4) + "xxxxxxxxxxxxxxxxx"
	for name, packed := range map[string][]byte{
		"comment of git":        paxTar('g', paxRecord("comment", "4b825dc642cb6eb9a060e54bf8d69288fbee4904")),
		"attributes of a Mac":   paxTar('x', paxRecord("LIBARCHIVE.xattr.com.apple.quarantine", "MDA4MQ")+paxRecord("SCHILY.fflags", "hidden")+paxRecord("mtime", "1.5")),
		"path of a record":      paxTar('x', paxRecord("path", "sk/a")),
		"longest path":          tarFiles("sk/SKILL.md", long),
		"deepest path":          tarFiles("sk/SKILL.md", "sk/"+strings.Repeat("d/", 30)+"f"),
		"directory behind":      tarFiles("sk/SKILL.md", "sk/a/b", "sk/a/", "sk/"),
		"dots":                  tarFiles("./", "./sk/", "./sk/./SKILL.md", "sk/..a", "sk/a..", "sk/...", "sk//b"),
		"own directory below":   tarFiles("sk/SKILL.md", "sk/a/.pannier/x"),
		"zeros behind the end":  gzipped(tarOf(tar.Header{Name: "sk/SKILL.md"}), make([]byte, 100_000)),
		"name that looks Czech": tarFiles("sk/SKILL.md", "sk/příliš žluťoučký kůň 🐎.md"),
		"all that is allowed":   skillTar(tar.Header{Name: "sk/a", Size: 512 << 10}, tar.Header{Name: "sk/b", Size: 512<<10 - 4}),
	} {
		t.Run(name, func(t *testing.T) {
			c, dir, err := unpackTo(t, packed, pannier.TarGz, small)
			if err != nil {
				t.Fatalf("%#v", err)
			}
			if c.Top != "sk" || len(c.Ignored) > 0 || strings.Count(listing(t, dir), "\n-")+1 != c.Files {
				t.Errorf("%+v\n%s", c, listing(t, dir))
			}
		})
	}
}

func TestZipAccepted(t *testing.T) {
	commented := bytes.Clone(goodZip)
	commented[len(commented)-2] = 5
	for name, packed := range map[string][]byte{
		"comment":            append(commented, "hello"...),
		"flat":               zipFiles("SKILL.md", "_meta.json", "scripts/a", "scripts/b"),
		"flat with a dot":    zipFiles("./SKILL.md"),
		"stored":             rawZip,
		"same name again":    namedTwice,
		"directories listed": zipFiles("sk/", "sk/a/", "sk/a/b/", "sk/SKILL.md"),
	} {
		t.Run(name, func(t *testing.T) {
			c, dir, err := unpackTo(t, packed, pannier.Zip, small)
			if err != nil {
				t.Fatalf("%#v", err)
			}
			if strings.HasPrefix(name, "flat") != (c.Top == "") || c.Files == 0 || !strings.Contains(listing(t, dir), "SKILL.md") {
				t.Errorf("%+v\n%s", c, listing(t, dir))
			}
		})
	}
}

// TestBombs unpacks what is a thousand times larger than it looks, and counts what reaches the disk.
func TestBombs(t *testing.T) {
	const whole = 16 << 20
	zero := make([]byte, whole)
	var zipped bytes.Buffer
	w := zip.NewWriter(&zipped)
	to, _ := w.Create("sk/SKILL.md")
	_, _ = to.Write(zero)
	_ = w.Close()
	lying := zipped.Bytes()
	i := bytes.LastIndex(lying, []byte(central))
	copy(lying[i+24:], "\x10\x00\x00\x00")
	for _, test := range []struct {
		name, code string
		format     pannier.ArchiveFormat
		packed     []byte
	}{
		{"file", "archive.file_size", pannier.TarGz, gzipped(block("sk/SKILL.md", '0', whole), zero)},
		{"behind the end", "archive.total_size", pannier.TarGz, gzipped(tarOf(tar.Header{Name: "sk/SKILL.md"}), zero)},
		{"headers without entries", "archive.total_size", pannier.TarGz, gzipped(bytes.Repeat(append(block("x", 'x', len(paxRecord("mtime", "0"))), padded(paxRecord("mtime", "0"))...), 16<<10))},
		{"lie", "archive.size_mismatch", pannier.Zip, lying},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, dir, err := unpackTo(t, test.packed, test.format, small)
			if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != test.code {
				t.Errorf("%#v of %d bytes", err, len(test.packed))
			}
			checkTree(t, dir, small)
		})
	}
}

// brokenReader fails behind some bytes.
type brokenReader struct {
	bytes.Reader
	from int64
	err  error
}

func (r *brokenReader) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > r.from {
		return 0, r.err
	}
	return r.Reader.ReadAt(p, at)
}

// TestOurFault makes sure that no archive is blamed for what is wrong on this side.
func TestOurFault(t *testing.T) {
	formats := map[pannier.ArchiveFormat][]byte{pannier.TarGz: goodTar, pannier.Zip: goodZip}
	for format, packed := range formats {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		size := int64(len(packed))
		_, err := archive.Unpack(ctx, archive.File{From: bytes.NewReader(packed), Size: size, Format: format}, openRoot(t, t.TempDir()), small)
		checkCause(t, err, context.Canceled)

		for from := range size {
			broken := &brokenReader{Reader: *bytes.NewReader(packed), from: from, err: syscall.EIO}
			_, err = archive.Unpack(t.Context(), archive.File{From: broken, Size: size, Format: format}, openRoot(t, t.TempDir()), small)
			checkCause(t, err, syscall.EIO)
		}
		closed := openRoot(t, t.TempDir())
		_ = closed.Close()
		_, err = archive.Unpack(t.Context(), archive.File{From: bytes.NewReader(packed), Size: size, Format: format}, closed, small)
		checkCause(t, err, os.ErrClosed)
	}
}

func checkCause(t *testing.T, err, cause error) {
	t.Helper()
	if _, refused := errors.AsType[*pannier.Refusal](err); refused || !errors.Is(err, cause) {
		t.Errorf("%#v, want %v", err, cause)
	}
}

// TestDisk unpacks to a file system that is full, and to one that is read-only.
func TestDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("needs to mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	if err := os.Mkdir(dir+"/into", 0o755); err != nil {
		t.Fatal(err)
	}
	packed := skillTar(tar.Header{Name: "sk/a", Size: 256 << 10})
	root := openRoot(t, dir+"/into")
	_, err := archive.Unpack(t.Context(), archive.File{From: bytes.NewReader(packed), Size: int64(len(packed)), Format: pannier.TarGz}, root, small)
	checkCause(t, err, syscall.ENOSPC)
	if err := errors.Join(root.RemoveAll("a"), root.RemoveAll("SKILL.md"), syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")); err != nil {
		t.Fatal(err)
	}
	_, err = archive.Unpack(t.Context(), archive.File{From: bytes.NewReader(packed), Size: int64(len(packed)), Format: pannier.TarGz}, root, small)
	checkCause(t, err, syscall.EROFS)
}

// stopping cancels a context when it has been read from some times.
type stopping struct {
	io.ReaderAt
	left   int
	cancel context.CancelFunc
}

func (s *stopping) ReadAt(p []byte, at int64) (int, error) {
	if s.left--; s.left == 0 {
		s.cancel()
	}
	return s.ReaderAt.ReadAt(p, at)
}

func TestStops(t *testing.T) {
	large := archive.Limits{MaxUncompressed: 1 << 40, MaxFile: 1 << 40, MaxEntries: 10}
	for format, packed := range map[pannier.ArchiveFormat][]byte{pannier.TarGz: goodTar, pannier.Zip: goodZip} {
		ctx, cancel := context.WithCancel(t.Context())
		src := &stopping{bytes.NewReader(packed), 2, cancel}
		_, err := archive.Unpack(ctx, archive.File{From: src, Size: int64(len(packed)), Format: format}, openRoot(t, t.TempDir()), large)
		cancel()
		if err != nil {
			checkCause(t, err, context.Canceled)
		} else {
			t.Error("went on")
		}
	}
}

// TestModes makes sure that the umask of the process has no part in what is written.
func TestModes(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	packed := skillTar(tar.Header{Name: "sk/a/b/run", Mode: 0o10}, tar.Header{Name: "sk/a/plain", Mode: 0o6666})
	_, dir, err := unpackTo(t, packed, pannier.TarGz, small)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{"a": fs.ModeDir | 0o755, "a/b": fs.ModeDir | 0o755, "a/b/run": 0o755, "a/plain": 0o644} {
		info, err := os.Lstat(dir + "/" + path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
}

// TestNamesLikeVersionControl are common in skills, and taken.
func TestNamesLikeVersionControl(t *testing.T) {
	packed := tarFiles("sk/SKILL.md", "sk/.gitignore", "sk/.gitmodules", "sk/.github/x", "sk/git/x", "sk/.git-hooks/x", "sk/cvs/anna.md", "sk/a/CVS", "sk/darcs/x", "sk/x.git/y")
	if c, _, err := unpackTo(t, packed, pannier.TarGz, small); err != nil || c.Files != 10 {
		t.Errorf("%+v, %v", c, err)
	}
}
