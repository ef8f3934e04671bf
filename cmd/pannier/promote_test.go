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
