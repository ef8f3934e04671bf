package upload

import (
	"strings"
	"sync"
	"time"

	"pannier"
)

// session is one upload.
type session struct {
	// payload guards the file and the status. It is locked before the mutex of the store.
	payload sync.Mutex

	// The mutex of the store guards the rest.
	pannier.Upload
	owner string
	// generation counts the chunks that began. A writer with an older one was overtaken.
	generation uint64
	// held says that the upload is being installed.
	held    bool
	endedAt time.Time
}

// live reports whether there is a payload.
func (u *session) live() bool {
	return u.Status == pannier.UploadReceiving || u.Status == pannier.UploadReady
}

// statusAt returns the status at a time, also if the expiry was not processed yet.
func (u *session) statusAt(now time.Time) pannier.UploadStatus {
	if u.live() && !u.held && !now.Before(u.ExpiresAt) {
		return pannier.UploadExpired
	}
	return u.Status
}

// row is the stored session. The received bytes are not stored: they are the length of the file.
type row struct {
	Owner   string         `json:"owner"`
	EndedAt time.Time      `json:"ended_at,omitzero"`
	Upload  pannier.Upload `json:"upload"`
}

// The form of an id: random, and usable as a file name.
const (
	idPrefix = "upl_"
	idDigits = 21
	idLetter = "abcdefghijklmnopqrstuvwxyz234567"
)

func isID(name string) bool {
	digits, ok := strings.CutPrefix(name, idPrefix)
	return ok && len(digits) == idDigits && strings.Trim(digits, idLetter) == ""
}

// find returns a session of an owner.
func (s *Store) find(owner, id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, ok := s.sessions[id]; ok && u.owner == owner {
		return u, nil
	}
	return nil, notFound(id)
}
