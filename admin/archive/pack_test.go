package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/admin/archive"
	"pannier/internal/testbench/realskills"
)

// makeTree runs makeSkill and returns the directory of the skill.
func makeTree(tb testing.TB) string {
	tb.Helper()
	cmd := exec.Command("sh", "-euc", makeSkill)
	cmd.Dir = tb.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return cmd.Dir + "/sk"
}

var treeFiles = []string{"scripts/run.sh", "SKILL.md", "empty", "référence/日本語.md"}

func TestPack(t *testing.T) {
	var packed [2]bytes.Buffer
	for i := range packed {
		root := openRoot(t, makeTree(t))
		if err := archive.Pack(t.Context(), &packed[i], root, "my-skill", treeFiles); err != nil {
			t.Fatal(err)
		}
		treeFiles[0], treeFiles[1] = treeFiles[1], treeFiles[0]
	}
	if !bytes.Equal(packed[0].Bytes(), packed[1].Bytes()) {
		t.Error("equal trees, other bytes")
	}
	c, dir, err := unpackTo(t, packed[0].Bytes(), pannier.TarGz, small)
	if err != nil || c.Top != "my-skill" {
		t.Fatalf("%+v %v", c, err)
	}
	if diff := cmp.Diff(skillListing, listing(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestTarReadsPack lets another reader list what was packed.
func TestTarReadsPack(t *testing.T) {
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip(err)
	}
	var packed bytes.Buffer
	if err := archive.Pack(t.Context(), &packed, openRoot(t, makeTree(t)), "sk", treeFiles); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("tar", "-tvzf", "-", "--quoting-style=literal", "--utc")
	cmd.Env, cmd.Stdin = append(os.Environ(), "LC_ALL=C.UTF-8"), &packed
	out, err := cmd.CombinedOutput()
	want := `-rw-r--r-- 0/0              17 1970-01-01 00:00 sk/SKILL.md
-rw-r--r-- 0/0               0 1970-01-01 00:00 sk/empty
-rw-r--r-- 0/0               5 1970-01-01 00:00 sk/référence/日本語.md
-rwxr-xr-x 0/0              10 1970-01-01 00:00 sk/scripts/run.sh
`
	if diff := cmp.Diff(want, string(out)); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestPackRefuses(t *testing.T) {
	dir := makeTree(t)
	if err := errors.Join(os.Symlink("SKILL.md", dir+"/link"), syscall.Mkfifo(dir+"/pipe", 0o644), os.WriteFile(dir+"/a\nb", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ top, file, code string }{
		{"sk", "link", "archive.link"},
		{"sk", "pipe", "archive.special"},
		{"sk", "scripts", "archive.special"},
		{"sk", "a\nb", "archive.name_control"},
		{"sk", "../sk/SKILL.md", "archive.traversal"},
		{"sk", "/etc/passwd", "archive.traversal"},
		{"sk", "./SKILL.md", "archive.traversal"},
		{"sk", ".", "archive.traversal"},
		{"sk", "empty", "archive.duplicate"},
		{"a/b", "SKILL.md", "archive.top_level"},
		{"", "SKILL.md", "archive.top_level"},
		{"..", "SKILL.md", "archive.traversal"},
	} {
		err := archive.Pack(t.Context(), io.Discard, openRoot(t, dir), test.top, []string{"empty", test.file})
		if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != test.code || r.Hint == "" {
			t.Errorf("%s/%s: %v, want %s", test.top, test.file, err, test.code)
		}
	}
	checkCause(t, archive.Pack(t.Context(), io.Discard, openRoot(t, dir), "sk", []string{"gone"}), fs.ErrNotExist)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checkCause(t, archive.Pack(ctx, io.Discard, openRoot(t, dir), "sk", treeFiles), context.Canceled)
}

// changing changes a file when the first bytes of an archive come by.
type changing struct {
	file string
	size int64
	err  error
}

func (c *changing) Write(p []byte) (int, error) {
	if c.size >= 0 {
		c.err = os.Truncate(c.file, c.size)
		c.size = -1
	}
	return len(p), nil
}

func TestPackWhileItChanges(t *testing.T) {
	noise := make([]byte, 4<<20)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise)
	for _, size := range []int64{1 << 20, 8 << 20} {
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/SKILL.md", noise, 0o644); err != nil {
			t.Fatal(err)
		}
		to := &changing{file: dir + "/SKILL.md", size: size}
		err := archive.Pack(t.Context(), to, openRoot(t, dir), "sk", []string{"SKILL.md"})
		if _, refused := errors.AsType[*pannier.Refusal](err); err == nil || refused || to.err != nil {
			t.Errorf("%d: %v, %v", size, err, to.err)
		}
	}
}

// TestRealSkills packs skills as people publish them and unpacks them again. What is refused would be refused on the
// way in, too: links, and names that only some systems tell apart.
func TestRealSkills(t *testing.T) {
	corpus := realskills.Dir(t)
	limits := archive.Limits{MaxUncompressed: 500 << 20, MaxFile: 50 << 20, MaxEntries: 2048}
	var whole int
	refused := map[string]int{}
	for i, dir := range skillDirs(t, corpus) {
		if i%20 != 0 {
			continue
		}
		err := roundTrip(t, dir, limits)
		if r, ok := errors.AsType[*pannier.Refusal](err); ok {
			t.Logf("%s: %s: %s", dir, r.Code, r.Message)
			refused[r.Code]++
		} else if err != nil {
			t.Errorf("%s: %v", dir, err)
		} else {
			whole++
		}
	}
	t.Logf("%d whole, refused: %v", whole, refused)
	if whole == 0 {
		t.Error("no skill came through")
	}
}

func skillDirs(t *testing.T, corpus string) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(corpus, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "SKILL.md" && d.Type().IsRegular() {
			dirs = append(dirs, filepath.Dir(file))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func roundTrip(t *testing.T, dir string, l archive.Limits) error {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		return err
	}
	from, into := openRoot(t, dir), openRoot(t, t.TempDir())
	var packed bytes.Buffer
	if err := archive.Pack(t.Context(), &packed, from, "sk", files); err != nil {
		return err
	}
	c, err := archive.Unpack(t.Context(), archive.File{From: bytes.NewReader(packed.Bytes()), Size: int64(packed.Len()), Format: pannier.TarGz}, into, l)
	if err != nil {
		return err
	}
	if c.Files+len(c.Ignored) != len(files) {
		t.Errorf("%s: %d files, %+v", dir, len(files), c)
	}
	for _, file := range files {
		compare(t, from, into, file)
	}
	return nil
}

func compare(t *testing.T, from, into *os.Root, file string) {
	t.Helper()
	if base := path.Base(file); strings.HasPrefix(base, "._") || base == ".DS_Store" {
		return
	}
	want, err := from.ReadFile(file)
	got, err2 := into.ReadFile(file)
	was, err3 := from.Stat(file)
	is, err4 := into.Stat(file)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Error(err)
	} else if !bytes.Equal(got, want) || (was.Mode()&0o111 != 0) != (is.Mode().Perm() == 0o755) {
		t.Errorf("%s is not what it was", file)
	}
}

// benchSkill is a skill of 10 MB in 100 files, half of it noise.
func benchSkill(b *testing.B) []byte {
	b.Helper()
	dir := b.TempDir()
	random := rand.NewChaCha8([32]byte{1})
	files := []string{"SKILL.md"}
	if err := os.WriteFile(dir+"/SKILL.md", []byte("---\nname: sk\n---\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	for i := range 100 {
		text := bytes.Repeat([]byte("all work and no play "), 100_000/21)
		_, _ = random.Read(text[:50_000])
		files = append(files, string(rune('a'+i/10))+string(rune('0'+i%10)))
		if err := os.WriteFile(dir+"/"+files[i+1], text, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	var packed bytes.Buffer
	if err := archive.Pack(b.Context(), &packed, openRoot(b, dir), "sk", files); err != nil {
		b.Fatal(err)
	}
	return packed.Bytes()
}

func BenchmarkUnpack(b *testing.B) {
	packed := benchSkill(b)
	limits := archive.Limits{MaxUncompressed: 20 << 20, MaxFile: 1 << 20, MaxEntries: 200}
	b.SetBytes(10_000_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := unpackTo(b, packed, pannier.TarGz, limits); err != nil {
			b.Fatal(err)
		}
	}
}
