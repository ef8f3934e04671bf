package molecule_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestReadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMolecule(t).known(t), newEvents()
		p := facing(t, m, options{ReadBack: true, Emit: e.emit})
		start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		p.Offer(cardOf("b")) // what is registered is known by now
		synctest.Wait()
		pass(time.Minute)
		p.Offer(cardOf("c"))
		synctest.Wait()
		if got := m.took(); got != "GET a GET b GET GET c GET" {
			t.Errorf("calls %q", got)
		}
		if diff := cmp.Diff([]string{pushed("a"), pushed("b"), pushed("c")}, e.drain()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if h := p.Health(); h.Acknowledged != cardOf("c").Digest || h.Acknowledged != h.Desired || h.LastError != "" {
			t.Errorf("health %+v", h)
		}
	})
}

func TestReadBackOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		var got *http.Request
		m.set(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				got = r
			}
			return nil, nil
		})
		p := facing(t, m, options{
			URL: "http://platform.test/base/", Path: "/elsewhere/x", ReadBack: true, Header: http.Header{"X-Molecule-Org-Id": {"org-1"}},
		})
		stop := start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		stop()
		if want := "http://platform.test/base/workspaces/" + workspaceID; got.URL.String() != want {
			t.Errorf("read %s, want %s", got.URL, want)
		}
		if got.Header.Get("Authorization") != "Bearer "+token || got.Header.Get("X-Molecule-Org-Id") != "org-1" ||
			got.Header.Get("Content-Type") != "" || got.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("headers %v", got.Header)
		}
	})
}

// TestUnknownWorkspace: the platform accepts cards for a workspace that it does not know, and drops them.
func TestUnknownWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMolecule(t), newEvents()
		p := facing(t, m, options{ReadBack: true, Emit: e.emit})
		start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		h := p.Health()
		if h.LastError != "push card: the platform accepted the card but has not stored it: workspace not found" || !strings.Contains(h.Hint, "workspace id") {
			t.Errorf("health %+v", h)
		}
		if !h.Acknowledged.IsZero() || !h.LastSuccess.IsZero() || h.Blocked {
			t.Errorf("health %+v, want nothing acknowledged", h)
		}
		pass(100 * time.Second)
		if got := m.took(); got != "GET a GET GET a GET GET a GET" {
			t.Errorf("calls %q, want a try every 36 s", got)
		}
		m.known(t)
		pass(time.Minute)
		if diff := cmp.Diff([]string{rejected("a"), pushed("a")}, e.drain()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if h := p.Health(); h.LastError != "" || h.Acknowledged != h.Desired {
			t.Errorf("health %+v", h)
		}
	})
}

func TestAcceptedButNotStored(t *testing.T) {
	for _, test := range []struct{ name, info, err, hint string }{
		{"another card", `{"agent_card":{"name":"boot"}}`, "shows another one", "agent that starts"},
		{"null", `{"agent_card":null,"status":"online"}`, "shows none", "workspace id"},
		{"absent", `{"name":"w"}`, "shows none", "workspace id"},
		{"removed", `{"agent_card":{"name":"boot"},"status":"removed"}`, "workspace removed", "workspace id"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, e := newMolecule(t), newEvents()
				m.set(onRead(func() (*http.Response, error) { return respond(200, test.info) }))
				reg := prometheus.NewRegistry()
				p := facing(t, m, options{ReadBack: true, Emit: e.emit, Registerer: reg})
				start(t, p)
				p.Offer(cardOf("a"))
				pass(2 * time.Minute)
				p.Offer(cardOf("b"))
				pass(3 * time.Second)
				if h := p.Health(); !strings.Contains(h.LastError, test.err) || !strings.Contains(h.Hint, test.hint) {
					t.Errorf("health %+v", h)
				}
				if diff := cmp.Diff([]string{rejected("a"), rejected("b")}, e.drain()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				const failed = `
# HELP pannier_publish_failed_total Tries to push the agent card that failed, by reason.
# TYPE pannier_publish_failed_total counter
`
				want := failed
				for _, reason := range strings.Fields("connect not_found not_stored other redirect rejected server throttled timeout unauthorized") {
					n := "0"
					if reason == "not_stored" {
						n = "5"
					}
					want += `pannier_publish_failed_total{platform="platform.test:8080",reason="` + reason + `"} ` + n + "\n"
				}
				if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "pannier_publish_failed_total"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestPlatformsThatCanNotTell: a push is never the worse for it.
func TestPlatformsThatCanNotTell(t *testing.T) {
	broken := func() (*http.Response, error) {
		resp, _ := respond(200, "")
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"agent_`), brokenReader{}))
		return resp, nil
	}
	answering := func(status int, body string, header ...string) func() (*http.Response, error) {
		return func() (*http.Response, error) { return respond(status, body, header...) }
	}
	for _, test := range []struct {
		name   string
		answer func() (*http.Response, error)
		final  bool // asking again at once is of no use
	}{
		{"no route", answering(404, "404 page not found"), true},
		{"no route, in JSON", answering(404, `{"error":"not found"}`), true},
		{"no method", answering(405, ""), true},
		{"not implemented", answering(501, ""), true},
		{"bad request", answering(400, ""), true},
		{"a page", answering(200, "<html>"), true},
		{"a list", answering(200, "[]"), true},
		{"login", answering(302, "", "Location", "https://login.test/?secret=1"), true},
		{"unauthorized", answering(401, `{"error":"workspace token"}`), false},
		{"throttled", answering(429, ""), false},
		{"failed", answering(503, "no such workspace"), false},
		{"no connection", func() (*http.Response, error) { return nil, errBroken }, false},
		{"breaks off", broken, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, logs := newMolecule(t).known(t), &buffer{}
				m.set(onRead(test.answer))
				p := facing(t, m, options{
					ReadBack: true, Logger: hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Info}),
				})
				start(t, p)
				p.Offer(cardOf("a"))
				pass(time.Hour)
				p.Offer(cardOf("b"))
				synctest.Wait()
				if h := p.Health(); h.Acknowledged != cardOf("b").Digest || h.LastError != "" {
					t.Errorf("health %+v", h)
				}
				want := "a GET" + strings.Repeat(" GET", 10) + " GET b GET"
				switch {
				case test.final: // left out around a push, but not forgotten
					want = "GET a" + strings.Repeat(" GET", 10) + " b"
				case test.name == "unauthorized":
					want = "GET " + want
				case test.name == "throttled": // which rests for five seconds, also around a push
					want = strings.Repeat("GET ", 7) + "a" + strings.Repeat(" GET", 11) + " b"
				default: // which the first push waits for
					want = strings.Repeat("GET ", 10) + want
				}
				if got := m.took(); got != want {
					t.Errorf("calls %q, want %q", got, want)
				}
				told := strings.Count(logs.String(), "does not show what it holds")
				if test.final && told != 1 || !test.final && told != 0 || strings.Contains(logs.String(), "secret") {
					t.Errorf("log:\n%s", logs)
				}
				want = "read_back_unavailable info"
				if test.name == "throttled" {
					want = "platform_rate_limited warning, " + want
				}
				if got := codes(p); got != want {
					t.Errorf("conditions %q", got)
				}
				m.set(asUsual)
				pass(6 * time.Minute)
				if m.took(); codes(p) != "card_pushed_unread info" {
					t.Errorf("conditions %q once it tells", codes(p))
				}
				m.register(t, `{"name":"boot","runtime":"langgraph"}`)
				pass(6 * time.Minute)
				m.expectCard(t, `{"name":"b","runtime":"langgraph"}`)
				if got := codes(p); got != "" {
					t.Errorf("conditions %q once the agent has registered again", got)
				}
			})
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

// TestReadingThatHangs delays the first push, no other one, and does not keep it from happening.
func TestReadingThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		m.set(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return nil, nil
		})
		p := facing(t, m, options{ReadBack: true})
		stop := start(t, p)
		p.Offer(cardOf("a"))
		pass(time.Second)
		p.Offer(cardOf("b"))
		pass(30 * time.Second)
		if got := m.took(); got != "GET GET b" || p.Health().Acknowledged != cardOf("b").Digest {
			t.Errorf("calls %q, health %+v", got, p.Health())
		}
		pass(time.Minute)
		p.Offer(cardOf("c"))
		synctest.Wait()
		if got := m.took(); got != "c" {
			t.Errorf("calls %q, want a push at once", got)
		}
		pass(4*time.Minute + 30*time.Second) // while it is checked
		stopped := time.Now()
		stop()
		if took := time.Since(stopped); took != 2*time.Second {
			t.Errorf("Run returned %v after it was told to", took)
		}
		if got := m.took(); got != "GET" {
			t.Errorf("calls %q, want no push after the stop", got)
		}
	})
}

// TestCheck: an agent that starts registers its own card over ours.
func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		jitter func(time.Duration) time.Duration
		every  time.Duration
	}{
		"soonest": {func(time.Duration) time.Duration { return 0 }, 270 * time.Second},
		"latest":  {func(most time.Duration) time.Duration { return most }, 330 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, reg := newMolecule(t).known(t), prometheus.NewRegistry()
				p := facing(t, m, options{ReadBack: true, Registerer: reg})
				p.SetJitter(test.jitter)
				start(t, p)
				p.Offer(cardOf("a"))
				synctest.Wait()
				pass(test.every + time.Second)
				if got := m.apart(); got != test.every {
					t.Errorf("checked after %v, want %v", got, test.every)
				}
				m.register(t, `{"name":"boot","runtime":"langgraph","url":"http://agent.test"}`)
				pass(test.every - 2*time.Second)
				if got := m.took(); got != "GET a GET GET" {
					t.Errorf("calls %q", got)
				}
				pass(2 * time.Second)
				if got := m.took(); got != "GET a GET" {
					t.Errorf("calls %q, want the card again", got)
				}
				m.expectCard(t, `{"name":"a","runtime":"langgraph","url":"http://agent.test"}`)
				if h := p.Health(); h.Acknowledged != h.Desired {
					t.Errorf("health %+v", h)
				}
				m.set(onRead(func() (*http.Response, error) { return respond(404, "no such page") }))
				pass(2 * test.every)
				m.set(asUsual)
				pass(test.every)
				err := testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP pannier_reconcile_total Checks whether the platform still holds the card, by result.
# TYPE pannier_reconcile_total counter
pannier_reconcile_total{platform="platform.test:8080",result="replaced"} 1
pannier_reconcile_total{platform="platform.test:8080",result="same"} 2
pannier_reconcile_total{platform="platform.test:8080",result="unreadable"} 2
`), "pannier_reconcile_total")
				if err != nil {
					t.Error(err)
				}
				if got := m.took(); got != "GET GET GET" {
					t.Errorf("calls %q", got)
				}
			})
		})
	}
}

// TestCheckThatFindsNoWorkspace ends in an error that says so.
func TestCheckThatFindsNoWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		p := facing(t, m, options{ReadBack: true})
		start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		m.set(onRead(func() (*http.Response, error) { return respond(410, `{"error":"Workspace `+token+` removed"}`) }))
		pass(6 * time.Minute)
		h := p.Health()
		if !h.Acknowledged.IsZero() || !strings.HasSuffix(h.LastError, "not stored it: Workspace [redacted] removed") {
			t.Errorf("health %+v", h)
		}
	})
}

// TestKeysOfOthers are kept as they are at the time of the push.
func TestKeysOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		m.register(t, `{"name":"boot","skills":[{"id":"old"}],"url":"http://old.test","runtime":"langgraph","configuration_status":"ready"}`)
		p := facing(t, m, options{ReadBack: true})
		start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		m.expectCard(t, `{"name":"a","configuration_status":"ready","runtime":"langgraph","url":"http://old.test"}`)
		if h := p.Health(); h.Acknowledged != cardOf("a").Digest || h.Desired != cardOf("a").Digest {
			t.Errorf("health %+v, want the digest of our own card", h)
		}
		m.register(t, `{"name":"boot","url":"http://new.test"}`)
		pass(10 * time.Second)
		p.Offer(cardOf("b"))
		synctest.Wait()
		m.expectCard(t, `{"name":"b","url":"http://new.test"}`)
		m.took()
		m.register(t, `{"name":"b","url":"http://newer.test","x":1}`) // ours, and more
		pass(time.Hour)
		if got := m.took(); strings.Trim(got, "GET ") != "" {
			t.Errorf("calls %q, want no push", got)
		}
	})
}

// TestPlatformThatComesLateIsReadFirst: the failures before must not have its url overwritten.
func TestPlatformThatComesLateIsReadFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		m.register(t, `{"name":"boot","url":"http://agent.test"}`)
		var up atomic.Bool
		m.set(func(*http.Request) (*http.Response, error) {
			if !up.Load() {
				return nil, errBroken
			}
			return nil, nil
		})
		p := facing(t, m, options{ReadBack: true})
		start(t, p)
		p.Offer(cardOf("a"))
		pass(time.Minute)
		up.Store(true)
		pass(time.Minute)
		m.expectCard(t, `{"name":"a","url":"http://agent.test"}`)
	})
}
