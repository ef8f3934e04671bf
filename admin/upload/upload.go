// Package upload takes in archives by chunks, over reconnects and restarts (Pioneer skills protocol, "Upload Flow").
//
// A session belongs to who started it, not to a connection. Its chunks come one behind the other; each is streamed to
// the disk through a small buffer, synced, and only then acknowledged. What is refused says where the session goes on, and
// nothing of a refused chunk stays. A chunk that is here already is compared with what is on disk and acknowledged again,
// since its sender can not know whether an acknowledgement was lost. A sender who comes back while an old connection still
// hangs overtakes it.
//
// # On disk
//
// The payload of a session is the file of its id in [Options.Dir], and what it was told of is a row in the state store,
// written when the session starts and when its status changes, not with each chunk. So after a restart as much has been
// received as the file is long, and the session waits from when the file was last written. After a crash that may be a
// part of a chunk that nobody acknowledged: the next one begins behind it, wherever that is. Should such a part be wrong,
// the digest of the whole tells.
//
// Files of the directory that belong to no session are removed when the store is opened, if they are named like one.
//
// # Bounds
//
// All sessions together, and those of one owner, have a bound on the bytes that they announce, so that nobody can begin
// what there is no room for; see [pannier.UploadLimits]. An owner has at most [MaxSessions], and there are [MaxLive] in all.
// A session that waits too long for its next chunk expires. One that has ended can be asked for its status for [KeepEnded],
// and of those there are [MaxEnded].
package upload

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
)

// The bounds of sessions.
const (
	// MaxSessions bounds those of one owner that are received or ready, MaxLive those of all.
	MaxSessions = 128
	MaxLive     = 1024
	// KeepEnded is how long the status of one that has ended is told, MaxEnded for how many.
	KeepEnded = time.Hour
	MaxEnded  = 1024
	// sweepEvery is how often what has expired is looked for.
	sweepEvery = 15 * time.Second
)

// bucket has the rows in the state store, by id.
const bucket = "uploads"

// Values is what is needed of the state store. A change is on disk when a call returns, or not made where it fails.
type Values interface {
	Put(bucket, key string, value any) error
	Delete(bucket, key string) error
	All(bucket string) (iter.Seq2[string, json.RawMessage], error)
}

// Options are what a store is made of. All but the ones marked optional are needed.
type Options struct {
	// Dir has the payloads, and belongs to the store alone. It is made where it is missing.
	Dir    string
	Values Values
	// Limits are what sessions have to keep to. Of MaxPending and MaxPendingOfPeer 0 is no bound.
	Limits     pannier.UploadLimits
	Now        func() time.Time      // optional
	Logger     hclog.Logger          // optional
	Registerer prometheus.Registerer // optional
}

// Store has the sessions of a workspace. It is for any number of callers.
type Store struct {
	o Options

	mu       sync.Mutex
	sessions map[string]*session

	// syncing is called before a chunk is synced, for the tests; nil does nothing.
	syncing func()
}

// Open takes up the sessions of the process before, and removes what belongs to none and what has expired.
func Open(o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	s := &Store{o: o, sessions: map[string]*session{}}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("open uploads in %s: %w", o.Dir, err)
	}
	if o.Registerer != nil {
		if err := o.Registerer.Register(collector{s}); err != nil {
			return nil, fmt.Errorf("register the metrics of uploads: %w", err)
		}
	}
	return s, nil
}

// Limits returns what sessions have to keep to.
func (s *Store) Limits() pannier.UploadLimits { return s.o.Limits }

// now has no monotonic part: a session expires by the clock that the next process has too.
func (s *Store) now() time.Time { return s.o.Now().UTC().Round(0) }

func (s *Store) path(id string) string { return filepath.Join(s.o.Dir, id) }

// load reads the rows, and has the directory hold what belongs to them.
func (s *Store) load() error {
	if err := os.MkdirAll(s.o.Dir, 0o700); err != nil {
		return err
	}
	rows, err := s.o.Values.All(bucket)
	if err != nil {
		return err
	}
	for id, raw := range rows {
		if err := s.resume(id, raw); err != nil {
			return fmt.Errorf("take up %s: %w", id, err)
		}
	}
	s.sweep()
	return s.removeOrphans()
}

// resume takes up one session. A row that makes no sense is dropped: an archive can be sent again.
func (s *Store) resume(id string, raw json.RawMessage) error {
	var kept row
	if err := json.Unmarshal(raw, &kept); err != nil || kept.Upload.ID != id || !isID(id) {
		s.o.Logger.Warn("an upload was dropped, because its row makes no sense", "upload", id, "error", err)
		return s.o.Values.Delete(bucket, id)
	}
	u := kept.session()
	if u.live() {
		if err := s.measure(u); err != nil {
			return err
		}
	}
	s.sessions[id] = u
	return nil
}

// measure finds out how much of a session is here, and since when it waits.
func (s *Store) measure(u *session) error {
	info, err := os.Lstat(s.path(u.ID))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		u.Received = 0
	case err != nil:
		return err
	default:
		u.Received = min(info.Size(), u.Size)
		waits := slices.MaxFunc([]time.Time{u.ExpiresAt, info.ModTime().UTC().Add(s.o.Limits.TTL)}, time.Time.Compare)
		u.ExpiresAt = slices.MinFunc([]time.Time{waits, s.now().Add(s.o.Limits.TTL)}, time.Time.Compare)
	}
	if u.Received < u.Size { // the payload of a ready one has gone
		u.Status = pannier.UploadReceiving
	}
	return nil
}

// removeOrphans removes payloads that belong to no session.
func (s *Store) removeOrphans() error {
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if u, ok := s.sessions[e.Name()]; ok && u.live() || !isID(e.Name()) {
			continue
		}
		if err := os.Remove(s.path(e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// forget drops what has ended long ago, and the oldest of what there is too much of.
func (s *Store) forget() {
	for _, id := range s.forgettable() {
		if err := s.o.Values.Delete(bucket, id); err != nil {
			s.o.Logger.Warn("an upload that has ended can not be forgotten", "upload", id, "error", err)
			continue
		}
		s.mu.Lock()
		delete(s.sessions, id)
		s.mu.Unlock()
	}
}

func (s *Store) forgettable() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := slices.DeleteFunc(slices.Collect(maps.Values(s.sessions)), (*session).live)
	slices.SortFunc(ended, func(a, b *session) int {
		return cmp.Or(b.endedAt.Compare(a.endedAt), strings.Compare(a.ID, b.ID))
	})
	var ids []string
	for i, u := range ended {
		if i >= MaxEnded || s.now().Sub(u.endedAt) >= KeepEnded {
			ids = append(ids, u.ID)
		}
	}
	return ids
}
