package molecule_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
)

var promotion = pannier.Promotion{
	Packet:  json.RawMessage(`{"promote_to_skill":true,"repetition_signal":3,"scope":"TEAM","memory_id":"m1"}`),
	Summary: "Back up", Repetition: json.RawMessage(`3`),
}

// TestPromote tells of a promotion with the token as it is now.
func TestPromote(t *testing.T) {
	var told []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told = append(told, r.Header.Get("Authorization")+" "+r.Method+" "+r.URL.Path+" "+string(body))
		if r.Header.Get("Authorization") != "Bearer new" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	token := &atomic.Int32{}
	p := newPublisher(t, options{URL: server.URL, Token: func() (string, error) {
		return [...]string{"old", "new", "new"}[min(token.Add(1)-1, 2)], nil
	}})
	if _, err := p.Promote(t.Context(), promotion); err != nil {
		t.Fatal(err)
	}
	const activity = ` POST /workspaces/6f1d4a52-3c0e-4d0a-9d5f-1f0c9a7b1e11/activity {"activity_type":"skill_promotion","method":"memory/skill-promotion","summary":"Back up","status":"ok","source_id":"6f1d4a52-3c0e-4d0a-9d5f-1f0c9a7b1e11","request_body":{"promote_to_skill":true,"repetition_signal":3,"scope":"TEAM","memory_id":"m1"},"metadata":{"source":"memory-curation","scope":"TEAM","memory_id":"m1","promote_to_skill":true,"repetition_signal":3,"memory_packet":{"promote_to_skill":true,"repetition_signal":3,"scope":"TEAM","memory_id":"m1"}}}`
	want := []string{"Bearer old" + activity, "Bearer new" + activity}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPromoteThatFails says so without the token.
func TestPromoteThatFails(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		http.Error(w, `{"error":"no secret-token here"}`, http.StatusForbidden)
	}))
	defer server.Close()
	p := newPublisher(t, options{URL: server.URL, Token: func() (string, error) { return "secret-token", nil }})
	_, err := p.Promote(t.Context(), promotion)
	if err == nil || strings.Contains(err.Error(), "secret-token") || !strings.Contains(err.Error(), "403") || asked != 1 {
		t.Errorf("%v after %d requests", err, asked)
	}
}
