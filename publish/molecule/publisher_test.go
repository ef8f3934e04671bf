package molecule_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"pannier/publish/card"
	"pannier/publish/molecule"
)

func TestNewRefusesBadOptions(t *testing.T) {
	for _, test := range []struct {
		name string
		o    options
		want string
	}{
		{"no URL", options{}, "scheme"},
		{"no scheme", options{URL: "platform:8080"}, "scheme"},
		{"other scheme", options{URL: "ws://platform"}, "scheme"},
		{"no host", options{URL: "http:///x"}, "host"},
		{"credentials", options{URL: "http://user:hunter2@platform"}, "token file"},
		{"query", options{URL: "http://platform?key=hunter2"}, "query"},
		{"not a URL", options{URL: "http://user:hunter2"}, "not a valid URL"},
		{"no workspace", options{URL: "http://platform"}, "workspace id"},
		{"header", options{URL: "http://p", WorkspaceID: "w", Header: http.Header{"X-Key": {"hunter2\n"}}}, `"X-Key"`},
		{"header name", options{URL: "http://p", WorkspaceID: "w", Header: http.Header{"X Key": {"hunter2"}}}, `"X Key" is not a name`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := build(test.o)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want one with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error tells a secret: %v", err)
			}
		})
	}
}

func TestCardsWithoutContentOrDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := wired(t, options{}, always(200, ""))
		start(t, p)
		p.Offer(card.Card{})
		synctest.Wait()
		if len(w.seen()) != 0 {
			t.Error("a card without content was pushed")
		}
		c := cardOf("a")
		want := c.Digest
		c.Digest = card.Card{}.Digest
		p.Offer(c)
		synctest.Wait()
		if got := p.Health().Acknowledged; got != want {
			t.Errorf("acknowledged %v, want %v", got, want)
		}
	})
}

func TestTokenFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, path, want, err string
	}{
		{"plain", file("plain", "abc"), "abc", ""},
		{"blanks around it", file("blanks", " \tabc\r\n\n"), "abc", ""},
		{"empty", file("empty", "\n"), "", ""},
		{"missing", filepath.Join(dir, "missing"), "", ""},
		{"two lines", file("two", "abc\nhunter2"), "", "one line"},
		{"not text", file("binary", "hunter2\xff"), "", "printable"},
		{"endless", file("endless", strings.Repeat("hunter2", 1000)), "", "larger"},
		{"directory", dir, "", "not a regular file"},
		{"pipe", pipe, "", "not a regular file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := molecule.NewFileToken(test.path, false).Read()
			if got != test.want || (err == nil) != (test.err == "") {
				t.Fatalf("got %q, %v; want %q, %q", got, err, test.want, test.err)
			}
			if err != nil && (!strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("error %q, want one with %q and no content", err, test.err)
			}
		})
	}
}

// TestNothingTellsASecret has the platform and the network repeat all that they got, in each kind of answer.
func TestNothingTellsASecret(t *testing.T) {
	const token, org = "tok/en+hunter2-0123456789", "org secret"
	echo := `{"error":"` + strings.Repeat("x", 480) + token + " and " + org + `"}`
	answers := []func() (*http.Response, error){
		func() (*http.Response, error) { return respond(401, echo) },
		func() (*http.Response, error) { return respond(500, echo) },
		func() (*http.Response, error) { return respond(404, echo) },
		func() (*http.Response, error) {
			return respond(307, "", "Location", "http://other.test/tok%2Fen+hunter2-0123456789/org%20secret")
		},
		func() (*http.Response, error) { return nil, fmt.Errorf("malformed answer %s %s", token, org) },
		func() (*http.Response, error) { return nil, errors.Join(errors.New(token), errors.New(org)) },
		func() (*http.Response, error) { return respond(400, echo) },
	}
	synctest.Test(t, func(t *testing.T) {
		logs, e := &buffer{}, newEvents()
		var told strings.Builder
		p, w := wired(t, options{
			Token:  func() (string, error) { return token + "\n", nil },
			Header: http.Header{"X-Molecule-Org-Id": {org}, "X-Short": {"on"}},
			Logger: hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Trace}),
			Emit:   e.emit,
		}, func(n int, _ *http.Request) (*http.Response, error) { return answers[min(n, len(answers))-1]() })
		start(t, p)
		p.Offer(cardOf("a"))
		for range 20 {
			pass(7 * time.Second)
			fmt.Fprintf(&told, "%+v\n", p.Health())
		}
		if len(w.seen()) != len(answers) || w.seen()[0].header.Get("Authorization") != "Bearer "+token {
			t.Fatalf("%d tries, want %d, with the token", len(w.seen()), len(answers))
		}
		_, push := e.await(t)
		all := told.String() + logs.String() + push.Error
		for _, secret := range []string{"hunter2", "tok/en", "tok%2F", org, "org%20secret"} {
			if strings.Contains(all, secret) {
				t.Errorf("%q is told in:\n%s", secret, all)
			}
		}
		if !strings.Contains(all, "[redacted]") || !strings.Contains(all, "platform answered 404 Not Found") {
			t.Errorf("what is told does not say what happened:\n%s", all)
		}
	})
}

// TestNoSecretInAnotherForm: a token in an address is one still.
func TestNoSecretInAnotherForm(t *testing.T) {
	const token = `hunter2+/=<3&4`
	for _, form := range []string{token, url.QueryEscape(token), url.PathEscape(token)} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := wired(t, options{Token: func() (string, error) { return token, nil }},
				func(int, *http.Request) (*http.Response, error) { return nil, errors.New("malformed: " + form) })
			start(t, p)
			p.Offer(cardOf("a"))
			synctest.Wait()
			if got := p.Health().LastError; got != "push card: malformed: [redacted]" {
				t.Errorf("error %q", got)
			}
		})
	}
}

// TestHintsOnFiles: what is told to do about a file fits what is wrong with it.
func TestHintsOnFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, bom := filepath.Join(dir, "pipe"), filepath.Join(dir, "bom")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bom, []byte("\ufeffhunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, pipe, bom} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := wired(t, options{Token: molecule.NewFileToken(path, false).Read}, always(200, ""))
			start(t, p)
			p.Offer(cardOf("a"))
			synctest.Wait()
			if h := p.Health(); !strings.Contains(h.Hint, "byte order mark") || strings.Contains(h.LastError, "hunter2") {
				t.Errorf("%s: health %+v", path, h)
			}
		})
	}
	for name, occupy := range map[string]func(*publisher) string{
		"record":    func(p *publisher) string { return p.OutboxFile() },
		"temporary": func(p *publisher) string { return p.OutboxFile() + ".tmp" },
	} {
		t.Run(name, func(t *testing.T) {
			logs := &buffer{}
			o := options{Outbox: t.TempDir(), Logger: hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Warn})}
			where := newPublisher(t, o)
			if err := os.MkdirAll(filepath.Join(occupy(where), "x"), 0o700); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				p, _ := wired(t, o, always(200, ""))
				start(t, p)
				p.Offer(cardOf("a"))
				synctest.Wait()
			})
			if log := logs.String(); !strings.Contains(log, "remove it") || strings.Contains(log, "free space") {
				t.Errorf("log:\n%s", log)
			}
		})
	}
}

// TestLogOfChangedFailure: a failure for another reason is logged, whatever its number.
func TestLogOfChangedFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := &buffer{}
		p, _ := wired(t, options{
			Logger: hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Info, DisableTime: true}),
		}, inTurn(503, 503, 429, 429, 503, 503, 429, 200))
		start(t, p)
		p.Offer(cardOf("a"))
		pass(10 * time.Minute)
		var lines []string
		for line := range strings.Lines(logs.String()) {
			_, number, _ := strings.Cut(line, "failures=")
			number, _, _ = strings.Cut(number, " ")
			lines = append(lines, strings.Fields(line)[0]+number)
		}
		if diff := cmp.Diff([]string{"[INFO]1", "[INFO]3", "[WARN]5", "[WARN]7", "[INFO]7\n"}, lines); diff != "" {
			t.Errorf("lines (-want +got):\n%s\n%s", diff, logs)
		}
	})
}

func TestLogLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := &buffer{}
		p, _ := wired(t, options{
			Logger: hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Debug, DisableTime: true}),
		}, func(n int, _ *http.Request) (*http.Response, error) {
			if n <= 7 {
				return respond(503, "")
			}
			return respond(200, "")
		})
		start(t, p)
		p.Offer(cardOf("a"))
		pass(time.Minute)
		p.Offer(cardOf("b"))
		synctest.Wait()
		var levels []string
		for line := range strings.Lines(logs.String()) {
			levels = append(levels, strings.Fields(line)[0])
		}
		want := []string{"[INFO]", "[DEBUG]", "[DEBUG]", "[DEBUG]", "[WARN]", "[DEBUG]", "[DEBUG]", "[INFO]", "[DEBUG]"}
		if diff := cmp.Diff(want, levels); diff != "" {
			t.Errorf("levels (-want +got):\n%s\n%s", diff, logs)
		}
	})
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		p, _ := wired(t, options{Registerer: reg}, inTurn(503, 200, 400))
		newPublisher(t, options{URL: "https://other.test", Registerer: reg})
		newPublisher(t, options{URL: "https://other.test/twice", Registerer: reg})

		problems, err := testutil.GatherAndLint(reg)
		if err != nil || len(problems) != 0 {
			t.Errorf("lint: %v %v", problems, err)
		}
		if n, err := testutil.GatherAndCount(reg, "pannier_publish_failed_total"); n != 18 || err != nil {
			t.Errorf("%d series of failures from the start, want 9 for each host (%v)", n, err)
		}
		expect := func(name, text string) {
			t.Helper()
			if err := testutil.GatherAndCompare(reg, strings.NewReader(text), name); err != nil {
				t.Error(err)
			}
		}
		p.Offer(cardOf("z"))
		p.Offer(cardOf("a"))
		expect("pannier_outbox_pending", `
# HELP pannier_outbox_pending Whether a card waits for the platform to take it.
# TYPE pannier_outbox_pending gauge
pannier_outbox_pending{platform="other.test"} 0
pannier_outbox_pending{platform="platform.test:8080"} 1
`)
		begun := time.Now()
		start(t, p)
		pass(time.Minute)
		expect("pannier_last_publish_successful", `
# HELP pannier_last_publish_successful Whether the newest try to push the agent card succeeded; 0 before the first.
# TYPE pannier_last_publish_successful gauge
pannier_last_publish_successful{platform="other.test"} 0
pannier_last_publish_successful{platform="platform.test:8080"} 1
`)
		expect("pannier_last_publish_success_timestamp_seconds", fmt.Sprintf(`
# HELP pannier_last_publish_success_timestamp_seconds When the platform last took the agent card, in Unix time; 0 before the first time.
# TYPE pannier_last_publish_success_timestamp_seconds gauge
pannier_last_publish_success_timestamp_seconds{platform="other.test"} 0
pannier_last_publish_success_timestamp_seconds{platform="platform.test:8080"} %.1f
`, float64(begun.Unix())+.1))
		p.Offer(cardOf("b"))
		pass(time.Minute)
		expect("pannier_publish_total", `
# HELP pannier_publish_total Tries to push the agent card, failed ones included.
# TYPE pannier_publish_total counter
pannier_publish_total{platform="other.test"} 0
pannier_publish_total{platform="platform.test:8080"} 3
`)
		expect("pannier_coalesced_total", `
# HELP pannier_coalesced_total Cards that a newer one replaced before the platform had them.
# TYPE pannier_coalesced_total counter
pannier_coalesced_total{platform="other.test"} 0
pannier_coalesced_total{platform="platform.test:8080"} 1
`)
		expect("pannier_outbox_pending", `
# HELP pannier_outbox_pending Whether a card waits for the platform to take it.
# TYPE pannier_outbox_pending gauge
pannier_outbox_pending{platform="other.test"} 0
pannier_outbox_pending{platform="platform.test:8080"} 1
`)
	})
}
