// Package onetime keeps secrets that hold for a short time and for one use, each with a value.
package onetime

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"
)

// The bounds of a [Store].
const (
	// maxOwned bounds the secrets of one owner. The oldest is dropped for one more.
	maxOwned = 16
	// maxAll bounds the secrets of all owners. The oldest is dropped for one more.
	maxAll = 4096
)

// Store keeps secrets. It is for any number of callers, and made by [New].
type Store[T any] struct {
	ttl time.Duration

	mu    sync.Mutex
	kept  map[[sha256.Size]byte]kept[T]
	order [][sha256.Size]byte // the oldest first; some are used already
}

type kept[T any] struct {
	owner string
	value T
	ends  time.Time
}

// New returns a store whose secrets hold for ttl.
func New[T any](ttl time.Duration) *Store[T] {
	return &Store[T]{ttl: ttl, kept: map[[sha256.Size]byte]kept[T]{}}
}

// Text returns a text that cannot be guessed, for a URL or a header.
func Text() string {
	chance := make([]byte, 32)
	rand.Read(chance) // it does not fail
	return base64.RawURLEncoding.EncodeToString(chance)
}

// Issue returns a new secret for a value. The owner is whose secrets are counted together.
func (s *Store[T]) Issue(owner string, value T) string {
	text := Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(owner)
	key := sha256.Sum256([]byte(text))
	s.kept[key] = kept[T]{owner, value, time.Now().Add(s.ttl)}
	s.order = append(s.order, key)
	return text
}

// dropLocked drops what does not hold any more, and what is too much beside one more secret of an owner.
func (s *Store[T]) dropLocked(owner string) {
	now, owned := time.Now(), 0
	live := s.order[:0]
	for _, key := range s.order {
		entry, ok := s.kept[key]
		if !ok || !now.Before(entry.ends) {
			delete(s.kept, key)
			continue
		}
		if entry.owner == owner {
			owned++
		}
		live = append(live, key)
	}
	s.order = live
	for _, key := range live {
		full, mine := len(s.kept) >= maxAll, s.kept[key].owner == owner
		if !full && owned < maxOwned {
			return
		}
		if full || mine {
			delete(s.kept, key) // the next call takes it out of the order
		}
		if mine {
			owned--
		}
	}
}

// Use returns the value of a secret, once.
func (s *Store[T]) Use(text string) (value T, ok bool) {
	key := sha256.Sum256([]byte(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	entry, ok := s.kept[key]
	delete(s.kept, key)
	if !ok || !time.Now().Before(entry.ends) {
		return value, false
	}
	return entry.value, true
}
