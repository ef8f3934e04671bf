// Package upload receives archives in chunks, across reconnects and restarts (Pioneer skills protocol, "Upload Flow").
//
// A session belongs to the client that started it, not to a connection. Its chunks arrive in order. Each is streamed to
// the disk through a small buffer, synced, and then acknowledged. A refusal has the offset to continue at, and nothing
// of a refused chunk is stored. A repeated chunk is compared with the disk and acknowledged again, because the
// acknowledgement may have been lost. A client that reconnects overtakes its old connection.
//
// # On disk
//
// The payload of a session is a file in [Options.Dir], named by its id. The rest is a row in the state store, written
// when the session starts and when its status changes, not with each chunk. After a restart, the length of the file is
// the number of received bytes, and the expiry follows from its modification time. After a crash the file can end with
// a part of a chunk that was not acknowledged: the next chunk continues after it, and the digest of the whole archive
// detects errors.
//
// Opening the store removes files with the name of an id that belong to no session.
//
// # Bounds
//
// The announced bytes of all sessions, and of those of one owner, are bounded by [pannier.UploadLimits]. An owner has
// at most [MaxSessions] sessions; there are at most [MaxLive]. A session expires if no chunk arrives in time. The
// status of an ended session is available for [KeepEnded], for at most [MaxEnded] sessions.
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

const (
	// MaxSessions bounds the receiving and ready sessions of one owner, MaxLive those of all owners.
	MaxSessions = 128
	MaxLive     = 1024
	// KeepEnded is how long the status of an ended session is available, MaxEnded for how many sessions.
	KeepEnded = time.Hour
	MaxEnded  = 1024
	// sweepEvery is the interval of checks for expired sessions.
	sweepEvery = 15 * time.Second
)

// bucket has the rows in the state store, by id.
const bucket = "uploads"

// Values is the state store. A change is on disk when a method returns, or not made if the method fails.
type Values interface {
	Put(bucket, key string, value any) error
	Delete(bucket, key string) error
	All(bucket string) (iter.Seq2[string, json.RawMessage], error)
}

// Options configure a [Store].
type Options struct {
	// Dir has the payloads. It is created if it is missing, and used by the store only.
	Dir    string
	Values Values
	// Limits bound sessions. 0 disables MaxPending and MaxPendingOfPeer.
	Limits     pannier.UploadLimits
	Now        func() time.Time      // optional
	Logger     hclog.Logger          // optional
	Registerer prometheus.Registerer // optional
}

// Store has the upload sessions of a workspace. It is safe for concurrent use.
type Store struct {
	o Options

	mu       sync.Mutex
	sessions map[string]*session

	// syncing is called before a chunk is synced, for tests.
	syncing func()
}

// Open loads the sessions of the previous process, and removes expired ones and files without a session.
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

// Limits returns the limits of sessions.
func (s *Store) Limits() pannier.UploadLimits { return s.o.Limits }

// now has no monotonic part, because the next process compares the times too.
func (s *Store) now() time.Time { return s.o.Now().UTC().Round(0) }

func (s *Store) path(id string) string { return filepath.Join(s.o.Dir, id) }

// load reads the rows and cleans up the directory.
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
			return fmt.Errorf("load upload %s: %w", id, err)
		}
	}
	s.sweep()
	return s.removeOrphans()
}

// resume loads one session. An invalid row is dropped: the archive can be sent again.
func (s *Store) resume(id string, raw json.RawMessage) error {
	var kept row
	if err := json.Unmarshal(raw, &kept); err != nil || kept.Upload.ID != id || !isID(id) {
		s.o.Logger.Warn("dropping an upload with an invalid row", "upload", id, "error", err)
		return s.o.Values.Delete(bucket, id)
	}
	u := &session{Upload: kept.Upload, owner: kept.Owner, endedAt: kept.EndedAt}
	if u.live() {
		if err := s.measure(u); err != nil {
			return err
		}
	}
	s.sessions[id] = u
	return nil
}

// measure sets the received bytes and the expiry from the file.
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
	if u.Received < u.Size { // the payload of a ready upload was removed
		u.Status = pannier.UploadReceiving
	}
	return nil
}

// removeOrphans removes payloads without a session.
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

// forgettable returns the sessions that ended long ago, and the oldest ones beyond the bound.
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
