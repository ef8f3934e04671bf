package loader_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/loader"
)

// bomb is a text or a file that is made to hurt its reader.
type bomb struct {
	name         string
	text         string
	make         func(path string) error // in the place of text
	code         string                  // of the first problem
	line, column int
	usable       bool
}

func bombs() []bomb {
	front := func(fields string) string { return "---\n" + fields + "\n---\nbody\n" }
	nested := func(depth int) string { return "a: " + strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	var keys, few strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	for i := range 2048 {
		fmt.Fprintf(&few, "k%d: 1\n", i)
	}
	laughs := "a: &a [x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		laughs += fmt.Sprintf("%c: &%c [*%c, *%c, *%c]\n", c, c, c-1, c-1, c-1)
	}
	const syntax = "skill.frontmatter.syntax"
	return []bomb{
		{name: "frontmatter of 64 KiB and one byte", text: frontOf(64<<10 + 1), code: "skill.frontmatter.too_long", line: 1},
		{name: "depth", text: front(nested(16)), code: syntax, line: 2, column: 19},
		{name: "depth below the bound", text: front("description: d\n" + nested(15)), usable: true},
		{name: "depth in blocks", text: front("a:\n" + steps(20)), code: syntax, line: 17, column: 16},
		{name: "nodes", text: front(few.String()), code: syntax, line: 2049, column: 8},
		{name: "100,000 keys", text: front(keys.String()), code: "skill.frontmatter.too_long", line: 1},
		{name: "200 kB of [", text: front("a: " + strings.Repeat("[", 200_000)), code: "skill.frontmatter.too_long", line: 1},
		{name: "60 kB of [", text: front("a: " + strings.Repeat("[", 60_000)), code: syntax, line: 2},
		{name: "60 kB of {", text: front("a: " + strings.Repeat("{", 60_000)), code: syntax, line: 2},
		{name: "60 kB of - ", text: front("a:\n" + strings.Repeat("- ", 30_000) + "x"), code: syntax},
		{name: "60 kB of ?", text: front(strings.Repeat("? ", 30_000)), code: syntax},
		{name: "laughs", text: front(laughs), code: syntax, line: 2, column: 4},
		{name: "alias", text: front("a: 1\nb: *a"), code: syntax, line: 3},
		{name: "anchor", text: front("a: &x 1"), code: syntax, line: 2, column: 4},
		{name: "alias to itself", text: front("a: &a [*a]"), code: syntax, line: 2},
		{name: "tag", text: front("a: !!python/object:os.system x"), code: syntax, line: 2, column: 4},
		{name: "binary tag", text: front("a: !!binary aGk="), code: syntax, line: 2, column: 4},
		{name: "merge key", text: front("a: 1\n<<: {b: 1}"), code: syntax, line: 3, column: 1},
		{name: "NUL", text: front("a: b\nc: x\x00"), code: "skill.nul", line: 3, column: 5},
		{name: "no UTF-8", text: front("a: b\nc: ä\xff"), code: "skill.frontmatter.encoding", line: 3, column: 5},
		{name: "UTF-16, little endian", text: "\xff\xfe-\x00-\x00-\x00\n\x00a\x00", code: "skill.nul", line: 1},
		{name: "UTF-16, big endian", text: "\xfe\xff\x00-\x00-\x00-\x00\n", code: "skill.nul", line: 1},
		{name: "byte order mark", text: "\ufeff" + front("description: d"), code: "skill.bom", line: 1, usable: true},
		{name: "controls", text: front("a: \x07"), code: syntax, line: 2},
		{name: "60 kB of colons", text: front(strings.Repeat("k: v: w\n", 7_000)), code: syntax},
		{name: "60 kB of loose lines", text: front("k: v\n" + strings.Repeat("x\n", 30_000)), code: syntax},
		{name: "60 kB of open quotes", text: front(strings.Repeat("k: \"\n", 12_000) + "k: \""), code: syntax},
		{name: "60 kB of open blocks", text: front(strings.Repeat("k: | x\n", 8_000)), code: syntax},
		{name: "60 kB of surrogates", text: front("a: \"" + strings.Repeat(`\ud83d\udc3e`, 5_000) + "\""), usable: true},
		{name: "60 kB of comments", text: front(strings.Repeat("#\n", 30_000)), usable: true},
		{name: "60 kB of glued fences", text: "---\nk: [\n" + strings.Repeat("---#\n", 12_000), code: "skill.frontmatter.unclosed"},
		{name: "1 MiB of one line", text: "---\na: " + strings.Repeat("x", 1<<20-20), code: "skill.frontmatter.too_long", line: 1},
		{name: "1 MiB of dashes", text: "---\n" + strings.Repeat("-", 1<<20-20), code: "skill.frontmatter.too_long", line: 1},
		{name: "1 MiB of fences", text: front("description: d") + strings.Repeat("---\n", 1<<18-20), usable: true},
		{name: "1 GiB, sparse", make: func(path string) error {
			if err := os.WriteFile(path, []byte(good("d")), 0o644); err != nil {
				return err
			}
			return os.Truncate(path, 1<<30)
		}, code: "skill.file.too_long"},
		{name: "FIFO", make: func(path string) error { return unix.Mkfifo(path, 0o644) }, code: "skill.file.kind"},
		{name: "directory", make: func(path string) error { return os.Mkdir(path, 0o755) }, code: "skill.file.kind"},
		{name: "socket", make: socketAt, code: "skill.file.kind"},
		{name: "device", make: func(path string) error {
			if os.Getuid() != 0 {
				return unix.Mkfifo(path, 0o644)
			}
			return unix.Mknod(path, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5))) // /dev/zero
		}, code: "skill.file.kind"},
		{name: "link to a device", make: func(path string) error { return os.Symlink("/dev/zero", path) }, code: "skill.file.unreadable"},
		{name: "link out of the root", make: func(path string) error { return os.Symlink("/etc/passwd", path) }, code: "skill.file.unreadable"},
		{name: "link up and out", make: func(path string) error { return os.Symlink("../../../../../../etc/passwd", path) }, code: "skill.file.unreadable"},
		{name: "link to itself", make: func(path string) error { return os.Symlink("SKILL.md", path) }, code: "skill.file.unreadable"},
		{name: "unreadable", make: func(path string) error {
			if os.Getuid() == 0 { // who reads everything, but not a link that leads nowhere
				return os.Symlink("nowhere", path)
			}
			return os.WriteFile(path, []byte(good("d")), 0)
		}, code: "skill.file.unreadable"},
	}
}

// steps returns mappings within mappings, each on a line of its own.
func steps(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i+1) + "a:\n")
	}
	return b.String()
}

// socketAt makes a socket without a listener. Where tests write paths are longer than the kernel takes for one, so it
// is made elsewhere and moved.
func socketAt(path string) error {
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		return err
	}
	defer os.RemoveAll(short)
	at := filepath.Join(short, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	return os.Rename(at, path)
}

func (b bomb) plant(t *testing.T, root string) {
	t.Helper()
	if b.make == nil {
		writeSkill(t, root, "bomb", b.text)
		return
	}
	mkdir(t, filepath.Join(root, "bomb"))
	if err := b.make(filepath.Join(root, "bomb/SKILL.md")); err != nil {
		t.Fatal(err)
	}
}

// TestBombs reads each beside a sound skill, which must not notice.
func TestBombs(t *testing.T) {
	const maxTime, maxBytes = 10 * time.Second, 64 << 20 // a hundred times what they take alone
	for _, b := range bombs() {
		t.Run(b.name, func(t *testing.T) {
			root := tree(t, "a", "z")
			b.plant(t, root)
			l := loader.New(loader.Options{Rules: rulesFor(root)})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			c := load(t, l, pannier.Batch{Full: true})
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if bytes := after.TotalAlloc - before.TotalAlloc; took > maxTime || bytes > maxBytes {
				t.Errorf("took %v and %d bytes", took, bytes)
			}
			wantPaths(t, c, "a", "bomb", "z")
			if len(c.Problems) > 0 || len(c.Skills[0].Problems)+len(c.Skills[2].Problems) > 0 {
				t.Errorf("others are told of: %v %v %v", c.Problems, c.Skills[0].Problems, c.Skills[2].Problems)
			}
			s := c.Skills[1]
			checkSkill(t, s)
			b.check(t, s)
			if _, err := l.Inspect(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBombsPastTheUsualBound reads the largest with a bound on frontmatter that lets them through to the YAML library.
func TestBombsPastTheUsualBound(t *testing.T) {
	for _, b := range bombs() {
		if b.make != nil {
			continue
		}
		root := tree(t)
		b.plant(t, root)
		rules := rulesFor(root)
		rules.MaxFrontmatterBytes = 1 << 20
		start := time.Now()
		s := only(t, load(t, loader.New(loader.Options{Rules: rules}), pannier.Batch{Full: true}))
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s took %v", b.name, took)
		}
		checkSkill(t, s)
	}
}

func (b bomb) check(t *testing.T, s *pannier.Skill) {
	t.Helper()
	if s.Broken == b.usable {
		t.Errorf("broken %t", s.Broken)
	}
	if b.code == "" {
		return
	}
	if len(s.Problems) == 0 {
		t.Fatal("no problem was reported")
	}
	p := s.Problems[0]
	if p.Code != b.code || b.line > 0 && p.Line != b.line || b.column > 0 && p.Column != b.column {
		t.Errorf("told %.200v, want %s at %d:%d", p, b.code, b.line, b.column)
	}
	if !strings.HasPrefix(p.Code, "skill.file.") && p.Line == 0 {
		t.Errorf("%.200v has no line", p)
	}
}
