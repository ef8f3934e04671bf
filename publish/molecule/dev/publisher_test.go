package dev_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pannier"
	"pannier/publish/card"
	"pannier/publish/molecule"
	"pannier/publish/push"
)

func newPublisher(t *testing.T, to molecule.Options, o push.Options) (*push.Publisher, error) {
	target, err := molecule.New(to)
	if err != nil {
		return nil, err
	}
	t.Cleanup(target.Close)
	o.Endpoint, o.WorkspaceID = target.Endpoint(), target.WorkspaceID()
	return push.New(target, o)
}

// TestPublisher has both sides of the wire meet, with a token that is replaced in between.
func TestPublisher(t *testing.T) {
	p, url := newPlatform(t)
	file := filepath.Join(t.TempDir(), ".auth_token")
	writeToken := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeToken(token)
	pushed := make(chan pannier.CardPush, 10)
	publisher, err := newPublisher(t, molecule.Options{URL: url, WorkspaceID: first, Token: molecule.NewFileToken(file, false).Read}, push.Options{
		Emit: func(_ pannier.EventType, data any) { pushed <- data.(pannier.CardPush) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- publisher.Run(ctx) }()
	offer := func(text string) {
		t.Helper()
		c := card.Card{JSON: json.RawMessage(text), Digest: pannier.DigestOf([]byte(text))}
		publisher.Offer(c)
		select {
		case event := <-pushed:
			if event.Digest != c.Digest || event.Error != "" {
				t.Errorf("event %+v", event)
			}
		case <-time.After(deadline):
			t.Fatalf("not pushed: %+v", publisher.Health())
		}
		if stored, _ := p.Card(first); string(stored) != text {
			t.Errorf("stored %s, want %s", stored, text)
		}
	}
	offer(`{"name":"a"}`)
	p.Revoke(first)
	minted, err := p.Seed(first, "")
	if err != nil {
		t.Fatal(err)
	}
	writeToken(minted)
	offer(`{"name":"b"}`)
	cancel()
	if err := <-ended; err != nil || p.Updates(first) != 2 {
		t.Errorf("Run returned %v after %d updates, want 2", err, p.Updates(first))
	}
}

// TestPublisherAfterAgent has an agent register its card while the sidecar is away, over real connections.
func TestPublisherAfterAgent(t *testing.T) {
	p, url := newPlatform(t)
	pushed := make(chan pannier.EventType, 10)
	to := molecule.Options{URL: url, WorkspaceID: first, Token: func() (string, error) { return token, nil }}
	o := push.Options{Outbox: t.TempDir(), ReadBack: true, Emit: func(kind pannier.EventType, _ any) { pushed <- kind }}
	text := json.RawMessage(`{"name":"a"}`)
	run := func() {
		t.Helper()
		publisher, err := newPublisher(t, to, o)
		if err != nil {
			t.Fatal(err)
		}
		publisher.Offer(card.Card{JSON: text, Digest: pannier.DigestOf(text)})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- publisher.Run(ctx) }()
		select {
		case kind := <-pushed:
			if kind != pannier.EventCardPushed {
				t.Errorf("event %v, health %+v", kind, publisher.Health())
			}
		case <-time.After(deadline):
			t.Errorf("not pushed: %+v", publisher.Health())
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	run()
	call(p, "POST", "/registry/register", bearer, `{"id":"`+first+`","url":"http://agent.example","agent_card":{"name":"boot","url":"http://agent.example","runtime":"langgraph"}}`)
	run()
	if stored, _ := p.Card(first); string(stored) != `{"name":"a","runtime":"langgraph","url":"http://agent.example"}` {
		t.Errorf("stored %s", stored)
	}
}
