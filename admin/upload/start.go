package upload

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"pannier"
	"pannier/internal/fsx"
)

// Start begins a session.
func (s *Store) Start(ctx context.Context, owner string, up pannier.UploadStart) (pannier.Upload, error) {
	if err := s.check(up); err != nil {
		return pannier.Upload{}, err
	}
	if err := ctx.Err(); err != nil {
		return pannier.Upload{}, err
	}
	s.sweep() // frees quota
	u, err := s.reserve(owner, up)
	if err != nil {
		return pannier.Upload{}, err
	}
	kept := u.Upload // no other client knows its id yet
	if err := s.create(kept, owner); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sessions, kept.ID)
		return pannier.Upload{}, fmt.Errorf("start an upload: %w", err)
	}
	return kept, nil
}

// check checks an announcement against the limits.
func (s *Store) check(up pannier.UploadStart) error {
	limits := s.o.Limits
	switch {
	case up.Format != pannier.TarGz && up.Format != pannier.Zip:
		return refuse("upload.format", "send tar_gz or zip", "unknown archive format %.40q", up.Format)
	case up.Size <= 0:
		return refuse("upload.size_limit", "say how many bytes the archive has", "the archive has %d bytes", up.Size)
	case up.Size > limits.MaxCompressed:
		return refuse("upload.size_limit", "send a smaller archive", "the archive has %d bytes; at most %d are allowed", up.Size, limits.MaxCompressed)
	case up.UnpackedHint < 0 || up.UnpackedHint > limits.MaxUnpacked:
		return refuse("upload.size_limit", "send a smaller archive", "the files have %d bytes together; at most %d are allowed", up.UnpackedHint, limits.MaxUnpacked)
	case up.SHA256.IsZero():
		return refuse("upload.digest", "give the SHA-256 of the archive in 64 lower-case hexadecimal digits", "sha256 is missing")
	}
	return nil
}

// reserve adds a session, if the quotas allow it.
func (s *Store) reserve(owner string, up pannier.UploadStart) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fits(owner, up.Size); err != nil {
		return nil, err
	}
	name := pannier.SanitizeFileName(up.FileName, maxName)
	if strings.Trim(name, ".") == "" {
		name = unnamed
	}
	now, id := s.now(), idPrefix+strings.ToLower(rand.Text()[:idDigits])
	u := &session{owner: owner, Upload: pannier.Upload{
		ID: id, Status: pannier.UploadReceiving, FileName: name, Format: up.Format,
		Size: up.Size, SHA256: up.SHA256, CreatedAt: now, ExpiresAt: now.Add(s.o.Limits.TTL),
	}}
	s.sessions[u.ID] = u
	return u, nil
}

// fits counts announced bytes, not received ones, so that every upload that was started can finish.
func (s *Store) fits(owner string, size int64) error {
	var pending, own int64
	var live, ours int
	for _, u := range s.sessions {
		if !u.live() {
			continue
		}
		live, pending = live+1, pending+u.Size
		if u.owner == owner {
			ours, own = ours+1, own+u.Size
		}
	}
	const hint = "install or abort open uploads, or wait until they expire"
	limits := s.o.Limits
	switch {
	case ours >= MaxSessions, live >= MaxLive:
		return refuse("upload.quota", hint, "%d uploads are open, %d of them from this client", live, ours)
	case limits.MaxPendingOfClient > 0 && own+size > limits.MaxPendingOfClient:
		return refuse("upload.quota", hint, "the open uploads of this client would have %d bytes together; at most %d are allowed", own+size, limits.MaxPendingOfClient)
	case limits.MaxPending > 0 && pending+size > limits.MaxPending:
		return refuse("upload.quota", hint, "all open uploads would have %d bytes together; at most %d are allowed", pending+size, limits.MaxPending)
	}
	return nil
}

// create creates the file before the row, because the next start removes a file without a row.
func (s *Store) create(up pannier.Upload, owner string) error {
	f, err := os.OpenFile(s.path(up.ID), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(f.Close(), fsx.SyncDir(s.o.Dir))
	if err == nil {
		err = s.o.Values.Put(bucket, up.ID, row{Owner: owner, Upload: up})
	}
	if err != nil {
		return errors.Join(err, os.Remove(s.path(up.ID)))
	}
	return nil
}

// maxName bounds a file name in bytes. unnamed is the default.
const (
	maxName = 128
	unnamed = "skill.tar.gz"
)
