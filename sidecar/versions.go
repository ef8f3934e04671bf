package sidecar

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/latest"
	"pannier/internal/state"
	"pannier/registry"
)

// stopFile exists while no process uses a state directory that the last process closed as a whole.
const stopFile = "stopped.json"

// bootIDFile names the boot of the kernel: a process that ends unawares loses no write of a file, a power cut may.
const bootIDFile = "/proc/sys/kernel/random/boot_id"

// versions keeps the version of the newest snapshot for the next process. Snapshots are served first and written
// afterwards, so what is kept may be older than what was served. Therefore a process takes up the digest of the one
// before, and with it the version, only after a clean stop in the same boot; every other version is at least the Unix
// time in milliseconds.
type versions struct {
	store *state.Guarded
	dir   string // empty where the state is in memory
	// clean says that the process before closed its state, so that everything it kept is the newest.
	clean  bool
	last   registry.Mark
	newest atomic.Pointer[registry.Mark] // of this process
	writer *latest.Writer[registry.Mark]
}

const maxStopMark = 4 << 10

type stopMark struct {
	registry.Mark
	Boot string `json:"boot"`
}

// openVersions reads what the process before has kept and removes its stopFile, so that a later process does not take
// it for that of this one.
func openVersions(s *state.Guarded, dir string, log hclog.Logger) *versions {
	v := &versions{store: s, dir: dir}
	v.writer = latest.NewWriter(func(m registry.Mark) {
		if err := (state.Lenient{Guarded: s}).Put(bucketSnapshot, keyNewest, m); err != nil {
			log.Warn("the version of the snapshot is not kept", "version", m.Version, "error", err)
		}
	})
	if _, err := s.Get(bucketSnapshot, keyNewest, &v.last); err != nil {
		log.Warn("the version of the newest snapshot cannot be read", "error", err)
	}
	v.last.Digest = pannier.Digest{}
	if dir == "" {
		return v
	}
	path := filepath.Join(dir, stopFile)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return v
	}
	text, err := fsx.ReadAtMost(path, maxStopMark)
	if err != nil || os.Remove(path) != nil {
		return v
	}
	var mark stopMark
	if json.Unmarshal(text, &mark) == nil && mark.Boot != "" && mark.Boot == bootID() && mark.Version >= v.last.Version {
		v.last, v.clean = mark.Mark, true
	}
	return v
}

func bootID() string {
	id, err := os.ReadFile(bootIDFile)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id))
}

// registryOptions returns what the registry has to know of the process before.
func (v *versions) registryOptions() registry.Options {
	return registry.Options{Last: v.last, FirstVersion: uint64(time.Now().UnixMilli()), Remember: v.remember}
}

func (v *versions) remember(m registry.Mark) {
	v.newest.Store(&m)
	v.writer.Put(m)
}

// stop writes stopFile. It is called after every other writer of the state directory has ended without an error.
// Nothing is synced: the file counts in the same boot only, and is there as long as the kernel is.
func (v *versions) stop() error {
	newest, boot := v.newest.Load(), bootID()
	if v.dir == "" || newest == nil || boot == "" {
		return nil
	}
	if err := v.store.InPlace(); err != nil {
		return err
	}
	text, err := json.Marshal(stopMark{*newest, boot})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(v.dir, stopFile), text, 0o600)
}
