package upload

import (
	"crypto/rand"
	"crypto/sha256"
	"hash"
	"strings"
	"sync"
	"time"

	"pannier"
)

// session is one upload.
type session struct {
	// payload is held by whoever changes the file or the status. It is taken before the store's mutex.
	payload sync.Mutex
	// sum is that of the first Received bytes, nil where it has to be made anew of the file. payload guards it.
	sum hash.Hash

	// The store's mutex guards the rest.
	pannier.Upload
	owner string
	// generation grows with each chunk that begins. Whoever writes with an older one has been overtaken.
	generation uint64
	// held is set while somebody installs it.
	held    bool
	endedAt time.Time
}

// live reports whether there is a payload.
func (u *session) live() bool {
	return u.Status == pannier.UploadReceiving || u.Status == pannier.UploadReady
}

// statusAt returns the status at a time: one that has waited too long has expired, whether or not that was seen to.
func (u *session) statusAt(now time.Time) pannier.UploadStatus {
	if u.live() && !u.held && !now.Before(u.ExpiresAt) {
		return pannier.UploadExpired
	}
	return u.Status
}

// row is a session as it is kept. How much was received is not: the length of the file tells.
type row struct {
	Owner   string         `json:"owner"`
	EndedAt time.Time      `json:"ended_at,omitzero"`
	Upload  pannier.Upload `json:"upload"`
}

func (r row) session() *session {
	return &session{Upload: r.Upload, owner: r.Owner, endedAt: r.EndedAt}
}

// The form of an id: the server makes it, so that it can be the name of a file and can not be guessed.
const (
	idPrefix = "upl_"
	idDigits = 21
	idLetter = "abcdefghijklmnopqrstuvwxyz234567"
)

func newID() string { return idPrefix + strings.ToLower(rand.Text()[:idDigits]) }

func isID(name string) bool {
	digits, ok := strings.CutPrefix(name, idPrefix)
	return ok && len(digits) == idDigits && strings.Trim(digits, idLetter) == ""
}

// find returns a session of an owner. Those of others do not exist for it.
func (s *Store) find(owner, id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, ok := s.sessions[id]; ok && u.owner == owner {
		return u, nil
	}
	return nil, notFound(id)
}

// sumOf returns a copy of the sum of what was received, to be fed with what comes next; nil where it is not known.
func (u *session) sumOf() hash.Hash {
	if u.Received == 0 {
		return sha256.New()
	}
	cloner, ok := u.sum.(hash.Cloner)
	if !ok {
		return nil
	}
	clone, err := cloner.Clone()
	if err != nil {
		return nil
	}
	return clone
}
