package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pannier"
)

// wholeGenerations checks that no snapshot shows skills of two generations, and that none of them is held or broken.
func wholeGenerations(t *testing.T, seen []pannier.List) {
	t.Helper()
	for _, list := range seen {
		texts := map[string]bool{}
		for _, e := range list.Skills {
			if !e.Deleting {
				texts[e.Description] = true
			}
			if !e.Usable {
				t.Errorf("snapshot %d: %s is %s with %v", list.SnapshotVersion, e.Path, e.State, e.Problems)
			}
		}
		if len(texts) > 1 {
			t.Errorf("snapshot %d is torn: %v", list.SnapshotVersion, texts)
		}
	}
}

// eager makes a sidecar look as often as it can, so that looks fall into the midst of swaps.
var eager = []string{"--settle", "1ms", "--debounce", "1ms"}

// TestFaultVolumeOfARoot swaps a volume that is mounted as a root, in both orders of links and rename.
func TestFaultVolumeOfARoot(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"before", "after"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			root := filepath.Join(w, "skills")
			keys := []any{"pdf/SKILL.md", "docx/SKILL.md", "nested/deep/xlsx/SKILL.md", "pdf/_meta.json"}
			runWriter(t, append([]any{"volume", root, 0, 1, "0s", order}, keys...)...)
			s := startFault(t, w, eager...)
			s.servesSlugs(t, "docx", "pdf", "xlsx")
			end := s.watching(t)
			n := often(100, 200)
			runWriter(t, append([]any{"volume", root, 1, n, "10ms", order}, keys...)...)
			for _, slug := range []string{"docx", "pdf", "xlsx"} {
				s.serves(t, slug, number(n))
			}
			wholeGenerations(t, end())

			// A key comes, one goes, one is renamed.
			runWriter(t, append([]any{"volume", root, n + 1, 1, "0s", order}, append(keys, "new/SKILL.md")...)...)
			s.servesSlugs(t, "docx", "new", "pdf", "xlsx")
			runWriter(t, "volume", root, n+2, 1, "0s", order, "pdf/SKILL.md", "new/SKILL.md")
			s.servesSlugs(t, "new", "pdf")
			runWriter(t, "volume", root, n+3, 1, "0s", order, "pdf/SKILL.md", "newer/SKILL.md")
			s.servesSlugs(t, "newer", "pdf")
			s.serves(t, "newer", number(n+3))
			s.heard(t)
		})
	}
}

// TestFaultSwapOfTheSame swaps a volume for an equal one, and many times in a moment.
func TestFaultSwapOfTheSame(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	root := filepath.Join(w, "skills")
	runWriter(t, "volume", root, 7, 1, "0s", "after", "pdf/SKILL.md", "docx/SKILL.md")
	s := startFault(t, w)
	s.serves(t, "pdf", number(7))
	before := must(s.Skills(t.Context(), "", false))(t)
	for range 3 {
		runWriter(t, "volume", root, 7, 1, "0s", "after", "pdf/SKILL.md", "docx/SKILL.md")
		need(t, s.Rescan(t.Context()))
	}
	after, err := s.Skills(t.Context(), "", false)
	if err != nil || after.SnapshotVersion != before.SnapshotVersion || after.Digest != before.Digest {
		t.Errorf("snapshot %d became %d, %v", before.SnapshotVersion, after.SnapshotVersion, err)
	}
	start := time.Now()
	runWriter(t, "volume", root, 8, 20, "0s", "after", "pdf/SKILL.md", "docx/SKILL.md")
	took := time.Since(start) // a busy machine may stop the writer between two swaps for longer than settle
	s.serves(t, "pdf", number(27))
	last, err := s.Skills(t.Context(), "", false)
	if bound := uint64(2 + took/(50*time.Millisecond)); err != nil || last.SnapshotVersion > before.SnapshotVersion+bound {
		t.Errorf("20 swaps in %v made %d snapshots, %v", took, last.SnapshotVersion-before.SnapshotVersion, err)
	}
	s.heard(t)
}

// TestFaultVolumeOfASkill swaps a volume that is mounted as one skill directory: SKILL.md and _meta.json belong together.
func TestFaultVolumeOfASkill(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	dir := filepath.Join(w, "skills/pdf")
	writeIn(t, w, "mkdir skills/pdf")
	runWriter(t, "volume", dir, 1, 1, "0s", "after", "SKILL.md", "_meta.json")
	s := startFault(t, w, eager...)
	end := s.watching(t)
	n := often(100, 200)
	runWriter(t, "volume", dir, 2, n, "5ms", "after", "SKILL.md", "_meta.json")
	s.serves(t, "pdf", number(n+1))
	for _, list := range end() {
		for _, e := range list.Skills {
			if want := strings.TrimPrefix(e.Description, "number ") + ".0.0"; e.Version != want {
				t.Errorf("snapshot %d: version %s of %q", list.SnapshotVersion, e.Version, e.Description)
			}
		}
	}
	s.heard(t)
}

// TestFaultVolumeOfTheWorkspace swaps a volume that holds config.yaml and the skills: no snapshot mixes them either.
func TestFaultVolumeOfTheWorkspace(t *testing.T) {
	t.Parallel()
	w := t.TempDir()
	keys := []any{"config.yaml", "skills/pdf/SKILL.md", "skills/docx/SKILL.md"}
	runWriter(t, append([]any{"volume", w, 1, 1, "0s", "after"}, keys...)...)
	s := startFault(t, w, eager...)
	s.serves(t, "pdf", number(1))
	end := s.watching(t)
	n := often(50, 200)
	runWriter(t, append([]any{"volume", w, 2, n, "10ms", "after"}, keys...)...)
	s.serves(t, "pdf", number(n+1))
	s.serves(t, "docx", number(n+1))
	card, err := s.Card(t.Context())
	if err != nil || !strings.Contains(string(card), fmt.Sprintf(`"name":"number %d"`, n+1)) {
		t.Errorf("card %s, %v", card, err)
	}
	wholeGenerations(t, end())
	s.heard(t)
}

// TestFaultReadOnlyVolume reads a volume that is mounted read-only, and follows its swaps.
func TestFaultReadOnlyVolume(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, "mkdir volume")
	volume := filepath.Join(w, "volume")
	runWriter(t, "volume", volume, 1, 1, "0s", "after", "pdf/SKILL.md")
	s := startIsolated(t, w, "mount --bind volume skills; mount -o remount,ro,bind skills", "--resync", "0")
	for n := 2; n < 5; n++ {
		runWriter(t, "volume", volume, n, 1, "0s", "after", "pdf/SKILL.md", "docx/SKILL.md")
		s.serves(t, "pdf", number(n))
		s.serves(t, "docx", number(n))
	}
	s.heard(t)
	s.healthy(t)
}

// TestFaultVolumeWhoseFilesComeLate swaps a volume to a directory that is filled only after that, as guests of virtual
// machines may see it: what is missing meanwhile is held, and never gone.
func TestFaultVolumeWhoseFilesComeLate(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	root := filepath.Join(w, "skills")
	runWriter(t, "volume", root, 1, 1, "0s", "after", "pdf/SKILL.md", "docx/SKILL.md")
	s := startFault(t, w, eager...)
	end := s.watching(t)
	s.write(t, `cd skills; old=$(readlink ..data); mkdir ..late; ln -s ..late ..data_tmp; mv -T ..data_tmp ..data
		sleep 0.5; cp -r $old/pdf ..late/; sed -i 's/number 1/number 2/' ..late/pdf/SKILL.md
		sleep 0.5; cp -r $old/docx ..late/; sed -i 's/number 1/number 2/' ..late/docx/SKILL.md; rm -r $old`)
	s.serves(t, "pdf", number(2))
	s.serves(t, "docx", number(2))
	for _, list := range end() {
		if len(list.Skills) != 2 || !list.Skills[0].Usable || !list.Skills[1].Usable {
			t.Errorf("snapshot %d: %+v", list.SnapshotVersion, list.Skills)
		}
	}
	s.servesSlugs(t, "docx", "pdf")
	s.heard(t)
}

// TestFaultMountOverASkill mounts over the directory of one skill, and takes that away again. The kernel tells of neither; what
// happens there afterwards it tells of once a resync, or somebody who asks, has made it look there.
func TestFaultMountOverASkill(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	writeIn(t, w, "cp -r skills/one over; sed -i 's/number ./number 1/' over/SKILL.md")
	s := startIsolated(t, w, "mount -t tmpfs none /mnt; umount /mnt", "--resync", "0")
	s.serves(t, "one", number(0))
	n := 1
	changes := func(how string) {
		t.Helper()
		s.enter(t, how)
		need(t, s.Rescan(t.Context()))
		for range 2 { // without a further look at all
			n++
			s.enter(t, "sed -i 's/number ./number "+string(rune('0'+n))+"/' skills/one/SKILL.md")
			s.serves(t, "one", number(n))
		}
	}
	changes("mount --bind over skills/one")
	changes("umount -l skills/one")
	s.healthy(t)
}

// TestFaultDirectoryTimesStandStill adds, renames and removes skills on a file system whose directory times never change, as
// mounts of object stores have it. Without a rescan, polling finds them.
func TestFaultDirectoryTimesStandStill(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args   []string
		rescan bool
	}{
		"polled": {nil, false},
		"rescan": {[]string{"--watch", "inotify"}, true},
		"resync": {[]string{"--watch", "inotify", "--resync", "500ms"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := diskWithSkill(t)
			d.put("/skills/deep/down/inner/SKILL.md", numbered("inner", 1))
			s := startFault(t, d.dir, test.args...)
			d.answersAtTheEnd(t)
			s.serves(t, "one", number(0))
			changed := func() {
				t.Helper()
				if test.rescan {
					need(t, s.Rescan(t.Context()))
				}
			}
			d.put("/skills/two/SKILL.md", numbered("two", 2))
			changed()
			s.serves(t, "two", number(2))
			d.put("/skills/deep/down/other/SKILL.md", numbered("other", 3))
			changed()
			s.serves(t, "other", number(3))
			d.rename("/skills/two", "/skills/renamed")
			changed()
			s.serves(t, "renamed", number(2))
			d.rename("/skills/one", "")
			changed()
			s.servesSlugs(t, "inner", "other", "renamed")
		})
	}
}
