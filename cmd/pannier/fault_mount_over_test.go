package main

import "testing"

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
