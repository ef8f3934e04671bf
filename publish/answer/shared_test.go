package answer_test

import (
	"errors"
	"testing"

	"pannier"
	"pannier/publish/answer"
)

// TestBrokenAnswerIsNotKept, be it that making it panics or fails.
func TestBrokenAnswerIsNotKept(t *testing.T) {
	s := &pannier.Snapshot{}
	for name, broken := range map[string]func() (answer.Encoded, error){
		"panics": func() (answer.Encoded, error) { panic("broken") },
		"fails":  func() (answer.Encoded, error) { return answer.Encoded{}, errors.New("broken") },
	} {
		var shared answer.Shared
		func() {
			defer func() { _ = recover() }()
			if _, err := shared.Of(s, 0, "question", broken); err == nil {
				t.Errorf("%s: no error", name)
			}
		}()
		body, err := shared.Of(s, 0, "question", func() (answer.Encoded, error) { return answer.New([]byte("1")), nil })
		if string(body.Body) != "1" || err != nil {
			t.Errorf("%s: the next caller got %q, %v", name, body.Body, err)
		}
		if body, err = shared.Of(s, 0, "question", broken); string(body.Body) != "1" || err != nil {
			t.Errorf("%s: the one behind got %q, %v", name, body.Body, err)
		}
	}
}
