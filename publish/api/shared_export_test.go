package api

import (
	"encoding/json"

	"pannier"
)

// SharedAnswers keeps the answers about one snapshot.
type SharedAnswers = sharedAnswers

// Of returns the answer to one question.
func (a *sharedAnswers) Of(s *pannier.Snapshot, make func() (json.RawMessage, error)) (json.RawMessage, error) {
	answer, err := a.of(s, 0, "question", func() (encoded, error) {
		body, err := make()
		return encoded{body: body}, err
	})
	return answer.body, err
}
