package upload

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"pannier"
)

// Finish makes a completely received upload ready. If its digest differs from the announced one, the upload is aborted.
// It is idempotent.
func (s *Store) Finish(ctx context.Context, owner, id string) (pannier.Upload, error) {
	u, err := s.find(owner, id)
	if err != nil {
		return pannier.Upload{}, err
	}
	u.payload.Lock()
	defer u.payload.Unlock()
	up, err := s.complete(u)
	if err != nil || up.Status == pannier.UploadReady {
		return up, err
	}
	sum, err := sumFile(ctx, s.path(id))
	if err != nil {
		return pannier.Upload{}, fmt.Errorf("finish upload %s: %w", id, err)
	}
	if sum == up.SHA256 {
		return s.setStatus(u, pannier.UploadReady)
	}
	if _, err := s.setStatus(u, pannier.UploadAborted); err != nil {
		return pannier.Upload{}, err
	}
	return pannier.Upload{}, refuse("upload.digest_mismatch", "start a new upload", "the archive has digest %s, but %s was announced; the upload was aborted", sum, up.SHA256)
}

// complete returns a completely received upload, and extends its expiry.
func (s *Store) complete(u *session) (pannier.Upload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch status := u.statusAt(s.now()); {
	case status == pannier.UploadReady:
		return u.Upload, nil
	case status != pannier.UploadReceiving:
		return pannier.Upload{}, wrongStatus(u.ID, status, "be finished")
	case u.Received < u.Size:
		return pannier.Upload{}, refuse("upload.incomplete", "send the rest", "%d of %d bytes were received", u.Received, u.Size)
	}
	u.ExpiresAt = s.now().Add(s.o.Limits.TTL)
	return u.Upload, nil
}

func sumFile(ctx context.Context, path string) (pannier.Digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return pannier.Digest{}, err
	}
	defer f.Close()
	buf := pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(buf)
	for sum := sha256.New(); ctx.Err() == nil; {
		n, err := f.Read(buf[:])
		sum.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			return pannier.Digest(sum.Sum(nil)), nil
		}
		if err != nil {
			return pannier.Digest{}, err
		}
	}
	return pannier.Digest{}, ctx.Err()
}

// Abort ends an upload and removes its payload. It is idempotent.
func (s *Store) Abort(_ context.Context, owner, id string) (pannier.Upload, error) {
	u, err := s.find(owner, id)
	if err != nil {
		return pannier.Upload{}, err
	}
	u.payload.Lock()
	defer u.payload.Unlock()
	up, held := s.snapshot(u)
	switch {
	case held:
		return pannier.Upload{}, inUse(id)
	case up.Status == pannier.UploadAborted:
		return up, nil
	case up.Status != pannier.UploadReceiving && up.Status != pannier.UploadReady:
		return pannier.Upload{}, wrongStatus(id, up.Status, "be aborted")
	}
	return s.setStatus(u, pannier.UploadAborted)
}

// Status returns an upload.
func (s *Store) Status(_ context.Context, owner, id string) (pannier.Upload, error) {
	u, err := s.find(owner, id)
	if err != nil {
		return pannier.Upload{}, err
	}
	up, _ := s.snapshot(u)
	return up, nil
}

func (s *Store) snapshot(u *session) (up pannier.Upload, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	up = u.Upload
	up.Status = u.statusAt(s.now())
	return up, u.held
}

// setStatus changes the status of an upload, on disk first, and removes the payload if the upload has ended. The caller
// holds the payload. An error leaves the upload unchanged.
func (s *Store) setStatus(u *session, status pannier.UploadStatus) (pannier.Upload, error) {
	s.mu.Lock()
	kept := row{Owner: u.owner, Upload: u.Upload}
	s.mu.Unlock()
	kept.Upload.Status = status
	if status == pannier.UploadReady {
		kept.Upload.ExpiresAt = s.now().Add(s.o.Limits.TTL)
	} else {
		kept.EndedAt = s.now()
	}
	if err := s.o.Values.Put(bucket, kept.Upload.ID, kept); err != nil {
		return pannier.Upload{}, fmt.Errorf("store that upload %s is %s: %w", kept.Upload.ID, status, err)
	}
	s.mu.Lock()
	u.Status, u.ExpiresAt, u.endedAt = kept.Upload.Status, kept.Upload.ExpiresAt, kept.EndedAt
	ended := !u.live()
	s.mu.Unlock()
	if ended {
		id := kept.Upload.ID
		if err := os.Remove(s.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) { // the next start retries
			s.o.Logger.Warn("removing the payload of an upload failed", "upload", id, "error", err)
		}
	}
	return kept.Upload, nil
}

// Run ends expired uploads until ctx is done.
func (s *Store) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			s.sweep()
		}
	}
}

// sweep ends expired uploads, and forgets uploads that ended long ago.
func (s *Store) sweep() {
	var late []*session
	s.mu.Lock()
	for _, u := range s.sessions {
		if u.live() && u.statusAt(s.now()) == pannier.UploadExpired {
			late = append(late, u)
		}
	}
	s.mu.Unlock()
	for _, u := range late {
		s.expire(u)
	}
	for _, id := range s.forgettable() {
		if err := s.o.Values.Delete(bucket, id); err != nil {
			s.o.Logger.Warn("removing the row of an ended upload failed", "upload", id, "error", err)
			continue
		}
		s.mu.Lock()
		delete(s.sessions, id)
		s.mu.Unlock()
	}
}

// expire ends an upload, unless it was used meanwhile.
func (s *Store) expire(u *session) {
	u.payload.Lock()
	defer u.payload.Unlock()
	s.mu.Lock()
	late := u.live() && u.statusAt(s.now()) == pannier.UploadExpired
	s.mu.Unlock()
	if !late {
		return
	}
	if _, err := s.setStatus(u, pannier.UploadExpired); err != nil {
		s.o.Logger.Warn("ending an expired upload failed", "error", err)
	}
}
