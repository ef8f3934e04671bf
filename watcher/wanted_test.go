package watcher_test

import (
	"path/filepath"
	"strings"
	"testing"

	"pannier"
	"pannier/watcher"
)

// far is a watcher whose consumer wants q/r, which lies in a directory that is on the way to no place.
type far struct {
	*live
	base, dir string
}

// inFar runs a test with q/r there or not, and with other directories made beside q.
func inFar(t *testing.T, there bool, test func(t *testing.T, f far)) {
	t.Helper()
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		f := far{base: realDir(t)}
		f.dir = filepath.Join(f.base, "q", "r")
		if there {
			mkdir(t, f.dir)
		}
		mkdir(t, filepath.Join(f.base, "n", "r"))
		f.live = run(t, mode, rules(workspace, root))
		f.Watch(pannier.WatchSet{Version: 1, Dirs: []string{root, f.dir}})
		f.untilDirty(f.dir)
		f.fence(workspace)
		test(t, f)
		f.fence(workspace)
		writer(t, "mkdir "+f.dir, "write "+f.dir+"/last")
		f.untilSeen(f.dir + "/last")
		f.fence(workspace)
		writer(t, "write "+f.dir+"/last")
		f.untilDirty(f.dir)
	})
}

// change runs commands in which @ stands for the base, and waits until they are told of.
func (f far) change(t *testing.T, script ...string) {
	t.Helper()
	f.forget()
	f.script(t, script...)
	f.untilDirty(f.dir)
}

func (f far) script(t *testing.T, script ...string) {
	t.Helper()
	for i := range script {
		script[i] = strings.ReplaceAll(script[i], "@", f.base)
	}
	writer(t, script...)
}

func TestWantedDirectoryIsSwappedAtOnce(t *testing.T) {
	inFar(t, true, func(t *testing.T, f far) {
		f.change(t, "mv @/q @/old", "mv @/n @/q")
		f.change(t, "write @/q/r/b.md")
		f.change(t, "mv @/q/r @/q/old", "mv @/old/r @/q/r")
		f.change(t, "write @/q/r/b.md")
	})
}

func TestWantedDirectoryGoesAndComesBack(t *testing.T) {
	inFar(t, true, func(t *testing.T, f far) {
		for _, dir := range []string{"@/q", "@/q/r"} {
			f.change(t, "mv "+dir+" @/away")
			f.change(t, "mv @/away "+dir)
			f.change(t, "write @/q/r/b.md")
			f.change(t, "rm "+dir)
			f.change(t, "mkdir @/q/r", "write @/q/r/b.md")
		}
	})
}

func TestWantedDirectoryIsBackAtOnce(t *testing.T) {
	inFar(t, true, func(t *testing.T, f far) {
		for range 10 {
			f.script(t, "mv @/q @/q2", "mv @/q2 @/q")
			f.change(t, "over @/q/r/b.md")
		}
	})
}

func TestWantedDirectoryWhoseParentsComeOneByOne(t *testing.T) {
	inFar(t, false, func(t *testing.T, f far) {
		f.script(t, "mkdir @/q")
		f.change(t, "mkdir @/q/r")
		f.change(t, "write @/q/r/b.md")
		f.change(t, "rm @/q")
		f.change(t, "mkdir @/q/r", "write @/q/r/b.md")
	})
}

func TestWantedDirectoryBehindALinkThatIsTurned(t *testing.T) {
	inFar(t, false, func(t *testing.T, f far) {
		f.change(t, "mkdir @/v1/r", "mkdir @/v2/r", "link v1 @/q")
		f.change(t, "write @/v1/r/b.md")
		f.change(t, "relink v2 @/q")
		f.change(t, "write @/v2/r/b.md")
		f.change(t, "rm @/v2")
		f.change(t, "mkdir @/v2/r", "write @/v2/r/b.md")
	})
}

func TestWantedDirectoryInTheWorkspace(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		f := far{base: workspace, dir: filepath.Join(workspace, "q", "r")}
		mkdir(t, f.dir)
		mkdir(t, filepath.Join(workspace, "n", "r"))
		f.live = run(t, mode, rules(workspace, root))
		set := pannier.WatchSet{Version: 1, Dirs: []string{root, f.dir}, Entries: []string{"q"}}
		f.Watch(set)
		f.untilDirty(f.dir)
		f.fence(workspace)
		f.script(t, "mv @/q @/old", "mv @/n @/q")
		f.untilDirty(workspace)
		f.Watch(set)
		f.fence(workspace)
		f.change(t, "write @/q/r/b.md")
	})
}

// TestWaysToWhatIsWanted shows what is watched besides, and that no more is left than there was.
func TestWaysToWhatIsWanted(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		l := run(t, mode, rules(workspace, root))
		before := l.Health().Watches
		set := pannier.WatchSet{Version: 1, Dirs: []string{root}}
		for _, name := range []string{"store/a/one", "store/a/two", "store/b/three", "missing/far/below", "missing/too"} {
			set.Dirs = append(set.Dirs, filepath.Join(workspace, name))
		}
		writer(t, "mkdir "+set.Dirs[1], "mkdir "+set.Dirs[2], "mkdir "+set.Dirs[3])
		l.Watch(set)
		l.untilDirty(set.Dirs[3])
		l.fence(workspace)
		want := before + 3
		if mode == watcher.Auto {
			want += 3 // store, a and b
		}
		if h := l.Health(); h.Watches != want || h.Problem != "" {
			t.Errorf("health %+v, want %d watches", h, want)
		}
		l.Watch(pannier.WatchSet{Version: 2, Dirs: []string{root}})
		l.fence(workspace)
		if h := l.Health(); h.Watches != before {
			t.Errorf("%d watches, want the surplus ones dropped and %d left", h.Watches, before)
		}
	})
}

// TestTargetOfLinksIsTurned has a directory that links of a root may lead into come, go and be another one by the links on its
// own way, while no link leads there.
func TestTargetOfLinksIsTurned(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		base := realDir(t)
		writer(t, "mkdir "+base+"/v1/busy", "mkdir "+base+"/v2", "mkdir "+base+"/in")
		target := filepath.Join(base, "in", "store")
		r := rules(workspace, root)
		r.Roots[0].LinkTargets = []string{target, filepath.Join(base, "v1")}
		l := run(t, mode, r)
		l.fence(workspace)
		for _, script := range [][]string{
			{"link ../v1 " + target},
			{"relink ../v2 " + target},
			{"rm " + target},
			{"mkdir " + target},
			{"mv " + base + "/in " + base + "/away"},
			{"mv " + base + "/away " + base + "/in"},
		} {
			writer(t, script...)
			l.untilDirty(target)
			l.fence(workspace)
		}
		writer(t, "write "+base+"/v1/note", "write "+base+"/v1/busy/note", "write "+base+"/in/note", "write "+target+"/note")
		if told := l.fence(workspace); len(told) != 1 {
			t.Errorf("told of %v, want nothing of what is in the targets and beside them", told)
		}
		if h := l.Health(); h.Mode != usual(mode) || h.Problem != "" {
			t.Errorf("health %+v", h)
		}
	})
}

// TestMissingDirectoryAmongOthers wants what is not there: of the directory in which it would come nothing else counts.
func TestMissingDirectoryAmongOthers(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		base := realDir(t)
		l := run(t, mode, rules(workspace, root))
		l.Watch(pannier.WatchSet{Version: 1, Dirs: []string{root, base + "/none"}})
		l.fence(workspace)
		writer(t, "write "+base+"/busy", "mkdir "+base+"/other", "write "+base+"/other/busy", "rm "+base+"/busy")
		if told := l.fence(workspace); len(told) != 1 {
			t.Errorf("told of %v, want nothing of what is beside it", told)
		}
		writer(t, "link other "+base+"/none")
		l.untilDirty(base + "/none")
	})
}
