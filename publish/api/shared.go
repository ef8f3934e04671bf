package api

import (
	"errors"
	"net/http"
	"sync"

	"pannier"
	"pannier/service"
)

// sharedAnswers keeps the encoded answers of one snapshot and one generation of fingerprints, so that however many callers ask for a large list at once, it is
// encoded once and there is one copy of it; and what the answers to turns about that snapshot have in common.
type sharedAnswers struct {
	mu         sync.Mutex
	snapshot   *pannier.Snapshot
	generation uint64
	answers    map[string]*sharedAnswer
	turns      *turns

	spare sync.Pool // of *turnAnswer
}

// sharedAnswer is one encoded answer. The first caller builds it, the others wait. A failure is not cached.
type sharedAnswer struct {
	once sync.Once
	body encoded
	err  error
}

// maxShared bounds the answers that are kept; there are not so many kinds of list.
const maxShared = 16

func (a *sharedAnswers) of(s *pannier.Snapshot, generation uint64, question string, make func() (encoded, error)) (encoded, error) {
	answer := a.slot(s, generation, question)
	answer.once.Do(func() {
		answer.err = errBuildAborted // what stays where make panics
		defer func() {
			if answer.err != nil {
				a.drop(question, answer)
			}
		}()
		answer.body, answer.err = make()
	})
	return answer.body, answer.err
}

// errBuildAborted is the error of callers that waited for one that panicked.
var errBuildAborted = errors.New("building the response failed; retry")

func (a *sharedAnswers) drop(question string, answer *sharedAnswer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answers[question] == answer {
		delete(a.answers, question)
	}
}

func (a *sharedAnswers) slot(s *pannier.Snapshot, generation uint64, question string) *sharedAnswer {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resetLocked(s)
	if len(a.answers) >= maxShared || a.generation != generation {
		a.generation = generation
		a.answers = map[string]*sharedAnswer{}
	}
	answer, ok := a.answers[question]
	if !ok {
		answer = &sharedAnswer{}
		a.answers[question] = answer
	}
	return answer
}

// manySkills is how many make lists large.
const manySkills = 1000

// DropLists drops encoded lists if they are large. The next request for one makes it again.
func (h *Handler) DropLists() {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	if s := h.shared.snapshot; s != nil && len(s.Entries) > manySkills {
		clear(h.shared.answers)
	}
}

// turnsOf returns what the answers to turns about a snapshot have in common.
func (a *sharedAnswers) turnsOf(s *pannier.Snapshot, o Options, used *service.Activity) *turns {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resetLocked(s)
	if a.turns == nil {
		a.turns = newTurns(s, o, used)
	}
	return a.turns
}

// resetLocked drops what is kept of any other snapshot.
func (a *sharedAnswers) resetLocked(s *pannier.Snapshot) {
	if a.snapshot != s {
		a.snapshot, a.answers, a.turns = s, map[string]*sharedAnswer{}, nil
	}
}

// acquire returns an empty answer to a turn, for release to take back.
func (a *sharedAnswers) acquire() *turnAnswer {
	if answer, ok := a.spare.Get().(*turnAnswer); ok {
		return answer
	}
	return &turnAnswer{}
}

func (a *sharedAnswers) release(answer *turnAnswer) {
	answer.empty()
	a.spare.Put(answer)
}

// writeShared answers with what every caller of the same question gets.
func (h *Handler) writeShared(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot, question string, make func() (encoded, error)) error {
	answer, err := h.shared.of(s, h.generation(), question, make)
	if err == nil {
		writeEncoded(w, r, "application/json", answer)
	}
	return err
}
