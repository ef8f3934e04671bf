package fingerprint_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pannier"
	"pannier/loader/fingerprint"
)

// write runs a shell script in a directory.
func write(t testing.TB, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// open returns a root that holds a directory `skill`, which the script has filled.
func open(t testing.TB, script string) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "mkdir skill")
	write(t, filepath.Join(dir, "skill"), script)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, filepath.Join(dir, "skill")
}

func of(t testing.TB, root *os.Root, o fingerprint.Options) fingerprint.Print {
	t.Helper()
	p, err := fingerprint.Of(t.Context(), root, "skill", o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lineOf is a line as the package says that it is.
func lineOf(path, mark, content string) string {
	return fmt.Sprintf("%s\x00%s\x00%x\n", path, mark, sha256.Sum256([]byte(content)))
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		lines        []string
	}{
		{"nothing", "mkdir -p empty/er", nil},
		{"a file", "printf text > SKILL.md", []string{lineOf("SKILL.md", "-", "text")}},
		{"an empty file", ": > SKILL.md", []string{lineOf("SKILL.md", "-", "")}},
		{"is executable for anyone it", "printf a > a; chmod 610 a; printf b > b; chmod 601 b; printf c > c; chmod 755 c", []string{lineOf("a", "x", "a"), lineOf("b", "x", "b"), lineOf("c", "x", "c")}},
		{"ordered by the whole path", "mkdir a; printf 1 > a/b; printf 2 > a.c; printf 3 > aZ; printf 4 > B", []string{lineOf("B", "-", "4"), lineOf("a.c", "-", "2"), lineOf("a/b", "-", "1"), lineOf("aZ", "-", "3")}},
		{"hidden files", "mkdir -p .git; printf h > .git/HEAD; printf e > .env", []string{lineOf(".env", "-", "e"), lineOf(".git/HEAD", "-", "h")}},
		{"what is pannier's own", "mkdir -p .pannier sub/.pannier; printf 1 > .pannier/lock.json; printf 2 > sub/.pannier/x", []string{lineOf("sub/.pannier/x", "-", "2")}},
		{"links are their own text", "printf t > a; ln -s a b; ln -s /etc/passwd c; ln -s . d; ln -s gone e; ln -s ../.. f", []string{lineOf("a", "-", "t"), lineOf("b", "l", "a"), lineOf("c", "l", "/etc/passwd"), lineOf("d", "l", "."), lineOf("e", "l", "gone"), lineOf("f", "l", "../..")}},
		{"a FIFO", "mkfifo p", []string{"p\x00?\x00\n"}},
		{"any name", `printf 1 > "$(printf 'a\nb')"; printf 2 > "$(printf 'c\377')"`, []string{lineOf("a\nb", "-", "1"), lineOf("c\xff", "-", "2")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, _ := open(t, tt.script)
			p := of(t, root, fingerprint.Options{})
			if want := pannier.DigestOf([]byte(strings.Join(tt.lines, ""))); p.Digest != want || p.Files != len(tt.lines) {
				t.Errorf("%d files with %s, want %d with %s", p.Files, p.Digest, len(tt.lines), want)
			}
		})
	}
}

// TestShell runs the pipeline that the package documentation has.
func TestShell(t *testing.T) {
	source, err := os.ReadFile("fingerprint.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(source), "//\tfind ")
	script, _, ended := strings.Cut(rest, "\n//\n")
	if !found || !ended {
		t.Fatal("the documentation has no pipeline")
	}
	script = "find " + strings.ReplaceAll(script, "\n//\t", "\n")
	root, dir := open(t, `mkdir -p a/b .pannier; printf 1 > a/b/c; printf '2 \\ x' > 'a/with blank'; printf 3 > a.c; chmod +x a.c; : > .hidden; printf 4 > .pannier/own; head -c 300000 /dev/zero > big`)
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	p := of(t, root, fingerprint.Options{})
	if want := "sha256:" + strings.Fields(string(out))[0]; p.Digest.String() != want {
		t.Errorf("got %s, a shell gets %s", p.Digest, want)
	}
}

// TestKnown looks again and again, long after everything was written.
func TestKnown(t *testing.T) {
	root, dir := open(t, "mkdir sub; printf 1 > SKILL.md; printf 2 > sub/a; printf 3 > sub/b; ln -s a sub/l")
	var opened []string
	o := fingerprint.Options{}.At(time.Now().Add(time.Hour)).WhenOpened(func(path string) { opened = append(opened, path) })
	first := of(t, root, o)
	for _, tt := range []struct {
		name, script string
		opened       []string
		same         bool
	}{
		{"nothing", "", nil, true},
		{"another content", "printf 9 > sub/a", []string{"sub/a"}, false},
		{"the same content", "printf 9 > sub/a", []string{"sub/a"}, true},
		{"a mode", "chmod +x sub/b", []string{"sub/b"}, false},
		{"another name", "mv sub/b sub/c", []string{"sub/c"}, false},
		{"a link", "ln -sf c sub/l", nil, false},
		{"a file less", "rm sub/c", nil, false},
		{"a file more", "printf 3 > sub/b", []string{"sub/b"}, false},
		{"a directory", "mkdir sub/empty", nil, true},
	} {
		write(t, dir, tt.script)
		opened = nil
		o.Known = first.Known
		p := of(t, root, o)
		slices.Sort(opened)
		if !slices.Equal(opened, tt.opened) || (p.Digest == first.Digest) != tt.same {
			t.Errorf("%s: opened %q, same %t", tt.name, opened, p.Digest == first.Digest)
		}
		if cold := of(t, root, fingerprint.Options{}); cold.Digest != p.Digest {
			t.Errorf("%s: %s from what is known, %s without", tt.name, p.Digest, cold.Digest)
		}
		first = p
	}
}

// TestRacyWindow: the stat of a file that was just written proves nothing.
func TestRacyWindow(t *testing.T) {
	root, dir := open(t, "printf 1 > SKILL.md")
	info, err := os.Stat(filepath.Join(dir, "SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]int64{-time.Hour: 1, 0: 1, 1900 * time.Millisecond: 1, 2100 * time.Millisecond: 0} {
		o := fingerprint.Options{}.At(info.ModTime().Add(after))
		o.Known = of(t, root, o).Known
		if p := of(t, root, o); p.Read != want {
			t.Errorf("%s after it was written, %d bytes are read again, want %d", after, p.Read, want)
		}
	}
}

func TestBounds(t *testing.T) {
	root, dir := open(t, "mkdir -p a/b/c; printf 123 > a/b/c/x; printf 45 > a/y")
	for name, tt := range map[string]struct {
		o    fingerprint.Options
		says string
	}{
		"entries": {fingerprint.Options{MaxEntries: 4}, "more than 4 files"},
		"depth":   {fingerprint.Options{MaxDepth: 2}, `"a/b/c": too large`},
		"bytes":   {fingerprint.Options{MaxBytes: 4}, "more than 4 bytes"},
	} {
		p, err := fingerprint.Of(t.Context(), root, "skill", tt.o)
		if !errors.Is(err, fingerprint.ErrTooLarge) || !strings.Contains(err.Error(), tt.says) || !p.Digest.IsZero() {
			t.Errorf("%s: %v, %s", name, err, p.Digest)
		}
	}
	of(t, root, fingerprint.Options{MaxEntries: 5, MaxDepth: 3, MaxBytes: 5})
	write(t, dir, "truncate -s 1T sparse")
	if _, err := fingerprint.Of(t.Context(), root, "skill", fingerprint.Options{}); !errors.Is(err, fingerprint.ErrTooLarge) {
		t.Errorf("a file of a terabyte: %v", err)
	}
}

func TestErrors(t *testing.T) {
	root, dir := open(t, "printf 1 > SKILL.md; ln -s SKILL.md link")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		dir  string
		want error
	}{
		"no such directory": {t.Context(), "skill/none", os.ErrNotExist},
		"ended":             {ended, "skill", context.Canceled},
	} {
		if _, err := fingerprint.Of(tt.ctx, root, tt.dir, fingerprint.Options{}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, dir := range []string{"skill/SKILL.md", "../" + filepath.Base(dir), ".."} {
		if _, err := fingerprint.Of(t.Context(), root, dir, fingerprint.Options{}); err == nil {
			t.Errorf("%s has a fingerprint", dir)
		}
	}
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	write(t, dir, "chmod 0 SKILL.md")
	if _, err := fingerprint.Of(t.Context(), root, "skill", fingerprint.Options{}); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), `"SKILL.md"`) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// TestLinkOnTheWay: discovery finds skills behind links within the root.
func TestLinkOnTheWay(t *testing.T) {
	root, dir := open(t, "printf 1 > SKILL.md")
	write(t, filepath.Dir(dir), "ln -s skill other")
	p, err := fingerprint.Of(t.Context(), root, "other", fingerprint.Options{})
	if want := of(t, root, fingerprint.Options{}); err != nil || p.Digest != want.Digest {
		t.Errorf("%s, %v; want %s", p.Digest, err, want.Digest)
	}
}

// TestPace: the cost of a file that is known is that of its stat, else its bytes come on top; and an error ends it.
func TestPace(t *testing.T) {
	root, _ := open(t, "head -c 300000 /dev/zero > a; head -c 1000 /dev/zero > b")
	cost := int64(0)
	o := fingerprint.Options{Pace: func(_ context.Context, n int64) error { cost += n; return nil }}.At(time.Now().Add(time.Hour))
	o.Known = of(t, root, o).Known
	if cost != 301000+2*4096 {
		t.Errorf("the first time costs %d", cost)
	}
	if cost = 0; of(t, root, o).Bytes != 301000 || cost != 2*4096 {
		t.Errorf("the second time costs %d", cost)
	}
	stop := errors.New("stop")
	o.Known, o.Pace = nil, func(_ context.Context, n int64) error {
		if cost += n; cost > 200_000 {
			return stop
		}
		return nil
	}
	if _, err := fingerprint.Of(t.Context(), root, "skill", o); !errors.Is(err, stop) {
		t.Errorf("not ended: %v", err)
	}
}

// TestParts tells which parts a skill has beside SKILL.md.
func TestManifest(t *testing.T) {
	root, _ := open(t, `mkdir -p s .pannier; printf text > SKILL.md; printf 12 > s/run; chmod 755 s/run; ln -s run s/link; mkfifo p; printf 1 > "$(printf 'c\377')"; : > .pannier/own`)
	if p := of(t, root, fingerprint.Options{}); p.Manifest != nil {
		t.Errorf("a manifest that was not asked for: %v", p.Manifest)
	}
	want := []pannier.ToolFile{
		{Path: "SKILL.md", Size: 4, SHA256: pannier.DigestOf([]byte("text"))},
		{Path: "s/link", Size: 2, SHA256: pannier.DigestOf([]byte("12")), Executable: true},
		{Path: "s/run", Size: 2, SHA256: pannier.DigestOf([]byte("12")), Executable: true},
	}
	if p := of(t, root, fingerprint.Options{Manifest: true}); !slices.Equal(p.Manifest, want) {
		t.Errorf("got %v, want %v", p.Manifest, want)
	}
}

func TestParts(t *testing.T) {
	for _, tt := range []struct {
		file string
		want fingerprint.Parts
	}{
		{"README.md", fingerprint.Parts{}},
		{"references/links.yaml", fingerprint.Parts{}},
		{"tools", fingerprint.Parts{}},
		{"links.yaml", fingerprint.Parts{Resources: true}},
		{"examples/a.md", fingerprint.Parts{Resources: true}},
		{"tools/a.py", fingerprint.Parts{Tools: true}},
		{"scripts/deep/a.sh", fingerprint.Parts{Tools: true}},
	} {
		root, _ := open(t, fmt.Sprintf("mkdir -p $(dirname %[1]s); printf x > %[1]s", tt.file))
		if got := of(t, root, fingerprint.Options{}).Parts; got != tt.want {
			t.Errorf("%s: %+v", tt.file, got)
		}
	}
	for script, want := range map[string]string{
		"ln -s ../elsewhere SKILL.md":                      "SKILL.md",
		"ln -s ../elsewhere skill.md; printf x > SKILL.md": "skill.md",
		"mkdir v; printf x > v/a; ln -s v/a SKILL.md":      "",
		"printf x > SKILL.md; ln -s ../elsewhere notes.md": "",
	} {
		root, _ := open(t, script)
		if got := of(t, root, fingerprint.Options{}).Parts.LinkedOut; got != want {
			t.Errorf("%s: %q", script, got)
		}
	}
}
