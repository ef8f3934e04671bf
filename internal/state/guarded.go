package state

import (
	"errors"
	"os"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
)

// tryBytes is how much [Guarded.Try] writes.
const tryBytes = 64 << 10

// goneHint is what to do about a state directory that was moved away.
const goneHint = "move the directory back, or restart, which begins with what is there then"

// Guarded is a store that refuses what would be lost with this process, and remembers whether it can be written.
type Guarded struct {
	*Store
	log    hclog.Logger
	failed atomic.Pointer[error] // of the last write; nil after one that did not fail
	gone   atomic.Pointer[error] // nil while the directory is in its place
}

// NewGuarded returns a guarded store.
func NewGuarded(s *Store, log hclog.Logger) *Guarded { return &Guarded{Store: s, log: log} }

// Put keeps a value, unless it would be lost with this process.
func (g *Guarded) Put(bucket, key string, value any) error {
	if err := g.CheckPlace(); err != nil {
		return err
	}
	return g.record(g.Store.Put(bucket, key, value))
}

// Delete removes a value, unless it would come back with the next process.
func (g *Guarded) Delete(bucket, key string) error {
	if err := g.CheckPlace(); err != nil {
		return err
	}
	return g.record(g.Store.Delete(bucket, key))
}

func (g *Guarded) record(err error) error {
	if err == nil {
		g.failed.Store(nil)
	} else if !errors.Is(err, ErrClosed) {
		g.failed.Store(&err)
	}
	return err
}

// Failed returns why the last write failed, nil after one that did not.
func (g *Guarded) Failed() error {
	if err := g.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// CheckPlace refuses where a change would be lost with this process, because the state directory was moved away.
func (g *Guarded) CheckPlace() error {
	err := g.CheckPlaceNow()
	if err == nil {
		return nil
	}
	message := "nothing was changed, because it would be lost with this process: " + err.Error()
	return &pannier.Refusal{Code: "state.gone", Message: message, Hint: goneHint}
}

// CheckPlaceNow finds out whether the directory is in its place, and logs where that has changed.
func (g *Guarded) CheckPlaceNow() error {
	err := g.InPlace()
	switch {
	case err == nil:
		if g.gone.Swap(nil) != nil {
			g.log.Info("the state directory is back")
		}
	case g.gone.Swap(&err) == nil:
		g.log.Error("changes are refused, because they would be lost with this process", "error", err)
	}
	return err
}

// Try writes a file to a directory and removes it, so that health reports a disk without space before a change fails,
// and no longer than the disk is full. It reports whether it could. Nothing is synced: a file system refuses what it
// has no space for when it is written, a remote one when it is closed.
func (g *Guarded) Try(dir string) bool {
	const name = ".try"
	err := func() error {
		root, err := fsx.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer root.Close()
		_ = root.Remove(name) // of a process that was killed
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(make([]byte, tryBytes))
		return errors.Join(err, f.Close(), root.Remove(name))
	}()
	if NoSpace(err) || err == nil && NoSpace(g.Failed()) {
		_ = g.record(err)
	}
	return err == nil
}

// NoSpace reports whether a write failed because the disk or a quota is full.
func NoSpace(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// Conditions returns what health says of the store.
func (g *Guarded) Conditions() (conditions []pannier.Condition) {
	add := func(code, message, hint string) {
		conditions = append(conditions, pannier.Condition{Code: code, Severity: pannier.SeverityError, Subject: "state", Message: message, Hint: hint})
	}
	if err := g.gone.Load(); err != nil {
		add("state_gone", "changes are refused, because they would be lost with this process: "+(*err).Error(), goneHint)
	}
	if err := g.Failed(); err != nil {
		add("state_unwritable", "state cannot be written: "+err.Error(),
			"make room in the state directory, which pannier notices, or make it writable; the next change tries again")
	}
	return conditions
}

// Lenient is a guarded store for what no client asks to be kept, such as the version of the snapshot, or which skills
// are blocked. No client can be refused: it is written wherever the directory is by now, and is there once that is
// moved back. Nothing else is asked of the disk.
type Lenient struct{ *Guarded }

// Put keeps a value.
func (l Lenient) Put(bucket, key string, value any) error {
	return l.record(l.Store.Put(bucket, key, value))
}

// Delete removes a value.
func (l Lenient) Delete(bucket, key string) error {
	return l.record(l.Store.Delete(bucket, key))
}
