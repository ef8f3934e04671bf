package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
)

// TestWhatAPageReads: the card that the platform shows, pushes, counts and the audit log, as they follow from an installation.
func TestWhatAPageReads(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := startSidecar(t, newWorkspace(t), "--state-dir", state) // with the embedded platform
	archive := packed(map[string]string{"a/SKILL.md": skillFile("a", "1"), "b/SKILL.md": brokenFile})
	if status, text := sendFiles(t, s, "/v1/skills?several=1", "application/gzip", archive); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	var status pannier.CardStatus
	shows := func(card json.RawMessage) bool { return strings.Contains(string(card), `"id":"a"`) }
	eventually(t, "the platform shows the skill", func() error {
		getJSON(t, s, "/v1/card/status", &status)
		if len(status.Platforms) != 1 || !shows(status.Platforms[0].Has) {
			return fmt.Errorf("%+v", status)
		}
		return nil
	})
	p := status.Platforms[0]
	if !shows(p.Wanted) || p.Reason != "" || p.ReadAt.IsZero() || len(p.Pushes) == 0 || p.Pushes[0].Outcome != "pushed" || p.Pushes[0].Version == 0 {
		t.Errorf("%+v", p)
	}
	var counts pannier.Stats
	getJSON(t, s, "/v1/stats", &counts)
	if c := counts.Totals; c.Installs != 1 || c.Refusals != 1 || c.Reloads == 0 || c.ReloadP50MS <= 0 || c.ReloadP99MS < c.ReloadP50MS || c.Pushes < len(p.Pushes) {
		t.Errorf("%+v", c)
	}
	checkAudit(t, s, state)
}

// checkAudit reads the audit log in parts, and finds out that it was changed.
func checkAudit(t *testing.T, s *sidecarUnderTest, state string) {
	t.Helper()
	var whole pannier.AuditList
	getJSON(t, s, "/v1/audit", &whole)
	if len(whole.Entries) != 4 {
		t.Fatalf("%d entries", len(whole.Entries))
	}
	seqs := func(entries []pannier.AuditEntry) (told []uint64) {
		for _, e := range entries {
			told = append(told, e.Seq)
		}
		return told
	}
	var parts []pannier.AuditEntry
	for after := ""; ; {
		var part pannier.AuditList
		getJSON(t, s, "/v1/audit?limit=3"+after, &part)
		if len(part.Entries) == 0 {
			break
		}
		parts = append(parts, part.Entries...)
		after = fmt.Sprintf("&after=%d", part.Entries[len(part.Entries)-1].Seq)
	}
	if got, want := fmt.Sprint(seqs(parts)), fmt.Sprint(seqs(whole.Entries)); got != want {
		t.Errorf("in parts %s, want %s", got, want)
	}
	var check pannier.AuditCheck
	getJSON(t, s, "/v1/audit/verify", &check)
	if !check.OK || check.Entries != 4 || !strings.HasPrefix(check.Head, "sha256:") || check.Error != "" {
		t.Errorf("%+v", check)
	}
	files, err := filepath.Glob(filepath.Join(state, "*", "audit", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(files[0], []byte(strings.Replace(string(text), pannier.ActionInstall, pannier.ActionUpdate, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	getJSON(t, s, "/v1/audit/verify", &check)
	if check.OK || check.Error == "" {
		t.Errorf("a changed log: %+v", check)
	}
}
