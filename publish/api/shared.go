package api

import (
	"net/http"
	"sync"

	"pannier"
)

// sharedAnswers keeps the encoded answers of one snapshot, so that however many callers ask for a large list at once, it is
// encoded once and there is one copy of it.
type sharedAnswers struct {
	mu       sync.Mutex
	snapshot *pannier.Snapshot
	answers  map[string]*sharedAnswer
}

// sharedAnswer is one encoded answer. The one who makes it holds the others up, once.
type sharedAnswer struct {
	once sync.Once
	body encoded
	err  error
}

// maxShared bounds the answers that are kept; there are not so many kinds of list.
const maxShared = 16

// of returns the answer of a snapshot to a question, and makes it where nobody has asked yet.
func (a *sharedAnswers) of(s *pannier.Snapshot, question string, make func() (any, error)) (encoded, error) {
	answer := a.slot(s, question)
	answer.once.Do(func() {
		var value any
		if value, answer.err = make(); answer.err == nil {
			answer.body, answer.err = encode(value)
		}
	})
	return answer.body, answer.err
}

func (a *sharedAnswers) slot(s *pannier.Snapshot, question string) *sharedAnswer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.snapshot != s || len(a.answers) >= maxShared {
		a.snapshot, a.answers = s, map[string]*sharedAnswer{}
	}
	answer, ok := a.answers[question]
	if !ok {
		answer = &sharedAnswer{}
		a.answers[question] = answer
	}
	return answer
}

// writeShared answers with what every caller of the same question gets.
func (h *Handler) writeShared(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot, question string, make func() (any, error)) error {
	answer, err := h.shared.of(s, question, make)
	if err != nil {
		return err
	}
	writeEncoded(w, r, "application/json", answer)
	return nil
}
