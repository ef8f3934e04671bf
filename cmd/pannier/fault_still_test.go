package main

import "testing"

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
