package sidecar

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/config"
	"pannier/contents"
	"pannier/internal/journal"
	"pannier/internal/latest"
	"pannier/internal/state"
)

// codeStateLost is the code of the condition that policy and blocks are lost.
const codeStateLost = "state_lost"

// Where things lie in the state store.
const (
	bucketSnapshot = "snapshot"
	keyNewest      = "newest"
)

// stateDir is what a sidecar keeps over a restart.
type stateDir struct {
	log      hclog.Logger
	store    *state.Guarded
	journal  *journal.Journal
	events   atomic.Pointer[journal.Queue] // nil until there is one
	changes  ChangesStore
	contents *contents.Kept
	parsed   *parseCache
	*versions
	// dir is the directory of the state, empty where it is kept in memory.
	dir string
	// readFrom is the directory of another sidecar, whose policy and blocks are read and never written; empty for none.
	readFrom string
	// problems are the parts that cannot be used as they should, since the start. They are never changed.
	problems []pannier.Condition
}

// openStateDir opens the state of a workspace. That another sidecar has it is an error. Its parts fail apart: one that
// cannot be used is kept in memory, and health says so. Where policy and blocks are lost with that, no skill can be
// used. With private, the directory is only read, for policy and blocks.
func openStateDir(s config.Settings, private bool, open ChangesModule, reg prometheus.Registerer, log hclog.Logger) (*stateDir, error) {
	d := &stateDir{log: log, dir: StateDirectory(s)}
	if private {
		d.dir, d.readFrom = "", d.dir
	}
	gone, err := d.openStore()
	if errors.Is(err, state.ErrLocked) {
		return nil, &Error{
			Message: "another sidecar keeps the state of this workspace in " + d.dir,
			Hint:    "stop it, or give this one a directory of its own with --state-dir",
		}
	}
	if gone != nil {
		if _, err := os.Lstat(d.dir); errors.Is(err, fs.ErrNotExist) {
			gone = nil // a directory that does not exist has no policy and no blocks
		}
		d.dir = ""
	}
	if err := d.openJournal(reg); err != nil {
		return nil, errors.Join(err, d.store.Close())
	}
	d.versions = openVersions(d.store, d.dir, d.log)
	d.contents = contents.NewKept(state.Lenient{Guarded: d.store}, d.log)
	d.parsed = &parseCache{inPlace: d.store.InPlace, key: parseCacheKey(s.WorkspaceID), log: log}
	if d.dir != "" && d.parsed.key != "" {
		d.parsed.path = filepath.Join(d.dir, parseCacheFile)
	}
	d.parsed.writer = latest.NewWriter(d.parsed.write)
	d.changes, err = open(StateHost{
		Dir: d.dir, ReadFrom: d.readFrom, Store: d.store, Logger: log, Inaccessible: gone, Unread: err,
	})
	if err != nil {
		return nil, errors.Join(err, d.journal.Close(), d.store.Close())
	}
	return d, nil
}

// openStore opens the database. gone says why the directory cannot be used at all, failed why the database cannot: then
// it is kept in memory.
func (d *stateDir) openStore() (gone, failed error) {
	d.store = state.NewGuarded(state.Memory(), d.log)
	if d.dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		d.inMemory("state", "state", err)
		return err, err
	}
	opened, err := state.Open(d.dir)
	switch {
	case errors.Is(err, state.ErrLocked):
		return nil, err
	case err != nil:
		d.inMemory("state", "state.db", err)
		return nil, err
	}
	d.store.Store = opened
	why := opened.ReadOnly()
	if why == nil {
		why = unix.Access(d.dir, unix.W_OK) // files are replaced, which takes more than writing them
	}
	if why != nil {
		d.addCondition(condition("state_read_only", pannier.SeverityError, "state",
			"the state can be read and not changed: "+why.Error(),
			"make the state directory writable for the user that pannier runs as, and restart"))
	}
	if broken := opened.Recovered(); broken != "" {
		d.addCondition(condition("state_reset", pannier.SeverityWarning, "state",
			"state.db was damaged and starts empty; the damaged file is "+broken,
			"the agent has to report its environment again, and uploads start again; remove the damaged file once it is not needed"))
	}
	return nil, nil
}

func (d *stateDir) openJournal(reg prometheus.Registerer) (err error) {
	o := journal.Options{Logger: d.log, Registerer: reg}
	if d.dir != "" {
		o.Dir = filepath.Join(d.dir, "journal")
		if d.journal, err = journal.Open(o); err == nil {
			return nil
		}
		d.inMemory("journal", "journal", err)
		o.Dir = ""
	}
	d.journal, err = journal.Open(o)
	return err
}

// addCondition adds a condition that lasts as long as the process.
func (d *stateDir) addCondition(c pannier.Condition) {
	d.log.Warn(c.Message, "subject", c.Subject, "code", c.Code)
	d.problems = append(d.problems, c)
}

func (d *stateDir) inMemory(part, subject string, err error) {
	d.addCondition(condition(part+"_in_memory", pannier.SeverityWarning, subject,
		"kept in memory and lost with this process: "+err.Error(),
		"make it usable or choose another directory with --state-dir, and restart; --state-dir=none keeps the state in memory on purpose"))
}

// StateDirectory returns the directory of the state of a workspace, empty where it is kept in memory.
func StateDirectory(s config.Settings) string {
	if s.StateDir == config.StateNone {
		return ""
	}
	name := url.PathEscape(s.WorkspaceID) // whatever is in it
	if strings.Trim(name, ".") == "" {
		name = "%" + name // "." and ".." are other directories
	}
	return filepath.Join(s.StateDir, name)
}

func (d *stateDir) newEvents(workspaceID string, current func() *pannier.Snapshot) *journal.Queue {
	l := journal.NewQueue(d.log, workspaceID, current, d.journal)
	d.events.Store(l)
	return l
}

// close closes the state. clean says that everything that uses it has ended.
func (d *stateDir) close(clean bool) {
	if l := d.events.Load(); l != nil {
		l.Wait(context.Background()) // the caller does not wait for a disk that does not answer
	}
	d.contents.Wait(context.Background())
	err := errors.Join(d.changes.Close(), d.journal.Close())
	d.parsed.writer.Wait(context.Background())
	d.versions.writer.Wait(context.Background())
	if err == nil && clean {
		err = d.versions.stop()
	}
	if err := errors.Join(err, d.store.Close()); err != nil {
		d.log.Warn("state not closed", "error", err)
	}
}

func (d *stateDir) conditions() []pannier.Condition {
	return slices.Concat(d.problems, d.changes.Conditions(), d.store.Conditions())
}

// placeEvery is how often pannier checks that the state directory is the one that is open, by the stat of two files.
const placeEvery = time.Second

// tryEvery is how often it tries to write there while writes succeed.
const tryEvery = 5 * time.Second

// watchPlace checks again and again until ctx is done, in its own goroutine: the disk may not answer.
func (d *stateDir) watchPlace(ctx context.Context) error {
	d.changes.RetryWrites(false)
	var tried time.Time
	tick := time.NewTicker(placeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			can := false
			if d.store.CheckPlaceNow() == nil && d.dir != "" && d.store.ReadOnly() == nil && (now.Sub(tried) >= tryEvery || d.store.Failed() != nil) {
				tried = now
				can = d.store.Try(d.dir)
			}
			d.changes.RetryWrites(can)
		}
	}
}
