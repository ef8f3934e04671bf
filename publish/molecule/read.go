package molecule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"pannier"
	"pannier/publish/card"
	"pannier/publish/push"
)

const (
	// maxDescriptionBytes is how much of a description of a workspace is read at most. Other members than the card are
	// skipped.
	maxDescriptionBytes = 64 << 20
	// maxRegisteredBytes is the largest registered card that is kept, beside what our own card may take in it.
	maxRegisteredBytes = 4 << 20
	// maxEscape is how much longer a text becomes at most if it is written with other escapes: one byte as \u003c.
	maxEscape = 6
	// unreadFor is how long a push without a reading, or without url, is reported.
	unreadFor = time.Hour
)

// foreign stands for a registered card that is too large to be ours, and so not read.
var foreign = json.RawMessage(`{}`)

var errNoDescription = errors.New("the answer is not a JSON object")

type reading struct {
	own func(card.Card) parsedCard // parses our card
	// card is the registered card; its text is null or nil for none.
	card parsedCard
	// missing is what the platform said if it does not have the workspace any more, or never had.
	missing string
	// compared is the card that was compared with last, and held whether it is held.
	compared json.RawMessage
	held     bool
}

func (r *reading) Holds(c card.Card) bool {
	if r.compared == nil || !bytes.Equal(r.compared, c.JSON) {
		r.compared, r.held = c.JSON, r.card.holds(r.own(c))
	}
	return r.held
}

// Shown implements [push.Shower].
func (r *reading) Shown() json.RawMessage {
	if r.card.members == nil {
		return nil
	}
	return r.card.text
}

func (r *reading) Missing() string { return r.missing }

func (r *reading) Difference(c card.Card) (text, hint string) {
	switch {
	case r.missing != "":
		return r.missing, hintUnknown
	case r.card.members == nil:
		return "it shows none", hintUnknown
	}
	return "it shows another one, which differs in " + differingKey(r.card.members, r.own(c).members), hintLost
}

// Read asks the platform what it stores of the workspace. The registered card is kept for the next push.
func (t *Target) Read(ctx context.Context, newest card.Card) (push.Reading, push.Outcome, error) {
	var info map[string]json.RawMessage
	a, token, err := t.do(ctx, Call{Method: http.MethodGet, Target: t.workspace, Limit: maxDescriptionBytes, take: func(body io.Reader) (err error) {
		info, err = descriptionOf(body, sizeLimit(maxRegisteredBytes, newest.JSON))
		return err
	}})
	if err == nil && a.Status/100 == 2 {
		err = a.broken
	}
	// A server without the route has other words for it.
	missing := err == nil && (a.Status == http.StatusNotFound || a.Status == http.StatusGone) && strings.Contains(strings.ToLower(a.Message), "workspace")
	switch {
	case missing:
		return t.recordReading(reading{missing: secretsOf(token, t.header).clean(a.Message)}, newest), push.Outcome{}, nil
	case err == nil && a.Status/100 == 2:
		r := reading{card: parseCard(unwrapped(info["agent_card"]))}
		if status, _ := decode(info["status"]).(string); status == "removed" {
			r.missing = "workspace removed"
		}
		return t.recordReading(r, newest), push.Outcome{}, nil
	}
	t.readFailed = true
	o, failure := t.sideRequestOutcome("read card", token, a, err)
	o.Final = isFinal(a.Status, err)
	return nil, o, failure
}

// isFinal reports whether reading again soon will fail in the same way.
func isFinal(status int, err error) bool {
	if err != nil {
		_, redirected := errors.AsType[*redirectError](err)
		return redirected || errors.Is(err, errNoDescription) || errors.Is(err, ErrTooLarge)
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status/100 != 5 || status == http.StatusNotImplemented
}

func (t *Target) recordReading(r reading, newest card.Card) *reading {
	t.registered, r.own = r.card, t.parseOwn
	beside := len(membersBeside(t.parseOwn(newest).members, r.card.members))
	t.state.mu.Lock()
	defer t.state.mu.Unlock()
	t.state.wasRead = true
	if beside > 0 {
		t.state.unread = time.Time{} // another writer has written again since
	}
	return &r
}

// unreadConditions reports such a push for an hour after it, once the platform shows what it holds.
func (s *state) unreadConditions(subject string) []pannier.Condition {
	if s.unread.IsZero() || !s.wasRead || time.Since(s.unread) > unreadFor {
		return nil
	}
	return []pannier.Condition{{
		Code: "card_pushed_unread", Severity: pannier.SeverityInfo, Since: s.unread, Subject: subject,
		Message: "the card was pushed while the registered one could not be read, so what others had written beside it, such as its url, may be gone",
		Hint:    "have the agent register again, as it does when it is restarted",
	}}
}

// sizeLimit returns how large a text with our own card in it may be, in whatever way that is written, and so much
// beside it.
func sizeLimit(beside int64, own json.RawMessage) int64 { return beside + maxEscape*int64(len(own)) }

// descriptionOf reads the needed members of a description of a workspace. A card of more than limit bytes is [foreign].
func descriptionOf(body io.Reader, limit int64) (info map[string]json.RawMessage, err error) {
	d := newBoundedDecoder(body)
	ok, err := d.enter('{')
	if ok {
		info, err = d.members(func(key string) int {
			switch key {
			case "agent_card":
				return int(limit)
			case "status":
				return maxKeyBytes
			}
			return 0
		})
	}
	switch {
	case !ok && err == nil, errors.Is(err, io.EOF):
		return nil, errNoDescription
	case err != nil:
		return nil, err
	}
	if card, has := info["agent_card"]; has && card == nil {
		info["agent_card"] = foreign
	}
	_, _ = io.CopyN(io.Discard, body, maxKeyBytes) // so that the connection can be used again
	return info, nil
}

// unwrapped returns the card in a text: some servers hold cards as texts.
func unwrapped(card json.RawMessage) json.RawMessage {
	if len(card) == 0 || card[0] != '"' {
		return card
	}
	if text, _ := decode(card).(string); objectOf(json.RawMessage(text)) != nil {
		return json.RawMessage(text)
	}
	return card
}
