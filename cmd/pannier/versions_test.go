package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/registry"
)

// TestVersionAfterRestart opens the versions of a state directory as a process would after each kind of end.
func TestVersionAfterRestart(t *testing.T) {
	served := registry.Mark{Version: 7, Digest: pannier.DigestOf([]byte("served"))}
	for name, test := range map[string]struct {
		clean  bool
		damage func(t *testing.T, stopFile string)
		reused bool
	}{
		"clean stop": {clean: true, damage: func(*testing.T, string) {}, reused: true},
		"kill":       {damage: func(*testing.T, string) {}},
		"reboot": {clean: true, damage: func(t *testing.T, path string) {
			text, _ := json.Marshal(stopMark{served, "another boot"})
			overwrite(t, path, string(text))
		}},
		"torn": {clean: true, damage: func(t *testing.T, path string) { overwrite(t, path, `{"version":7,"dig`) }},
		"directory": {damage: func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if bootID() == "" {
				t.Skip("this kernel does not tell its boot")
			}
			dir := filepath.Join(t.TempDir(), "s")
			s := &store{Store: openState(t, dir), log: hclog.NewNullLogger()}
			before := openVersions(s, dir, s.log)
			before.remember(served)
			if err := before.writer.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if test.clean {
				if err := before.stop(); err != nil {
					t.Fatal(err)
				}
			}
			test.damage(t, filepath.Join(dir, stopFile))
			now := time.Now()
			after := openVersions(s, dir, s.log)
			if o := after.registryOptions(); after.clean != test.reused || (o.Last == served) != test.reused || o.Last.Version != 7 {
				t.Errorf("clean %t, last %+v", after.clean, o.Last)
			} else if o.FirstVersion < uint64(now.UnixMilli()) {
				t.Errorf("the first version is %d", o.FirstVersion)
			}
			if again := openVersions(s, dir, s.log); again.clean {
				t.Error("one clean stop counts twice")
			}
		})
	}
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

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
			list, err := s.Skills(t.Context(), "", false)
			if err != nil {
				t.Fatal(err)
			}
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
