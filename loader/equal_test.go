package loader_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader"
)

// TestIncrementalEqualsFull changes trees at random and looks only where something changed. What the loader then knows
// must be what another one finds that looks at everything for the first time.
func TestIncrementalEqualsFull(t *testing.T) {
	sequences := 300
	if testing.Short() {
		sequences = 40
	}
	for _, clock := range []struct {
		name  string
		ahead time.Duration
		every int
	}{
		{"racy", 0, 1},            // every stat is too young to prove anything
		{"settled", time.Hour, 3}, // every stat proves what it can
	} {
		t.Run(clock.name, func(t *testing.T) {
			tools := 0
			for seed := range uint64(sequences / clock.every) {
				d := newDisk(t, seed)
				d.spin, d.byEntry = clock.ahead > 0, seed%2 == 1
				if !d.compare(func() time.Time { return time.Now().Add(clock.ahead) }) {
					t.Fatalf("seed %d:\n%s", seed, strings.Join(d.log, "\n"))
				}
				tools += d.tools
			}
			if tools == 0 {
				t.Error("there never was a skill of tools only")
			}
		})
	}
}

// disk is a small tree that changes at random.
type disk struct {
	t     *testing.T
	rand  *rand.Rand
	root  string
	dirty map[string]bool // the directories that a watcher would tell of
	log   []string
	spin  bool
	tools int // how many skills of tools only were seen
	// byEntry has a directory that comes, goes or is replaced told of by its own path instead of that of the one around it.
	byEntry bool
}

func newDisk(t *testing.T, seed uint64) *disk {
	root := filepath.Join(t.TempDir(), "skills")
	mkdir(t, root)
	writeSkill(t, filepath.Dir(root), "outside", good("outside"))
	return &disk{t: t, rand: rand.New(rand.NewPCG(seed, 1)), root: root, dirty: map[string]bool{}}
}

func (d *disk) compare(now func() time.Time) bool {
	l := loader.New(loader.Options{Rules: rulesFor(d.root)})
	l.SetClock(now)
	load(d.t, l, pannier.Batch{Full: true})
	var cache []byte
	for range 8 {
		if p := l.Parsed(); p != nil {
			cache = p.Encode(cacheKey, 1<<20)
		}
		d.tick()
		var before map[string]fsx.Stamp
		if d.byEntry {
			before = d.stamps()
		}
		for range 1 + d.rand.IntN(5) {
			d.change()
		}
		if d.byEntry {
			d.dirty = changedEntries(before, d.stamps())
		}
		batch := pannier.Batch{}
		for dir := range d.dirty {
			batch.Dirs = append(batch.Dirs, dir)
		}
		clear(d.dirty)
		slices.Sort(batch.Dirs)
		d.log = append(d.log, "-- look at "+strings.ReplaceAll(strings.Join(batch.Dirs, " "), d.root, "."))
		if !d.same(load(d.t, l, batch), "incremental") {
			return false
		}
		restarted := loader.New(loader.Options{Rules: rulesFor(d.root)})
		restarted.SetClock(now)
		restarted.Restore(cache, cacheKey)
		if !d.same(load(d.t, restarted, pannier.Batch{Full: true}), "restored") {
			return false
		}
	}
	return d.same(load(d.t, l, pannier.Batch{Full: true}), "full")
}

// stamps returns the inode and the mode of each directory of the tree, and the stamps of everything else.
func (d *disk) stamps() map[string]fsx.Stamp {
	stamps := map[string]fsx.Stamp{}
	err := filepath.WalkDir(filepath.Dir(d.root), func(path string, _ os.DirEntry, err error) error {
		st, _ := fsx.Lstat(path)
		if st.IsDir() {
			st = fsx.Stamp{FileID: st.FileID, Mode: st.Mode}
		}
		stamps[path] = st
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return stamps
}

// changedEntries returns what to tell of: a directory that came, went or changed itself, and otherwise the directory around a change.
func changedEntries(before, after map[string]fsx.Stamp) map[string]bool {
	isDirOrNone := func(st fsx.Stamp) bool { return st.IsDir() || st == fsx.Stamp{} }
	dirty := map[string]bool{}
	for _, stamps := range []map[string]fsx.Stamp{before, after} {
		for path := range stamps {
			switch {
			case before[path] == after[path]:
			case isDirOrNone(before[path]) && isDirOrNone(after[path]):
				dirty[path] = true
			default:
				dirty[filepath.Dir(path)] = true
			}
		}
	}
	return dirty
}

// same compares a catalog with that of a loader that knows nothing yet, and with a walk of its own.
func (d *disk) same(got pannier.Catalog, what string) bool {
	d.t.Helper()
	want := full(d.t, d.root)
	for i, s := range got.Skills {
		if s.LastGood && i < len(want.Skills) {
			if w := want.Skills[i]; !w.Broken || !cmp.Equal(w.Problems, s.Problems) || w.Path != s.Path || w.FileDigest != s.FileDigest || w.MetaFileDigest != s.MetaFileDigest {
				d.t.Errorf("%s: %s is held, and the disk says\n%+v", what, s.Path, w)
				return false
			}
			got.Skills[i] = want.Skills[i]
		}
	}
	got.Watch.Version = want.Watch.Version
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("%s: want -, got +:\n%s", what, diff)
		return false
	}
	if walked := walkDigest(d.root); pannier.TreeDigest(got.Skills) != walked {
		d.t.Errorf("%s: an independent walk has another digest", what)
		return false
	}
	tools := []string{}
	for _, s := range got.Skills {
		if s.ToolsOnly {
			tools = append(tools, s.PathBelowRoot)
		}
	}
	if diff := cmp.Diff(walkTools(d.root), tools); diff != "" {
		d.t.Errorf("%s: an independent walk finds other tools: want -, got +:\n%s", what, diff)
		return false
	}
	d.tools += len(tools)
	return true
}

// tick waits for the clock of the file system to move on, so that no change has the stat of an earlier one.
func (d *disk) tick() {
	probe := filepath.Join(d.root, "../probe")
	write(d.t, probe, "")
	for first := int64(0); d.spin; {
		now := time.Now()
		if err := os.Chtimes(probe, now, now); err != nil {
			d.t.Fatal(err)
		}
		info, err := os.Stat(probe)
		if err != nil {
			d.t.Fatal(err)
		}
		switch ctime := info.Sys().(*syscall.Stat_t).Ctim.Nano(); {
		case first == 0:
			first = ctime
		case ctime > first+int64(5*time.Millisecond):
			return
		}
	}
}

var (
	dirNames  = []string{"a", "b", "c", ".d", "node_modules", "tools"}
	fileNames = []string{"SKILL.md", "SKILL.md", "SKILL.md", "_meta.json", "skill.md", "notes.txt", "run.py"}
	texts     = []string{good("one"), good("two"), "---\nslug: s\ndescription: other\n---\n", "---\nname: [\n---\n", "no frontmatter", ""}
	metas     = []string{`{"slug":"m1"}`, `{"slug":"m2"}`, `{"owner":"o"}`, `{`, `[]`}
)

func pick[T any](d *disk, of []T) T { return of[d.rand.IntN(len(of))] }

// change does one thing to the tree. Some of what is tried is not possible, and then nothing happens.
func (d *disk) change() {
	dir := pick(d, d.dirs())
	name := filepath.Join(dir, pick(d, dirNames))
	file := filepath.Join(dir, pick(d, fileNames))
	var err error
	var did string
	switch d.rand.IntN(18) {
	case 0, 1, 2:
		did, err = "write "+file, d.write(file)
	case 3:
		tmp := filepath.Join(dir, "tmp")
		if err = d.write(tmp); err == nil {
			err = os.Rename(tmp, file)
		}
		did = "rename over " + file
	case 4:
		did, err = "remove "+file, d.removeAll(file)
	case 5, 6:
		deep := filepath.Join(name, pick(d, dirNames), pick(d, dirNames))
		did, err = "mkdir -p "+deep, d.mkdirAll(deep)
	case 7:
		to := filepath.Join(pick(d, d.dirs()), pick(d, dirNames))
		did, err = "mv "+name+" "+to, d.move(name, to)
	case 8:
		did, err = "replace "+name, d.replace(name)
	case 9:
		did, err = "rm -r "+name, d.removeAll(name)
	case 10:
		did, err = "chmod "+file, os.Chmod(file, 0o600|os.FileMode(d.rand.IntN(0o77)))
	case 11:
		did, err = "chmod "+name, os.Chmod(name, 0o700|os.FileMode(d.rand.IntN(0o77)))
		d.dirty[name] = true
	case 12:
		did, err = d.relink(name, pick(d, []string{"a", "../b", "../c/a", "b/../c", "../../outside", "..", "nowhere", ".d"}))
	case 14:
		tool := filepath.Join(d.root, pick(d, dirNames), "tools/run.py")
		did, err = "tool "+tool, d.tool(tool)
	case 15:
		tools := filepath.Join(d.root, pick(d, dirNames), "tools")
		did, err = d.relink(tools, pick(d, []string{"../a/tools", "../b/tools", "../../outside", "..", "nowhere"}))
		d.dirty[filepath.Dir(tools)] = true
	case 16:
		top := filepath.Join(d.root, pick(d, dirNames))
		file := filepath.Join(top, pick(d, []string{"SKILL.md", "skill.md", "b/SKILL.md", "tools/SKILL.md", "tools/run.py"}))
		did, err = "remove "+file, d.removeAll(file)
	case 17:
		own := filepath.Join(d.root, ".pannier")
		d.dirty[own], d.dirty[d.root] = true, true
		did, err = "lock", d.lock(own)
	case 13:
		did, err = d.relink(file, pick(d, []string{"../a/SKILL.md", "../SKILL.md", "notes.txt", "../.d/SKILL.md", "../../outside/SKILL.md", "_meta.json"}))
	}
	d.dirty[dir] = true
	d.log = append(d.log, fmt.Sprint(strings.ReplaceAll(did, d.root, ""), " ", err != nil))
}

// lock writes a sound lock file, or removes it: what a loader believes of a torn one, another cannot know.
func (d *disk) lock(own string) error {
	if d.rand.IntN(4) == 0 {
		return os.RemoveAll(own)
	}
	if err := os.MkdirAll(own, 0o755); err != nil {
		return err
	}
	made := filepath.Join(d.root, "../lock")
	level := pick(d, pannier.TrustLevels())
	if err := os.WriteFile(made, []byte(lockOf(pick(d, dirNames)+" "+string(level), "b/c verified", "a community")), 0o644); err != nil {
		return err
	}
	return os.Rename(made, filepath.Join(own, "lock.json"))
}

// tool writes a tool, with the directories that it lies in.
func (d *disk) tool(path string) error {
	for dir := filepath.Dir(path); len(dir) >= len(d.root); dir = filepath.Dir(dir) {
		d.dirty[dir] = true
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err != nil || real != filepath.Dir(path) {
		d.dirty[real] = true
		return err
	}
	return d.write(path)
}

// dirs returns the directories of the tree, without those that links lead to.
func (d *disk) dirs() []string {
	var dirs []string
	err := filepath.WalkDir(d.root, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() && strings.Count(path, "/") < strings.Count(d.root, "/")+5 {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return dirs
}

// write writes to a file, in place where there is one. It never writes through a link.
func (d *disk) write(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return os.ErrExist
	}
	text := pick(d, texts)
	if filepath.Base(path) == pannier.MetaFile {
		text = pick(d, metas)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func (d *disk) mkdirAll(path string) error {
	for dir := path; dir != d.root; dir = filepath.Dir(dir) {
		d.dirty[dir], d.dirty[filepath.Dir(dir)] = true, true
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err != nil || real != path {
		d.dirty[real], d.dirty[filepath.Dir(real)], d.dirty[filepath.Dir(filepath.Dir(real))] = true, true, true
		return err
	}
	return d.write(filepath.Join(path, "SKILL.md"))
}

func (d *disk) move(from, to string) error {
	for _, path := range []string{from, to} {
		d.dirty[path], d.dirty[filepath.Dir(path)] = true, true
	}
	return os.Rename(from, to)
}

// removeAll removes what is at path; each directory that goes tells of itself and is told of by the one above.
func (d *disk) removeAll(path string) error {
	d.dirty[filepath.Dir(path)] = true
	_ = filepath.WalkDir(path, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			d.dirty[path] = true
		}
		return nil
	})
	return os.RemoveAll(path)
}

// replace puts another directory, made elsewhere, in the place of one.
func (d *disk) replace(path string) error {
	made := filepath.Join(d.root, "../made")
	if err := os.MkdirAll(filepath.Join(made, "b/c"), 0o755); err != nil {
		return err
	}
	for _, file := range []string{"SKILL.md", "b/SKILL.md", "b/c/SKILL.md"}[d.rand.IntN(3):] {
		if err := d.write(filepath.Join(made, file)); err != nil {
			return err
		}
	}
	if err := d.removeAll(path); err != nil {
		return err
	}
	d.dirty[path] = true
	return os.Rename(made, path)
}

func (d *disk) relink(path, target string) (string, error) {
	did := "link " + path + " to " + target
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink == 0 {
		return did, os.ErrExist
	}
	os.Remove(path)
	return did, os.Symlink(target, path)
}

// walkDigest computes the documented digest of a tree without the loader.
func walkDigest(root string) pannier.Digest {
	lines := walk(root, "", 0, nil)
	slices.Sort(lines)
	h := sha256.New()
	for _, line := range lines {
		fmt.Fprintln(h, line)
	}
	return pannier.Digest(h.Sum(nil))
}

func walk(root, rel string, depth int, above []string) []string {
	dir := filepath.Join(root, rel)
	real, err := filepath.EvalSymlinks(dir)
	entries, _ := os.ReadDir(dir)
	if err != nil || depth > 6 || slices.Contains(above, real) || real != root && !strings.HasPrefix(real, root+"/") {
		return nil
	}
	file := ""
	for _, e := range entries {
		if name := e.Name(); name == "SKILL.md" || file != "SKILL.md" && !e.IsDir() && strings.EqualFold(name, "SKILL.md") {
			file = name
			if name == "SKILL.md" {
				break
			}
		}
	}
	base := filepath.Base(rel)
	skipped := rel != "" && (strings.HasPrefix(base, ".") || base == "node_modules")
	if rel != "" && (file == "SKILL.md" || file != "" && !skipped) {
		return []string{filepath.Base(root) + "/" + rel + "\x00" + hexOf(root, dir+"/"+file) + "\x00" + hexOf(root, dir+"/_meta.json")}
	}
	if skipped {
		return nil
	}
	var lines []string
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.IsDir() {
			lines = append(lines, walk(root, filepath.Join(rel, e.Name()), depth+1, append(above, real))...)
		}
	}
	return lines
}

// hexOf returns the digest of a regular file within the root, in hexadecimal digits.
func hexOf(root, path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !strings.HasPrefix(real, root+"/") {
		return ""
	}
	text, err := os.ReadFile(real)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
