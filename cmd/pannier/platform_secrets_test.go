package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pannier"
)

// TestPlatformTokenFileMode has a token file with each mode, which health tells of once it has been read.
func TestPlatformTokenFileMode(t *testing.T) {
	t.Parallel()
	p := startPlatform(t)
	file := tokenFile(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", p.url, "--platform-token-file", file)
	for i, test := range []struct {
		mode     os.FileMode
		severity pannier.Severity
	}{{0o600, ""}, {0o640, ""}, {0o644, pannier.SeverityInfo}, {0o666, pannier.SeverityWarning}, {0o660, pannier.SeverityWarning}, {0o600, ""}} {
		need(t, os.Chmod(file, test.mode))
		s.write(t, skillScript(fmt.Sprintf("s%d", i), "Has the token read.")) // by the push that follows
		s.settled(t)
		eventually(t, fmt.Sprintf("health tells of %v", test.mode), func() error {
			health, err := s.Health(t.Context())
			if err != nil {
				return err
			}
			var found pannier.Severity
			for _, c := range health.Conditions {
				if c.Code == "platform_token_exposed" && c.Subject == file {
					found = c.Severity
				}
			}
			if found != test.severity {
				return fmt.Errorf("severity %q, want %q", found, test.severity)
			}
			return nil
		})
	}
}

// TestPlatformHeaderFromFile sends the value that a file holds, and one that begins with an @; neither the command line nor the
// log shows the one of the file.
func TestPlatformHeaderFromFile(t *testing.T) {
	t.Parallel()
	const secret = "tenant-that-no-list-of-processes-shows"
	var tenant, at atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tenant.Store(r.Header.Get("X-Tenant"))
		at.Store(r.Header.Get("X-At"))
		http.Error(w, "{}", http.StatusNotFound)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "tenant")
	need(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	s := startSidecar(t, newWorkspace(t), "--platform-url", server.URL, "--platform-token-file", tokenFile(t),
		"--platform-header", "x-tenant=@"+file, "--platform-header", "x-at=@@here")
	eventually(t, "the headers are sent", func() error {
		if tenant.Load() != secret || at.Load() != "@here" {
			return fmt.Errorf("%v %v", tenant.Load(), at.Load())
		}
		return nil
	})
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.cmd.Process.Pid))
	if err != nil || strings.Contains(string(line), secret) || strings.Contains(s.log.String(), secret) {
		t.Errorf("the command line or the log shows the value (%v)", err)
	}
}
