package push

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pannier/publish/card"
)

type deafTarget struct{}

func (deafTarget) Push(context.Context, card.Card) (Outcome, error) { return Outcome{}, nil }

// TestHistoryIsBounded keeps the newest attempts, and says why it is not known what the target holds.
func TestHistoryIsBounded(t *testing.T) {
	p, err := New(deafTarget{}, Options{Endpoint: "e", WorkspaceID: "w"})
	if err != nil {
		t.Fatal(err)
	}
	if cards := p.Cards(); cards.Wanted != nil || cards.Has != nil || !strings.Contains(cards.Reason, "not read back") || cards.Pushes == nil {
		t.Errorf("%+v", cards)
	}
	begun := time.Unix(1000, 0)
	for i := range 120 {
		a := attempt{}
		if i%2 == 1 {
			a = attempt{Outcome{Reason: Server}, errors.New("no")}
		}
		p.state.recordAttempt(card.Card{SnapshotVersion: uint64(i)}, a, begun, begun.Add(3*time.Millisecond))
	}
	pushes := p.Cards().Pushes
	if len(pushes) != maxHistory || cap(p.state.history.attempts) > 2*maxHistory {
		t.Fatalf("%d attempts in %d", len(pushes), cap(p.state.history.attempts))
	}
	if newest := pushes[0]; newest.Version != 119 || newest.Outcome != string(Server) || newest.Error != "no" || newest.MS != 3 {
		t.Errorf("%+v", newest)
	}
	if oldest := pushes[maxHistory-1]; oldest.Version != 70 || oldest.Outcome != "pushed" || oldest.Error != "" {
		t.Errorf("%+v", oldest)
	}
	p.state.recordShown(readResult{attempt: attempt{err: errors.New("gone")}}, begun)
	p.reader = failingReader{}
	if reason := p.Cards().Reason; !strings.Contains(reason, "gone") {
		t.Error(reason)
	}
}

type failingReader struct{}

func (failingReader) Read(context.Context, card.Card) (Reading, Outcome, error) {
	return nil, Outcome{}, errors.New("gone")
}
