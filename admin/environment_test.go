package admin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
)

func TestPutEnvironment(t *testing.T) {
	dir := t.TempDir()
	h := newFixture(t, dir)
	if _, found, err := h.Environment(); found || err != nil {
		t.Errorf("before the first: %v, %v", found, err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	put, s, err := h.PutEnvironment(t.Context(), actor, pannier.Environment{
		OS: " macOS", Arch: "ARM64", Bins: []string{"git", " ffmpeg", "git", ""}, Env: []string{"HOME"}, MCP: []string{"files"},
		Source: pannier.EnvironmentSidecar, At: at, Lenient: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := pannier.Environment{
		OS: "darwin", Arch: "arm64", Bins: []string{"ffmpeg", "git"}, Env: []string{"HOME"}, Config: []string{}, MCP: []string{"files"},
		Source: pannier.EnvironmentAgent, At: at.UTC(),
	}
	kept, found, err := h.Environment()
	if err != nil || !found {
		t.Errorf("kept: %v, %v", found, err)
	}
	for name, got := range map[string]pannier.Environment{"put": put, "kept": kept, "shown": s.Environment} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTimeOfAnEnvironment(t *testing.T) {
	h := newFixture(t, t.TempDir())
	for _, at := range []time.Time{{}, time.Now().Add(time.Hour), time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		before := time.Now()
		env, _, err := h.PutEnvironment(t.Context(), actor, pannier.Environment{OS: "linux", At: at})
		if err != nil || env.At.Before(before) || env.At.After(time.Now()) {
			t.Errorf("of %v: %v, %v", at, env.At, err)
		}
	}
}

// The registry emits the event, because the environment file can change too.
func TestNoEventOfAnEnvironment(t *testing.T) {
	h := newFixture(t, t.TempDir())
	if _, _, err := h.PutEnvironment(t.Context(), actor, pannier.Environment{OS: "linux"}); err != nil {
		t.Fatal(err)
	}
	for _, what := range h.happened {
		if strings.HasPrefix(what, "emit") {
			t.Errorf("happened %q", h.happened)
		}
	}
}

// Values of variables are rejected without being repeated, and the audit log holds no names.
func TestNoNamesInTheAuditLog(t *testing.T) {
	h := newFixture(t, t.TempDir())
	const secret = "hunter2"
	for _, env := range []pannier.Environment{
		{Env: []string{"TOKEN=" + secret}},
		{Bins: []string{secret + "\x00"}},
		{MCP: []string{strings.Repeat(secret, 100)}},
	} {
		_, _, err := h.PutEnvironment(t.Context(), actor, env)
		if r, ok := errors.AsType[*pannier.Refusal](err); !ok || strings.Contains(err.Error()+r.Hint, secret) {
			t.Errorf("got %v", err)
		}
	}
	if len(h.happened) > 0 {
		t.Errorf("happened %q", h.happened)
	}
	if _, _, err := h.PutEnvironment(t.Context(), actor, pannier.Environment{Env: []string{secret}}); err != nil {
		t.Fatal(err)
	}
	if log := h.audited(t) + fmt.Sprint(h.happened) + h.said.String(); strings.Contains(log, secret) {
		t.Errorf("told:\n%s", log)
	}
}

func TestEnvironmentThatCanNotBeRead(t *testing.T) {
	h := newFixture(t, t.TempDir())
	if err := h.store.Put("environment", "agent", "text"); err != nil {
		t.Fatal(err)
	}
	if _, found, err := h.Environment(); found || err == nil {
		t.Errorf("got %v, %v", found, err)
	}
	if _, _, err := h.PutEnvironment(t.Context(), actor, pannier.Environment{OS: "linux"}); err != nil {
		t.Error(err)
	}
	if env, found, err := h.Environment(); err != nil || !found || env.OS != "linux" {
		t.Errorf("got %+v, %v, %v", env, found, err)
	}
}
