package answer

import (
	"errors"
	"sync"

	"pannier"
)

// Shared keeps the encoded answers of one snapshot and one generation of what is known beside it, so that however
// many clients ask for a large list at once, it is encoded once and there is one copy of it. The zero value keeps
// nothing yet.
type Shared struct {
	mu         sync.Mutex
	snapshot   *pannier.Snapshot
	generation uint64
	answers    map[string]*sharedAnswer
}

// sharedAnswer is one encoded answer. The first caller builds it, the others wait. A failure is not cached.
type sharedAnswer struct {
	once sync.Once
	body Encoded
	err  error
}

// maxShared bounds the answers that are kept; there are not so many kinds of list.
const maxShared = 16

// Of returns the answer to a question, which make makes.
func (a *Shared) Of(
	s *pannier.Snapshot, generation uint64, question string, make func() (Encoded, error),
) (Encoded, error) {
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

func (a *Shared) drop(question string, answer *sharedAnswer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answers[question] == answer {
		delete(a.answers, question)
	}
}

func (a *Shared) slot(s *pannier.Snapshot, generation uint64, question string) *sharedAnswer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.snapshot != s {
		a.snapshot, a.answers = s, map[string]*sharedAnswer{}
	}
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

// DropLarge drops the answers if the snapshot makes them large. The next request for one makes it again.
func (a *Shared) DropLarge() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.snapshot != nil && len(a.snapshot.Entries) > manySkills {
		clear(a.answers)
	}
}
