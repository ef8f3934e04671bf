package devplatform_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pannier"
	"pannier/publish/card"
	"pannier/publish/platform"
)

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
	publisher, err := platform.New(platform.Options{
		URL: url, WorkspaceID: first, Token: platform.TokenFile(file),
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
		case push := <-pushed:
			if push.Digest != c.Digest || push.Error != "" {
				t.Errorf("event %+v", push)
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
