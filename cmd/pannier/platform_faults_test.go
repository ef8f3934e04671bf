package main

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"pannier"
	"pannier/publish/molecule"
	"pannier/publish/molecule/dev"
)

// oddPlatform is a development platform in this process that something stands before.
type oddPlatform struct {
	*dev.Platform
	server *httptest.Server
	// instead answers where it writes something; the platform answers the rest.
	instead atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
}

// newOddPlatform has an agent registered, with a url and a key of its own.
func newOddPlatform(t *testing.T, instead func(w http.ResponseWriter, r *http.Request) bool) *oddPlatform {
	t.Helper()
	p := &oddPlatform{Platform: dev.New(dev.Options{})}
	t.Cleanup(p.Close)
	p.instead.Store(&instead)
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !(*p.instead.Load())(w, r) {
			p.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(p.server.Close)
	must(p.Seed(testWorkspaceID, testToken))(t)
	p.agentStarts(t)
	return p
}

// agentStarts registers the card of an agent, as its runtime does.
func (p *oddPlatform) agentStarts(t *testing.T) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, molecule.PathRegister, strings.NewReader(`{"id":"`+testWorkspaceID+
		`","url":"http://agent:8000","agent_card":{"name":"boot","url":"http://agent:8000","x_team":"blue","skills":[]}}`))
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if p.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Fatalf("register: %d %s", w.Code, w.Body)
	}
}

// holds is an outcome: the platform has our card with all of these in it.
func (p *oddPlatform) holds(t *testing.T, parts ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the platform holds %q", parts), func() error {
		card, _ := p.Card(testWorkspaceID)
		for _, part := range append(parts, "Test desk") {
			if !strings.Contains(string(card), part) {
				return fmt.Errorf("it holds %s", card)
			}
		}
		return nil
	})
}

// TestPlatformWhoseFirstReadFails for a moment: the push waits, and the agent keeps its url.
func TestPlatformWhoseFirstReadFails(t *testing.T) {
	t.Parallel()
	var reads atomic.Int32
	p := newOddPlatform(t, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/workspaces/") || reads.Add(1) > 3 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	startSidecar(t, newWorkspace(t), "--platform-url", p.server.URL, "--platform-token-file", tokenFile(t))
	p.holds(t, "http://agent:8000", `"x_team":"blue"`)
}

// TestPlatformWhoseFirstReadIsOdd is read again once its event stream is there, and until then health says what is lost.
func TestPlatformWhoseFirstReadIsOdd(t *testing.T) {
	t.Parallel()
	p := newOddPlatform(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasPrefix(r.URL.Path, "/workspaces/"):
			fmt.Fprint(w, "<html>maintenance</html>")
		case r.URL.Path == molecule.PathEvents:
			w.WriteHeader(http.StatusBadGateway)
		default:
			return false
		}
		return true
	})
	s := startSidecar(t, newWorkspace(t), "--platform-url", p.server.URL, "--platform-token-file", tokenFile(t))
	s.tellsOf(t, "read_back_unavailable")
	p.holds(t)
	p.agentStarts(t)
	usual := func(http.ResponseWriter, *http.Request) bool { return false }
	p.instead.Store(&usual)
	p.holds(t, "http://agent:8000", `"x_team":"blue"`)
	s.toldNoMore(t, "read_back_unavailable")
}

// TestPlatformWhoseAuthorityIsReplaced is trusted again without a restart.
func TestPlatformWhoseAuthorityIsReplaced(t *testing.T) {
	t.Parallel()
	p := newOddPlatform(t, func(http.ResponseWriter, *http.Request) bool { return false })
	secure := p.secure(t)
	good := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	dir := t.TempDir()
	writeCertificate(t, dir) // which is another one
	ca := filepath.Join(dir, "cert.pem")
	s := startSidecar(t, newWorkspace(t), "--config", configOf(t, secure, ca))
	s.tellsOf(t, "push_failing")
	need(t, os.WriteFile(ca, good, 0o600))
	p.holds(t)
	need(t, os.WriteFile(ca, []byte("nothing"), 0o600))
	s.write(t, skillScript("haiku", "Writes a haiku."))
	p.holds(t, "Writes a haiku.")
	s.tellsOf(t, "ca_file_unreadable")
}

// TestAuthoritiesThatComeLate do not end the start: the card follows once they are there.
func TestAuthoritiesThatComeLate(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(path string) error{
		"pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"empty":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"missing": func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := newOddPlatform(t, func(http.ResponseWriter, *http.Request) bool { return false })
			secure := p.secure(t)
			ca := filepath.Join(t.TempDir(), "ca.pem")
			need(t, before(ca))
			s := startSidecar(t, newWorkspace(t), "--config", configOf(t, secure, ca))
			s.tellsOf(t, "ca_file_unreadable")
			s.tellsOf(t, "push_failing")
			good := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
			need(t, errors.Join(os.WriteFile(ca+".new", good, 0o600), os.Rename(ca+".new", ca)))
			p.holds(t)
			s.toldNoMore(t, "ca_file_unreadable")
			s.toldNoMore(t, "push_failing")
		})
	}
}

// secure serves the platform with a certificate of its own.
func (p *oddPlatform) secure(t *testing.T) *httptest.Server {
	t.Helper()
	secure := httptest.NewUnstartedServer(p.server.Config.Handler)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	return secure
}

// configOf names a platform and its authorities.
func configOf(t *testing.T, secure *httptest.Server, ca string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "pannier.yaml")
	need(t, os.WriteFile(config, []byte("platform:\n  url: "+secure.URL+"\n  ca_file: "+ca+"\n  token_file: "+tokenFile(t)+"\n"), 0o600))
	return config
}

// TestPlatformThatRefusedTheCard takes it once somebody asks: by a SIGHUP, and by a rescan.
func TestPlatformThatRefusedTheCard(t *testing.T) {
	t.Parallel()
	tooLarge := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != molecule.PathUpdateCard {
			return false
		}
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return true
	}
	usual := func(http.ResponseWriter, *http.Request) bool { return false }
	for name, ask := range map[string]func(t *testing.T, s *sidecarUnderTest) error{
		"hangup": func(_ *testing.T, s *sidecarUnderTest) error { return s.cmd.Process.Signal(syscall.SIGHUP) },
		"rescan": func(t *testing.T, s *sidecarUnderTest) error { return s.Rescan(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newOddPlatform(t, tooLarge)
			s := startSidecar(t, newWorkspace(t), "--platform-url", p.server.URL, "--platform-follow=read_back", "--platform-token-file", tokenFile(t))
			s.tellsOf(t, "push_failing")
			p.instead.Store(&usual)
			need(t, ask(t, s))
			p.holds(t)
			s.toldNoMore(t, "push_failing")
		})
	}
}

// TestCardWithoutURL: "Platform broadcasts AGENT_CARD_UPDATED to all peer workspaces" (Molecule, "Live Reload"), and a peer reaches an
// agent by the url of its card. Health tells that a platform has a card without url, until the settings or an agent give it one.
func TestCardWithoutURL(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	r.up(t)
	args := []string{"--platform-url", "http://" + r.addr, "--platform-token-file", tokenFile(t)}
	w := newWorkspace(t)
	s := startSidecar(t, w, args...)
	if c := s.tellsOf(t, "card_without_url"); c.Severity != pannier.SeverityInfo || !strings.Contains(c.Hint, "--agent-url") {
		t.Errorf("condition %+v", c)
	}
	s.terminate(t)
	s = startSidecar(t, w, append(args, "--agent-url", "http://agent:8000")...)
	s.acknowledged(t)
	s.toldNoMore(t, "card_without_url")

	p := newOddPlatform(t, func(http.ResponseWriter, *http.Request) bool { return false })
	s = startSidecar(t, newWorkspace(t), "--platform-url", p.server.URL, "--platform-token-file", tokenFile(t))
	p.holds(t, `"url":"http://agent:8000"`)
	s.toldNoMore(t, "card_without_url")
}

// TestAgentThatRegistersDuringAChange registers while a change settles: the card before the change is not pushed again.
func TestAgentThatRegistersDuringAChange(t *testing.T) {
	t.Parallel()
	var registered, older atomic.Bool
	p := newOddPlatform(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == molecule.PathUpdateCard {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if registered.Load() && !bytes.Contains(body, []byte("Writes three haiku.")) {
				older.Store(true)
			}
		}
		return false
	})
	s := startSidecar(t, newWorkspace(t), "--settle", "1s", "--platform-url", p.server.URL, "--platform-token-file", tokenFile(t))
	s.write(t, skillScript("haiku", "Writes a haiku."))
	p.holds(t, "Writes a haiku.", `"x_team":"blue"`)
	s.acknowledged(t)
	const events = "pannier_watch_events_total"
	before := s.metric(t, events)
	s.write(t, skillScript("haiku", "Writes three haiku."))
	until(t, "the change is noticed", func() bool { return s.metric(t, events) != before })
	registered.Store(true)
	p.agentStarts(t)
	p.holds(t, "Writes three haiku.", `"x_team":"blue"`)
	if older.Load() {
		t.Error("the card before the change was pushed again")
	}
}

// TestRetryIsOfTheNewestCard takes a change back whose card could not be pushed, while another skill does not rest, so that
// the card after it waits: the platform is not sent the one in between again.
func TestRetryIsOfTheNewestCard(t *testing.T) {
	t.Parallel()
	var outdated atomic.Int32
	p := newOddPlatform(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != molecule.PathUpdateCard {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !bytes.Contains(body, []byte("Writes two haiku.")) {
			return false
		}
		outdated.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	s := startSidecar(t, newWorkspace(t), "--platform-url", p.server.URL, "--platform-token-file", tokenFile(t))
	s.write(t, skillScript("noisy", "Makes directories."))
	s.write(t, skillScript("haiku", "Writes a haiku."))
	p.holds(t, "Makes directories.", "Writes a haiku.")
	s.write(t, skillScript("haiku", "Writes two haiku."))
	until(t, "a push has failed", func() bool { return outdated.Load() > 0 })

	noise := exec.Command("sh", "-c", "for i in $(seq 150); do mkdir skills/noisy/d; rmdir skills/noisy/d; sleep 0.02; done")
	noise.Dir = s.workspace
	need(t, noise.Start())
	t.Cleanup(func() { noise.Wait() })
	updates := func() (n int) {
		for _, e := range s.all(t) {
			if e.Type == pannier.EventCatalogUpdated {
				n++
			}
		}
		return n
	}
	before := updates()
	s.write(t, skillScript("haiku", "Writes a haiku."))
	until(t, "the change is announced", func() bool { return updates() > before })
	known := outdated.Load() + 1 // one may be on its way
	s.metricIs(t, `pannier_outbox_pending{platform="`+strings.TrimPrefix(p.server.URL, "http://")+`"}`, 0)
	p.holds(t, "Writes a haiku.")
	if n := outdated.Load(); n > known {
		t.Errorf("the outdated card was sent %d times more", n-known)
	}
}
