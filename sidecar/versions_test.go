package sidecar

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/internal/latest"
	"pannier/internal/state"
	"pannier/loader"
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
			opened, err := state.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			s := state.NewGuarded(opened, hclog.NewNullLogger())
			before := openVersions(s, dir, hclog.NewNullLogger())
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
			after := openVersions(s, dir, hclog.NewNullLogger())
			if o := after.registryOptions(); after.clean != test.reused || (o.Last == served) != test.reused || o.Last.Version != 7 {
				t.Errorf("clean %t, last %+v", after.clean, o.Last)
			} else if o.FirstVersion < uint64(now.UnixMilli()) {
				t.Errorf("the first version is %d", o.FirstVersion)
			}
			if again := openVersions(s, dir, hclog.NewNullLogger()); again.clean {
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

// TestStopFileIsWrittenLast closes a state directory while the parsed skills and the version are written still.
func TestStopFileIsWrittenLast(t *testing.T) {
	if bootID() == "" {
		t.Skip("this kernel does not tell its boot")
	}
	settings := optionsFor(t, t.TempDir()).Settings
	synctest.Test(t, func(t *testing.T) {
		d, err := openStateDir(settings, false, noChanges, prometheus.NewRegistry(), hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		parsed, version := make(chan struct{}), make(chan struct{})
		d.parsed.writer = latest.NewWriter(func(*loader.Parsed) { <-parsed })
		d.versions.writer = latest.NewWriter(func(registry.Mark) { <-version })
		d.parsed.writer.Put(nil)
		d.remember(registry.Mark{Version: 7, Digest: pannier.DigestOf([]byte("served"))})
		go d.close(true)
		written := func() bool {
			synctest.Wait()
			_, err := os.Lstat(filepath.Join(d.dir, stopFile))
			return err == nil
		}
		if written() {
			t.Error("the stop file was there before the parsed skills")
		}
		close(parsed)
		if written() {
			t.Error("the stop file was there before the version")
		}
		close(version)
		if !written() {
			t.Error("there is no stop file after a clean stop")
		}
	})
}
