package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pannier"
)

// TestPromotionThatAPlatformRefuses is reported with exit code 1, kept over a restart, and sent again.
func TestPromotionThatAPlatformRefuses(t *testing.T) {
	t.Parallel()
	var open atomic.Bool
	var taken atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasSuffix(r.URL.Path, "/activity"):
			_, _ = io.WriteString(w, `{"status":"updated"}`)
		case !open.Load():
			http.Error(w, `{"error":"not now"}`, http.StatusForbidden)
		default:
			taken.Add(1)
			_, _ = io.WriteString(w, `{"status":"logged"}`)
		}
	}))
	defer server.Close()
	w, stateDir, packet := newWorkspace(t), t.TempDir(), filepath.Join(t.TempDir(), "packet.json")
	need(t, os.WriteFile(packet, []byte(`{"promote_to_skill": true, "repetition_signal": "five times", "summary": "Back up"}`), 0o600))
	args := []string{
		"--platform-url", server.URL, "--platform-token-file", tokenFile(t), "--platform-follow=off", "--state-dir", stateDir,
	}
	s := startSidecar(t, w, args...)
	out, code := s.run("promote", packet, "--record")
	if code != exitNo || !strings.Contains(out, "not accepted by") || !strings.Contains(out, "not now") || !strings.Contains(out, "sent again") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	s.tellsOf(t, "promotion_pending")
	s.kill()
	open.Store(true)
	s = startSidecar(t, w, args...)
	eventually(t, "the promotion is taken", func() error {
		h, err := s.Health(t.Context())
		if err != nil || taken.Load() == 0 || slices.ContainsFunc(h.Conditions, func(c pannier.Condition) bool { return c.Code == "promotion_pending" }) {
			return io.ErrNoProgress
		}
		return nil
	})
	s.runs(t, exitYes, "accepted", "promote", packet, "--record")
}

func TestDraft(t *testing.T) {
	p, err := pannier.ParsePromotion([]byte(`{"promote_to_skill":true,"repetition_signal":{"count":3},"summary":"Back up: the \"nightly\" database","steps":["stop\nwrites","dump"],"when":"at night","owner":"ops","secret\u202e":7}`))
	need(t, err)
	const want = `---
name: back-up-the-nightly-database
description: "Back up: the \"nightly\" database"
version: "0.1.0"
disable-model-invocation: true
---

# Back up: the "nightly" database

This is a draft that was made of a memory packet. Review it, write down when it is to be used, and take out
` + "`disable-model-invocation`" + ` before it is used without being asked for.

## When to use it

at night

## Steps

1. stop writes
2. dump

## Why this is a skill

` + "`" + `{"count":3}` + "`" + `

## Notes from the packet

- owner: ops
- secret: ` + "`7`" + `
`
	slug, text := draftOf(p)
	if slug != "back-up-the-nightly-database" || text != want {
		t.Errorf("%s:\n%s", slug, text)
	}
	for summary, want := range map[string]string{"技能": "drafted-skill", strings.Repeat("word ", 30): strings.TrimSuffix(strings.Repeat("word-", 13), "-"), strings.Repeat("x", 99): strings.Repeat("x", 64)} {
		if slug, _ := draftOf(pannier.Promotion{Summary: summary, Packet: []byte("{}")}); slug != want {
			t.Errorf("%.20s: %q, want %q", summary, slug, want)
		}
	}
}
