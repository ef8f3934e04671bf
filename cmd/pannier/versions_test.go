package main

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pannier"
)

// TestVersionsOverKills kills a sidecar at any moment, and ends it now and then, while its workspace goes forth and back: no
// version is served for two digests, and none is served after a higher one.
func TestVersionsOverKills(t *testing.T) {
	t.Parallel()
	w, args := newWorkspace(t), []string{"--platform-url", "off", "--state-dir", shortDir(t), "--settle", "1ms", "--debounce", "1ms"}
	digests, newest := map[uint64]pannier.Digest{}, uint64(0)
	for life := range 12 {
		s := startSidecar(t, w, args...)
		for end := time.Now().Add(rand.N(300 * time.Millisecond)); time.Now().Before(end); {
			s.write(t, skillScript("one", fmt.Sprintf("Is number %d.", rand.N(3))))
			list := must(s.Skills(t.Context(), "", false))(t)
			if was, ok := digests[list.SnapshotVersion]; ok && was != list.Digest || list.SnapshotVersion < newest {
				t.Fatalf("life %d: version %d of %s follows version %d, and was %s", life, list.SnapshotVersion, list.Digest, newest, was)
			}
			newest = list.SnapshotVersion
			digests[newest] = list.Digest
		}
		if life%4 == 3 {
			s.terminate(t)
		} else {
			s.process.kill()
		}
	}
}
