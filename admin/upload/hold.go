package upload

import (
	"context"
	"fmt"
	"os"
	"sync"

	"pannier"
)

// Hold locks a ready upload until done is called; consumed says that it is no longer needed. A held upload neither
// expires nor can it be aborted or held again. done closes the archive and is idempotent.
func (s *Store) Hold(_ context.Context, owner, id string) (archive *os.File, up pannier.Upload, done func(consumed bool) error, err error) {
	u, err := s.find(owner, id)
	if err != nil {
		return nil, pannier.Upload{}, nil, err
	}
	u.payload.Lock()
	defer u.payload.Unlock()
	if up, err = s.hold(u); err != nil {
		return nil, pannier.Upload{}, nil, err
	}
	archive, err = os.Open(s.path(id))
	if err != nil {
		s.release(u)
		return nil, pannier.Upload{}, nil, fmt.Errorf("open upload %s: %w", id, err)
	}
	var once sync.Once
	return archive, up, func(consumed bool) (err error) {
		once.Do(func() {
			archive.Close() // it was only read
			u.payload.Lock()
			defer u.payload.Unlock()
			defer s.release(u)
			if consumed {
				_, err = s.setStatus(u, pannier.UploadConsumed)
			}
		})
		return err
	}, nil
}

func (s *Store) hold(u *session) (pannier.Upload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := u.statusAt(s.now())
	switch {
	case u.held:
		return pannier.Upload{}, inUse(u.ID)
	case status == pannier.UploadReceiving:
		return pannier.Upload{}, refuse("upload.status", "finish it first", "upload %s is not finished", u.ID)
	case status != pannier.UploadReady:
		return pannier.Upload{}, wrongStatus(u.ID, status, "be installed")
	}
	u.held = true
	return u.Upload, nil
}

// release makes a held upload available again.
func (s *Store) release(u *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.held = false
	u.ExpiresAt = s.now().Add(s.o.Limits.TTL)
}
