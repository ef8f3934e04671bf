package main

import "testing"

// TestFaultDiskElsewhereHangs has a disk stop answering that is none of the sidecar's, while one runs and when one starts.
func TestFaultDiskElsewhereHangs(t *testing.T) {
	t.Parallel()
	d := mountDisk(t, map[string]string{"/file": "text"})
	w, _ := oneSkill(t)
	s := startFault(t, w, "--resync", "1s")
	s.serves(t, "one", number(0))
	d.hang(t)
	writeIn(t, w, skillScript("two", "Comes meanwhile."))
	s.serves(t, "two", "Comes meanwhile.")
	other := startFault(t, w)
	other.serves(t, "two", "Comes meanwhile.")
	d.answer()
}
