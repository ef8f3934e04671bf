package api_test

import (
	"encoding/json"
	"errors"
	"testing"

	"pannier/publish/api"
)

// TestBrokenAnswerIsNotKept, be it that making it panics or fails.
func TestBrokenAnswerIsNotKept(t *testing.T) {
	s := catalog()
	for name, broken := range map[string]func() (json.RawMessage, error){
		"panics": func() (json.RawMessage, error) { panic("broken") },
		"fails":  func() (json.RawMessage, error) { return nil, errors.New("broken") },
	} {
		var shared api.SharedAnswers
		func() {
			defer func() { _ = recover() }()
			if _, err := shared.Of(s, broken); err == nil {
				t.Errorf("%s: no error", name)
			}
		}()
		body, err := shared.Of(s, func() (json.RawMessage, error) { return json.RawMessage(`1`), nil })
		if string(body) != "1" || err != nil {
			t.Errorf("%s: the next caller got %q, %v", name, body, err)
		}
		if body, err = shared.Of(s, broken); string(body) != "1" || err != nil {
			t.Errorf("%s: the one behind got %q, %v", name, body, err)
		}
	}
}
