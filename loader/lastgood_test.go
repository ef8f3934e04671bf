package loader_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pannier"
	"pannier/loader"
)

const broken = "---\nname: N\ntags: [never\n---\nbody\n"

func TestLastGood(t *testing.T) {
	breakages := map[string]func(t *testing.T, path string){
		"text":          func(t *testing.T, path string) { write(t, path, broken) },
		"empty":         func(t *testing.T, path string) { write(t, path, "") },
		"directory":     func(t *testing.T, path string) { remove(t, path); mkdir(t, path) },
		"dangling link": func(t *testing.T, path string) { remove(t, path); link(t, "nowhere", path) },
	}
	for name, damage := range breakages {
		t.Run(name, func(t *testing.T) {
			root := tree(t, "a")
			dir := filepath.Join(root, "a")
			path := filepath.Join(dir, "SKILL.md")
			l := loader.New(loader.Options{Rules: rulesFor(root)})
			look := pannier.Batch{Dirs: []string{dir}}
			before := only(t, load(t, l, pannier.Batch{Full: true}))

			damage(t, path)
			held := only(t, load(t, l, look))
			if !held.LastGood || held.Broken || len(held.Problems) == 0 || held.Problems[0].Severity != pannier.SeverityError || held.Problems[0].Hint == "" {
				t.Fatalf("%+v", held)
			}
			if name == "text" && held.Problems[0].Line != 3 {
				t.Errorf("told %v", held.Problems[0])
			}
			same := cmpopts.IgnoreFields(pannier.Skill{}, "LastGood", "Problems", "FileDigest", "Sum")
			if diff := cmp.Diff(before, held, same); diff != "" || held.FileDigest == before.FileDigest || held.Sum == before.Sum {
				t.Errorf("what is held is not as it was: %s", diff)
			}
			if _, err := l.Read(t.Context(), held); err == nil {
				t.Error("what is held can be read")
			}
			if again := only(t, load(t, l, pannier.Batch{Full: true})); again != held {
				t.Error("another look at the same makes another skill")
			}

			remove(t, path)
			write(t, path, good("mended"))
			mended := only(t, load(t, l, look))
			if mended.LastGood || mended.Broken || mended.Description != "mended" || mended.FileDigest != mended.Digest || len(mended.Problems) > 0 {
				t.Errorf("%+v", mended)
			}
		})
	}
}

func TestBrokenFromTheStart(t *testing.T) {
	root := tree(t, "b")
	writeSkill(t, root, "a", broken)
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	c := load(t, l, pannier.Batch{Full: true})
	if a, b := c.Skills[0], c.Skills[1]; !a.Broken || a.LastGood || b.Broken || a.Digest != pannier.DigestOf([]byte(broken)) {
		t.Errorf("%+v\n%+v", a, b)
	}

	// What was gone comes back as what it is.
	path := filepath.Join(root, "b/SKILL.md")
	remove(t, path)
	wantPaths(t, load(t, l, pannier.Batch{Dirs: []string{filepath.Dir(path)}}), "a")
	write(t, path, broken)
	c = load(t, l, pannier.Batch{Dirs: []string{filepath.Dir(path)}})
	if b := c.Skills[1]; !b.Broken || b.LastGood {
		t.Errorf("%+v", b)
	}
}

func TestMetaFileFaultsShowAndGo(t *testing.T) {
	root := tree(t, "a")
	meta := filepath.Join(root, "a/_meta.json")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	look := pannier.Batch{Dirs: []string{filepath.Join(root, "a")}}
	before := only(t, load(t, l, pannier.Batch{Full: true}))
	mkdir(t, meta) // neither what is there nor what is not has a digest
	wantCodes(t, only(t, load(t, l, look)).Problems, "meta.unreadable")
	remove(t, meta)
	after := only(t, load(t, l, look))
	wantCodes(t, after.Problems)
	if after.Sum != before.Sum {
		t.Error("the same skill has another sum")
	}
}

// opened records which files a loader opens.
type opened struct {
	mu    sync.Mutex
	files []string
}

func record(l *loader.Loader) *opened {
	o := &opened{}
	l.OnOpen(func(rel string) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.files = append(o.files, rel)
	})
	return o
}

func (o *opened) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	files := o.files
	o.files = nil
	slices.Sort(files)
	return files
}

func TestUnchangedFilesAreNotOpened(t *testing.T) {
	root := tree(t, "a", "g/b", "c")
	write(t, filepath.Join(root, "c/_meta.json"), "{}")
	writeSkill(t, root, "bad", broken)
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	o := record(l)
	before := load(t, l, pannier.Batch{Full: true})
	if diff := cmp.Diff([]string{"a/SKILL.md", "bad/SKILL.md", "c/SKILL.md", "c/_meta.json", "g/b/SKILL.md"}, o.take()); diff != "" {
		t.Errorf("opened at first: want -, got +:\n%s", diff)
	}
	after := load(t, l, pannier.Batch{Full: true})
	if files := o.take(); len(files) > 0 || !slices.Equal(before.Skills, after.Skills) {
		t.Errorf("opened without need: %q", files)
	}
	write(t, filepath.Join(root, "c/_meta.json"), `{"slug":"s"}`)
	load(t, l, pannier.Batch{Full: true})
	if diff := cmp.Diff([]string{"c/SKILL.md", "c/_meta.json"}, o.take()); diff != "" {
		t.Errorf("opened for one change: want -, got +:\n%s", diff)
	}
	load(t, l, pannier.Batch{Dirs: []string{filepath.Join(root, "a/scripts")}})
	if files := o.take(); len(files) > 0 {
		t.Errorf("opened for a change beside: %q", files)
	}
}

func TestYoungFilesAreOpenedAgain(t *testing.T) {
	root := tree(t, "a")
	path := filepath.Join(root, "a/SKILL.md")
	now := time.Now()
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.SetClock(func() time.Time { return now })
	o := record(l)
	load(t, l, pannier.Batch{Full: true})
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, good("e")) // of the same size
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if s := only(t, load(t, l, pannier.Batch{Full: true})); s.Description != "e" {
		t.Errorf("description %q", s.Description)
	}
	now = now.Add(1500 * time.Millisecond) // there are file systems whose clock counts whole seconds, and two at a time
	load(t, l, pannier.Batch{Full: true})
	o.take()
	load(t, l, pannier.Batch{Full: true})
	if files := o.take(); len(files) != 1 {
		t.Errorf("opened %q, although the file is young", files)
	}
	now = now.Add(3 * time.Second) // the last look within which the stat proves nothing
	load(t, l, pannier.Batch{Full: true})
	if files := o.take(); len(files) != 1 {
		t.Errorf("opened %q", files)
	}
	load(t, l, pannier.Batch{Full: true})
	if files := o.take(); len(files) != 0 {
		t.Errorf("opened %q", files)
	}
}

func TestChangeWhileReading(t *testing.T) {
	root := tree(t, "a")
	path := filepath.Join(root, "a/SKILL.md")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	times := 0
	l.OnOpen(func(string) {
		if times++; times == 1 {
			write(t, path, good("a much longer description"))
		}
	})
	if s := only(t, load(t, l, pannier.Batch{Full: true})); s.Description != "a much longer description" || times != 2 {
		t.Errorf("description %q after %d looks", s.Description, times)
	}
	grows := func(string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, string(text)+"x")
	}
	l.OnOpen(grows)
	grows("")
	load(t, l, pannier.Batch{Full: true})
	l.OnOpen(nil)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := only(t, load(t, l, pannier.Batch{Full: true})); s.Digest != pannier.DigestOf(text) {
		t.Error("what never stood still is not looked at again")
	}
}
