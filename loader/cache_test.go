package loader_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/loader"
)

const cacheKey = "build 1, workspace w"

// later is a time at which the files of a test prove what is in them.
func later() time.Time { return time.Now().Add(time.Hour) }

// cacheOf returns what a process keeps of a root.
func cacheOf(tb testing.TB, root string, now func() time.Time) []byte {
	tb.Helper()
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.SetClock(now)
	load(tb, l, pannier.Batch{Full: true})
	p := l.Parsed()
	if p == nil {
		return nil
	}
	if l.Parsed() != nil {
		tb.Error("nothing was parsed since, and there is something to keep")
	}
	return p.Encode(cacheKey, 64<<20)
}

// restart loads a root in a new process, and returns which files that opens. The catalog must be that of the disk.
func restart(tb testing.TB, root string, cache []byte, now func() time.Time) (l *loader.Loader, files []string) {
	tb.Helper()
	l = loader.New(loader.Options{Rules: rulesFor(root)})
	l.SetClock(now)
	l.Restore(cache, cacheKey)
	o := record(l)
	got := load(tb, l, pannier.Batch{Full: true})
	files = o.take()
	if diff := cmp.Diff(full(tb, root), got); diff != "" {
		tb.Errorf("want the disk -, got +:\n%s", diff)
	}
	return l, files
}

func wantFiles(tb testing.TB, got []string, want ...string) {
	tb.Helper()
	if diff := cmp.Diff(append([]string{}, want...), append([]string{}, got...)); diff != "" {
		tb.Errorf("opened files: want -, got +:\n%s", diff)
	}
}

// richTree has skills with every kind of value, and some that no cache may have.
func richTree(t *testing.T) string {
	root := tree(t, "a", "g/b", "lower")
	must(t, os.Rename(filepath.Join(root, "lower/SKILL.md"), filepath.Join(root, "lower/skill.md")))
	writeSkill(t, root, "rich", "---\nname: s\ndescription: does\nversion: 1\ntags: [a, b]\nexamples: []\ntriggers: [t]\npaths: p\nconflicts: c\ncompatibility: k\nuser-invocable: false\ncommands: [{name: n, description: e, arguments: [{name: x, required: true}]}]\ndependencies: {api_keys: [K], mcp: m, config: f}\nmetadata: {openclaw: {primaryEnv: E, skillKey: y, always: true, requires: {bins: [bin]}}}\nruntime: {tools: [{name: t, description: d, parameters: {type: object}}, 1]}\n---\nbody\n")
	write(t, filepath.Join(root, "rich/_meta.json"), `{"slug":"meta","owner":"o"}`)
	writeSkill(t, root, "warned", "---\nname: warned\ntags: {a: b}\nversion: x\n---\n")
	writeSkill(t, root, "broken", broken)
	writeSkill(t, root, "linked", good("d"))
	must(t, os.Rename(filepath.Join(root, "linked/SKILL.md"), filepath.Join(root, "linked/TEXT.md")))
	link(t, "TEXT.md", filepath.Join(root, "linked/SKILL.md"))
	mkdir(t, filepath.Join(root, "script/tools"))
	write(t, filepath.Join(root, "script/tools/x.py"), "")
	mkdir(t, filepath.Join(root, ".pannier"))
	write(t, filepath.Join(root, ".pannier/lock.json"), lockOf("a community", "g/b verified"))
	return root
}

// notCached are the files of richTree that every start reads.
var notCached = []string{".pannier/lock.json", "broken/SKILL.md", "linked/SKILL.md"}

func TestRestartOpensNoProvenFile(t *testing.T) {
	root := richTree(t)
	cache := cacheOf(t, root, later)
	l, files := restart(t, root, cache, later)
	wantFiles(t, files, notCached...)
	if l.Parsed() != nil {
		t.Error("what was restored is to be kept again")
	}

	o := record(l)
	load(t, l, pannier.Batch{Full: true})
	wantFiles(t, o.take())
	l.SetClock(func() time.Time { return later().Add(time.Minute) })
	load(t, l, pannier.Batch{Full: true})
	if n := len(o.take()); n < 8 {
		t.Errorf("after a minute %d files were read, want all", n)
	}
}

// TestRestartAfterChanges changes what is there while no process runs.
func TestRestartAfterChanges(t *testing.T) {
	root := richTree(t)
	cache := cacheOf(t, root, later)
	rename := func(from, to string) { must(t, os.Rename(filepath.Join(root, from), filepath.Join(root, to))) }
	for _, step := range []struct {
		name   string
		change func()
		opened []string
	}{
		{"restored mtime", func() {
			path := filepath.Join(root, "a/SKILL.md")
			info, err := os.Stat(path)
			must(t, err)
			for before := changedAt(t, path); changedAt(t, path) == before; {
				write(t, path, good("e"))
				must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
			}
		}, []string{"a/SKILL.md"}},
		{"meta removed", func() { must(t, os.Remove(filepath.Join(root, "rich/_meta.json"))) }, []string{"a/SKILL.md", "rich/SKILL.md"}},
		{"renamed with its inode", func() { rename("g/b", "g/c") }, []string{"a/SKILL.md", "g/c/SKILL.md", "rich/SKILL.md"}},
		{
			"new and removed", func() { writeSkill(t, root, "g/b", good("new")); must(t, os.RemoveAll(filepath.Join(root, "warned"))) },
			[]string{"a/SKILL.md", "g/b/SKILL.md", "g/c/SKILL.md", "rich/SKILL.md"},
		},
		{
			"lock removed", func() { must(t, os.RemoveAll(filepath.Join(root, ".pannier"))) },
			[]string{"a/SKILL.md", "g/b/SKILL.md", "g/c/SKILL.md", "rich/SKILL.md"},
		},
		{
			"spelled otherwise", func() { rename("lower/skill.md", "lower/Skill.md") },
			[]string{"a/SKILL.md", "g/b/SKILL.md", "g/c/SKILL.md", "lower/Skill.md", "rich/SKILL.md"},
		},
		{
			"broken", func() { writeSkill(t, root, "a", broken) },
			[]string{"a/SKILL.md", "g/b/SKILL.md", "g/c/SKILL.md", "lower/Skill.md", "rich/SKILL.md"},
		},
	} {
		step.change()
		want := slices.Clone(step.opened)
		for _, file := range notCached {
			if _, err := os.Stat(filepath.Join(root, file)); err == nil {
				want = append(want, file)
			}
		}
		slices.Sort(want)
		_, files := restart(t, root, cache, later)
		if !slices.Equal(files, want) {
			t.Errorf("%s: opened %q, want %q", step.name, files, want)
		}
	}
}

// TestLastGoodIsNotKept has a file that stops parsing while a process runs. The next one has no earlier state of it.
func TestLastGoodIsNotKept(t *testing.T) {
	root := tree(t, "a", "b")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.SetClock(later)
	load(t, l, pannier.Batch{Full: true})
	old := l.Parsed().Encode(cacheKey, 1<<20)
	writeSkill(t, root, "a", broken)
	writeSkill(t, root, "b", good("second"))
	if c := load(t, l, pannier.Batch{Full: true}); !c.Skills[0].LastGood {
		t.Fatal("the skill is not last good")
	}
	_, files := restart(t, root, l.Parsed().Encode(cacheKey, 1<<20), later)
	wantFiles(t, files, "a/SKILL.md")
	_, files = restart(t, root, old, later)
	wantFiles(t, files, "a/SKILL.md", "b/SKILL.md")
}

// TestRacyFilesAreNotKept reads files that may change without another stamp.
func TestRacyFilesAreNotKept(t *testing.T) {
	root := tree(t, "a", "b")
	if cache := cacheOf(t, root, time.Now); cache != nil {
		t.Error("there is something to keep")
	}
	cache := cacheOf(t, root, later)
	_, files := restart(t, root, cache, time.Now)
	wantFiles(t, files, "a/SKILL.md", "b/SKILL.md")
}

func TestImpairedCacheIsIgnored(t *testing.T) {
	root := tree(t)
	var all []string
	for i := range 20 {
		dir := fmt.Sprintf("s%02d", i)
		writeSkill(t, root, dir, good("d"))
		all = append(all, dir+"/SKILL.md")
	}
	cache := cacheOf(t, root, later)
	if _, files := restart(t, root, cache, later); len(files) != 0 {
		t.Fatalf("opened %q", files)
	}
	ignored := func(what string, cache []byte) {
		t.Helper()
		if _, files := restart(t, root, cache, later); !slices.Equal(files, all) {
			t.Errorf("%s: opened %q", what, files)
		}
	}
	changed := func(at int) []byte {
		cache := slices.Clone(cache)
		cache[at] ^= 1
		return cache
	}
	ignored("none", nil)
	ignored("longer", append(slices.Clone(cache), 0))
	ignored("another version", changed(bytes.IndexByte(cache, '\n')-1))
	for i := 0; i < len(cache); i += 997 {
		ignored(fmt.Sprint("truncated at ", i), cache[:i])
		ignored(fmt.Sprint("tampered at ", i), changed(i))
	}
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.SetClock(later)
	load(t, l, pannier.Batch{Full: true})
	p := l.Parsed()
	ignored("another build", p.Encode("build 2, workspace w", 1<<20))
	if p.Encode(cacheKey, len(cache)-1) != nil {
		t.Error("the cache exceeds its limit")
	}
	for _, change := range []func(*pannier.DiscoveryRules){
		func(r *pannier.DiscoveryRules) { r.MaxFrontmatterBytes-- },
		func(r *pannier.DiscoveryRules) { r.Block = []string{"openclaw"} },
		func(r *pannier.DiscoveryRules) { r.Roots = slices.Clone(r.Roots); r.Roots[0].Name = "other" },
	} {
		rules := rulesFor(root)
		change(&rules)
		l := loader.New(loader.Options{Rules: rules})
		l.SetClock(later)
		load(t, l, pannier.Batch{Full: true})
		ignored("other rules", l.Parsed().Encode(cacheKey, 1<<20))
	}
}

// sealed returns a cache with the checksum of what it holds.
func sealed(cache []byte) []byte {
	at := bytes.IndexByte(cache, '\n') + 1
	if at == 0 || len(cache) < at+64 {
		return cache
	}
	sum := sha256.Sum256(cache[at+32:])
	return append(append(slices.Clone(cache[:at]), sum[:]...), cache[at+32:]...)
}

// TestCopiedTree puts a copy in the place of a tree, with the stats that a copy can keep.
func TestCopiedTree(t *testing.T) {
	root := tree(t, "a", "b")
	cache := cacheOf(t, root, later)
	must(t, os.Rename(root, root+".old"))
	if out, err := exec.Command("cp", "-a", root+".old", root).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	_, files := restart(t, root, cache, later)
	wantFiles(t, files, "a/SKILL.md", "b/SKILL.md")

	must(t, os.RemoveAll(root))
	mkdir(t, root)
	for _, dir := range []string{"a", "b"} { // the same inodes below another root
		must(t, os.Rename(filepath.Join(root+".old", dir), filepath.Join(root, dir)))
	}
	_, files = restart(t, root, cache, later)
	wantFiles(t, files, "a/SKILL.md", "b/SKILL.md")
}

// TestTimesWithoutFraction has the times that images of file systems have.
func TestTimesWithoutFraction(t *testing.T) {
	for _, ctime := range []int64{1e9, 5e9} {
		if loader.Identifies(ctime) || !loader.Identifies(ctime+1) {
			t.Errorf("ctime %d", ctime)
		}
	}
}

func FuzzRestore(f *testing.F) {
	root := filepath.Join(f.TempDir(), "skills")
	writeSkill(f, root, "a", "---\nname: a\ndescription: d\ntags: [a, b]\nversion: x\n---\n")
	cache := cacheOf(f, root, later)
	body := cache[bytes.IndexByte(cache, '\n')+65:]
	f.Add(body)
	f.Add(body[:len(body)/2])
	f.Add(binary.AppendUvarint(slices.Clone(body[:12]), 1<<63))
	f.Fuzz(func(t *testing.T, fuzzed []byte) {
		l := loader.New(loader.Options{Rules: rulesFor(root)})
		l.SetClock(later)
		l.Restore(sealed(append(slices.Clone(cache[:len(cache)-len(body)]), fuzzed...)), cacheKey)
		load(t, l, pannier.Batch{Full: true})
	})
}
