package watcher_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/fsnotify/fsnotify"

	"pannier"
	"pannier/watcher"
)

func TestNewDirectoriesAreSeenWithTheirFiles(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		l := run(t, mode, rules(workspace, root))
		const n = 300
		writer(t, fmt.Sprintf("skills %s %d", root, n))
		var want []string
		for i := range n {
			want = append(want, filepath.Join(root, fmt.Sprintf("skill-%d", i), "SKILL.md"))
		}
		l.untilSeen(want...)
	})
}

func TestNewTreesAreSeenToTheirLeaves(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		l := run(t, mode, rules(workspace, root))
		const n = 50
		writer(t, fmt.Sprintf("deep %s %d", root, n))
		var want []string
		for i := range n {
			want = append(want, filepath.Join(root, fmt.Sprintf("top-%d", i), "b", "c", "d", "e", "SKILL.md"))
		}
		l.untilSeen(want...)
	})
}

func TestRootRemovedAndMadeAgain(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		for _, place := range []string{"skills", "a/b/skills"} {
			t.Run(place, func(t *testing.T) {
				workspace := realDir(t)
				root := filepath.Join(workspace, place)
				mkdir(t, filepath.Join(root, "one"))
				l := run(t, mode, rules(workspace, root))
				for range 10 {
					writer(t, "rm "+root, "mkdir "+root+"/one", "write "+root+"/one/SKILL.md")
					l.until("a batch of the root", func() bool { // a new directory can have the inode number of the old one
						return l.full || mode == watcher.Poll && (l.dirs[root] || l.dirs[root+"/one"])
					})
					l.fence(workspace)
					writer(t, "over "+root+"/one/SKILL.md")
					l.untilDirty(filepath.Join(root, "one"))
				}
			})
		}
	})
}

func TestRootReplacedByAnother(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		l := run(t, mode, rules(workspace, root))
		for i := range 10 {
			next := filepath.Join(workspace, fmt.Sprintf("next-%d", i))
			writer(t, "mkdir "+next+"/one",
				"mv "+root+" "+filepath.Join(workspace, fmt.Sprintf("old-%d", i)), "mv "+next+" "+root)
			l.until("a full batch", func() bool { return l.full })
			l.fence(workspace)
			writer(t, "write "+root+"/one/SKILL.md")
			l.untilDirty(filepath.Join(root, "one"))
		}
	})
}

func TestMissingRootAppears(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace := realDir(t)
		root := filepath.Join(workspace, "a", "b", "skills")
		l := run(t, mode, rules(workspace, root))
		if h := l.Health(); h.Mode != usual(mode) || len(h.Roots) != 0 {
			t.Errorf("health %+v, want no problem with a missing root", h)
		}
		writer(t, "mkdir "+root+"/one", "write "+root+"/one/SKILL.md")
		l.until("a full batch", func() bool { return l.full })
		l.fence(workspace)
		writer(t, "write "+root+"/one/SKILL.md")
		l.untilDirty(filepath.Join(root, "one"))
	})
}

func TestRootBehindLinkThatIsTurned(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace := realDir(t)
		for _, dir := range []string{"v1/one", "v2/one"} {
			mkdir(t, filepath.Join(workspace, dir))
		}
		root := filepath.Join(workspace, "skills")
		writer(t, "link v1 "+root)
		l := run(t, mode, rules(workspace, root))
		writer(t, "write "+workspace+"/v1/one/SKILL.md")
		l.untilDirty(filepath.Join(root, "one"))
		writer(t, "relink v2 "+root)
		l.until("a full batch", func() bool { return l.full })
		l.fence(workspace)
		writer(t, "write "+workspace+"/v2/one/SKILL.md")
		l.untilDirty(filepath.Join(root, "one"))
	})
}

func TestTwoRootsThatAreOneDirectory(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		mkdir(t, filepath.Join(root, "one"))
		mkdir(t, filepath.Join(workspace, ".agent"))
		link := filepath.Join(workspace, ".agent", "skills")
		writer(t, "link ../skills "+link)
		l := run(t, mode, rules(workspace, link, root))
		writer(t, "write "+root+"/one/SKILL.md")
		l.untilDirty(filepath.Join(root, "one"))
		l.untilDirty(filepath.Join(link, "one"))
	})
}

func TestRenamedDirectoryStaysWatched(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		mkdir(t, filepath.Join(root, "name-0", "deep", "leaf"))
		l := run(t, mode, rules(workspace, root))
		for i := range 30 {
			from, to := filepath.Join(root, fmt.Sprintf("name-%d", i)), filepath.Join(root, fmt.Sprintf("name-%d", i+1))
			writer(t, "mv "+from+" "+to)
			l.fence(workspace)
			writer(t, "write "+to+"/deep/leaf/SKILL.md")
			l.untilDirty(filepath.Join(to, "deep", "leaf"))
			writer(t, "rm "+to+"/deep/leaf/SKILL.md")
		}
	})
}

func TestDirectoryReplacedAgainAndAgain(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		one := filepath.Join(root, "one")
		l := run(t, mode, rules(workspace, root))
		var script []string
		for range 100 {
			script = append(script, "mkdir "+one+"/sub", "write "+one+"/SKILL.md", "mv "+one+" "+root+"/old", "rm "+root+"/old")
		}
		writer(t, append(script, "mkdir "+one)...)
		l.fence(workspace)
		writer(t, "write "+one+"/SKILL.md")
		l.untilDirty(one)
	})
}

// TestChurn checks that after any sequence of changes exactly the directories that are there are watched.
func TestChurn(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		for seed := range 8 {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				workspace, root := workspaceWithRoot(t)
				deep := rules(workspace, root)
				deep.MaxDepth = 100
				l := run(t, mode, deep)
				writer(t, fmt.Sprintf("churn %s %d 2000", root, seed))
				l.fence(workspace)
				l.fence(workspace)
				dirs := directories(t, root)
				l.until("a watch for each directory and the workspace", func() bool {
					h := l.Health()
					return h.Watches == 1+len(dirs) && h.Mode == usual(mode)
				})
				writer(t, "touch "+root)
				for _, dir := range dirs {
					l.untilDirty(dir)
				}
			})
		}
	})
}

func directories(t *testing.T, root string) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func TestFileReplacedByRename(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		one := filepath.Join(root, "one")
		mkdir(t, one)
		l := run(t, mode, rules(workspace, root))
		for range 3 {
			l.forget()
			writer(t, "over "+one+"/SKILL.md")
			l.untilDirty(one)
		}
	})
}

func TestSkillThatBecomesADirectory(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		one := filepath.Join(root, "one")
		mkdir(t, filepath.Join(one, "two"))
		writer(t, "write "+one+"/SKILL.md")
		l := run(t, mode, rules(workspace, root))
		writer(t, "write "+one+"/two/SKILL.md")
		if told := l.fence(workspace); told[filepath.Join(one, "two")] {
			t.Error("a directory below a skill is watched")
		}
		writer(t, "rm "+one+"/SKILL.md")
		l.untilDirty(filepath.Join(one, "two"))
		l.forget()
		writer(t, "over "+one+"/two/SKILL.md")
		l.untilDirty(filepath.Join(one, "two"))
	})
}

func TestSkippedDirectories(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		hidden, modules := filepath.Join(root, ".hidden"), filepath.Join(root, "node_modules")
		mkdir(t, filepath.Join(modules, "some"))
		l := run(t, mode, rules(workspace, root))
		writer(t, "write "+modules+"/some/SKILL.md", "write "+modules+"/other.md")
		writer(t, "mkdir "+hidden)
		l.until("a batch with the entry, or with its directory where that is polled", func() bool { return l.dirs[hidden] || l.dirs[root] })
		if told := l.fence(workspace); told[modules] || told[filepath.Join(modules, "some")] {
			t.Errorf("told of %v: a skipped directory counts", told)
		}
		writer(t, "write "+hidden+"/SKILL.md")
		l.untilDirty(hidden)
		l.fence(workspace)
		writer(t, "write "+hidden+"/_meta.json")
		l.untilDirty(hidden)
	})
}

func TestWorkspaceConfigurationCounts(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		l := run(t, mode, rules(workspace, root))
		writer(t, "over "+workspace+"/"+pannier.WorkspaceFile)
		l.untilDirty(workspace)
		l.forget()
		writer(t, "link build "+workspace+"/..data")
		l.untilDirty(workspace)
	})
}

func TestLinkInRootIsTurned(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		first, second := realDir(t), realDir(t)
		link := filepath.Join(root, "linked")
		writer(t, "link "+first+" "+link)
		l := run(t, mode, rules(workspace, root))
		l.Watch(pannier.WatchSet{Version: 1, Dirs: []string{root, link}})
		l.untilDirty(link)
		writer(t, "relink "+second+" "+link)
		l.fence(workspace)
		writer(t, "write "+second+"/SKILL.md")
		l.untilDirty(link)
	})
}

func TestSkippedDirectoryThatTheConsumerWants(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		own := filepath.Join(root, ".own")
		writer(t, "mkdir "+own)
		l := run(t, mode, rules(workspace, root))
		l.Watch(pannier.WatchSet{Version: 1, Dirs: []string{root, own}})
		l.untilDirty(own)
		l.fence(workspace)
		writer(t, "write "+own+"/lock.json")
		l.untilDirty(own)

		l.Watch(pannier.WatchSet{Version: 2, Dirs: []string{root}})
		l.fence(workspace)
		writer(t, "write "+own+"/SKILL.md") // whether it is a skill counts as before
		l.untilDirty(own)
	})
}

func TestWatchArmsWhatTheConsumerWants(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		target := realDir(t)
		link := filepath.Join(root, "linked")
		writer(t, "link "+target+" "+link)
		l := run(t, mode, rules(workspace, root))
		before := l.Health().Watches

		set := pannier.WatchSet{Version: 1, Dirs: []string{root, link, target}}
		l.Watch(set)
		l.untilDirty(target)
		l.untilDirty(link)
		l.fence(workspace)
		l.Watch(set)
		writer(t, "write "+target+"/SKILL.md")
		l.untilDirty(target)
		l.untilDirty(link)

		l.Watch(pannier.WatchSet{Version: 2, Dirs: []string{root}})
		l.fence(workspace)
		if h := l.Health(); h.Watches != before {
			t.Errorf("%d watches, want the surplus one dropped and %d left", h.Watches, before)
		}
	})
}

// dam is a backend that holds events back, so that the kernel's queue runs over.
type dam struct {
	watcher.Backend
	events chan fsnotify.Event
}

func newDam(b watcher.Backend, flood <-chan struct{}) dam {
	d := dam{b, make(chan fsnotify.Event)}
	go func() {
		defer close(d.events)
		<-flood
		for e := range b.Events() {
			d.events <- e // the watcher reads until this is closed
		}
	}()
	return d
}

func (d dam) Events() <-chan fsnotify.Event { return d.events }

func TestOverflowOfTheKernelsQueue(t *testing.T) {
	workspace, root := workspaceWithRoot(t)
	flood := make(chan struct{})
	opened := 0
	l := runWith(t, liveOptions(t, watcher.Auto, rules(workspace, root)), func() (watcher.Backend, error) {
		b, err := watcher.OpenNotify()
		if opened++; opened > 1 || err != nil {
			return b, err
		}
		return newDam(b, flood), nil
	})
	writer(t, fmt.Sprintf("storm %s 20000", root), "mkdir "+root+"/last", "write "+root+"/last/SKILL.md")
	close(flood)
	l.until("a batch of the overflow", func() bool { return l.why[pannier.TriggerOverflow] })
	l.fence(workspace)
	writer(t, "over "+root+"/last/SKILL.md")
	l.untilDirty(filepath.Join(root, "last"))
}

func TestUnreadableDirectory(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		if os.Getuid() == 0 {
			t.Skip("root reads every directory")
		}
		workspace, root := workspaceWithRoot(t)
		shut := filepath.Join(root, "shut")
		mkdir(t, shut)
		if err := os.Chmod(shut, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(shut, 0o755) })
		l := run(t, mode, rules(workspace, root))
		want := map[watcher.Mode]string{watcher.Auto: "inotify+poll", watcher.Poll: "poll"}[mode]
		if h := l.Health(); h.Mode != want || len(h.Reasons) != 1 || !containsAll(h.Problem, shut, "permission denied") {
			t.Errorf("health %+v, want mode %s, and to be told of %s", h, want, shut)
		}
		if err := os.Chmod(shut, 0o755); err != nil {
			t.Fatal(err)
		}
		l.untilDirty(shut)
		if h := l.untilMode(usual(mode)); h.Problem != "" {
			t.Errorf("health %+v, want it mended", h)
		}
	})
}
