package molecule_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"pannier"
	"pannier/publish/card"
)

// outboxRecord is what the tests look at in the file.
type outboxRecord struct {
	Platform     string          `json:"platform"`
	Pending      bool            `json:"pending"`
	Digest       pannier.Digest  `json:"digest"`
	Acknowledged pannier.Digest  `json:"acknowledged"`
	Card         json.RawMessage `json:"card"`
}

func readRecord(t *testing.T, p *publisher) outboxRecord {
	t.Helper()
	text, err := os.ReadFile(p.OutboxFile())
	if err != nil {
		t.Fatal(err)
	}
	var r outboxRecord
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

func TestOutboxFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "outbox")
		m := newMolecule(t).known(t)
		o := options{Outbox: dir, Header: http.Header{"X-Molecule-Org-Id": {"org-secret"}}}
		p := facing(t, m, o)
		var before outboxRecord
		m.set(func(*http.Request) (*http.Response, error) {
			if err := p.AwaitOutbox(t.Context()); err != nil {
				return nil, err
			}
			text, err := os.ReadFile(p.OutboxFile())
			return nil, errors.Join(err, json.Unmarshal(text, &before))
		})
		text := json.RawMessage(`{"name":"<b> & co","skills":[]}`)
		c := card.Card{JSON: text, Digest: pannier.DigestOf(text), SnapshotVersion: 7}
		p.Offer(c)
		stop := start(t, p)
		synctest.Wait()
		stop()
		if !before.Pending || before.Digest != c.Digest || string(before.Card) != string(c.JSON) {
			t.Errorf("during the try the outbox held %+v", before)
		}
		after := readRecord(t, p)
		if after.Pending || after.Acknowledged != c.Digest || after.Platform != "http://platform.test:8080/registry/update-card" {
			t.Errorf("after the answer the outbox held %+v", after)
		}
		content, err := os.ReadFile(p.OutboxFile())
		if err != nil || strings.Contains(string(content), "secret") {
			t.Errorf("%v, or a secret is in %s", err, content)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 1 {
			t.Errorf("%v in the outbox (%v), want one file", files, err)
		}
		if info, err := os.Stat(p.OutboxFile()); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		o.URL = "http://platform.test:8080/other"
		if other := facing(t, m, o); other.OutboxFile() == p.OutboxFile() || !other.Health().Desired.IsZero() {
			t.Error("two platforms share a file")
		}
	})
}

// TestOutboxThatDoesNotAnswer has cards pushed while the disk of the outbox does not answer; then it holds the newest one.
func TestOutboxThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		p := facing(t, m, options{Outbox: t.TempDir(), ReadBack: true})
		answers := make(chan struct{})
		p.SetStep(func(name string) error {
			if name == "sync" {
				<-answers
			}
			return nil
		})
		stop := start(t, p)
		for _, name := range []string{"a", "b", "c"} {
			begun := time.Now()
			p.Offer(cardOf(name))
			synctest.Wait()
			if h := p.Health(); h.Acknowledged != cardOf(name).Digest || time.Since(begun) > 0 {
				t.Errorf("%s: health %+v after %s", name, h, time.Since(begun))
			}
		}
		close(answers)
		stop()
		if r := readRecord(t, p); r.Pending || r.Digest != cardOf("c").Digest {
			t.Errorf("outbox %+v", r)
		}
	})
}

// TestRestart has a second publisher follow a first one on one outbox.
func TestRestart(t *testing.T) {
	accepted := func(p *publisher, m *moleculeServer) { p.Offer(cardOf("a")) }
	unanswered := func(p *publisher, m *moleculeServer) {
		m.set(func(*http.Request) (*http.Response, error) { return nil, errBroken })
		p.Offer(cardOf("a"))
	}
	for _, test := range []struct {
		name     string
		readBack bool
		before   func(*publisher, *moleculeServer)
		between  string // the card that an agent registers
		offered  string // after the restart
		calls    string
		want     string
	}{
		{"unchanged", false, accepted, "", "a", "", "a"},
		{"unchanged, read back", true, accepted, "", "a", "GET", "a"},
		{"unchanged, not offered", true, accepted, "", "", "GET", "a"},
		{"changed", false, accepted, "", "b", "b", "b"},
		{"changed, read back", true, accepted, "", "b", "GET b GET", "b"},
		{"replaced meanwhile", true, accepted, "boot", "a", "GET a GET", "a"},
		{"replaced meanwhile, not offered", true, accepted, "boot", "", "GET a GET", "a"},
		{"pending, not offered", false, unanswered, "", "", "a", "a"},
		{"pending, the same", false, unanswered, "", "a", "a", "a"},
		{"pending, read back", true, unanswered, "", "a", "GET a GET", "a"},
		{"pending, a newer one", false, unanswered, "", "b", "b", "b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, reg := newMolecule(t).known(t), prometheus.NewRegistry()
				o := options{Outbox: t.TempDir(), ReadBack: test.readBack}
				first := facing(t, m, o)
				stop := start(t, first)
				test.before(first, m)
				synctest.Wait()
				stop()
				was := first.Health()
				m.took()
				m.set(asUsual)
				if test.between != "" {
					m.register(t, `{"name":"`+test.between+`"}`)
				}
				o.Registerer = reg
				second := facing(t, m, o)
				if h := second.Health(); h.Desired != was.Desired || h.Acknowledged != was.Acknowledged || !h.LastSuccess.Equal(was.LastSuccess) {
					t.Errorf("health %+v, before the restart %+v", h, was)
				}
				if test.offered != "" {
					second.Offer(cardOf(test.offered))
				}
				stop = start(t, second)
				synctest.Wait()
				stop()
				if got := m.took(); got != test.calls {
					t.Errorf("calls %q, want %q", got, test.calls)
				}
				m.expectCard(t, string(cardOf(test.want).JSON))
				if h := second.Health(); h.Acknowledged != cardOf(test.want).Digest || h.Acknowledged != h.Desired {
					t.Errorf("health %+v", h)
				}
				if r := readRecord(t, second); r.Pending || r.Digest != cardOf(test.want).Digest {
					t.Errorf("outbox %+v", r)
				}
				if n := testutil.ToFloat64(outboxPending(t, reg)); n != 0 {
					t.Errorf("pending %v", n)
				}
			})
		})
	}
}

// outboxPending is the series of that name.
func outboxPending(t *testing.T, reg *prometheus.Registry) prometheus.Gauge {
	t.Helper()
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "pannier_outbox_pending", Help: "Whether a card waits for the platform to take it.",
	}, []string{"platform"})
	already, ok := errors.AsType[prometheus.AlreadyRegisteredError](reg.Register(g))
	if !ok {
		t.Fatal("pannier_outbox_pending is not registered")
	}
	return already.ExistingCollector.(*prometheus.GaugeVec).WithLabelValues("platform.test:8080")
}

// TestRestartWithoutAnAnswerToTheReading pushes: once too often does no harm.
func TestRestartWithoutAnAnswerToTheReading(t *testing.T) {
	for name, status := range map[string]int{"no route": 404, "failed": 500} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMolecule(t).known(t)
				o := options{Outbox: t.TempDir(), ReadBack: true}
				stop := start(t, offered(facing(t, m, o), "a"))
				synctest.Wait()
				stop()
				m.took()
				m.set(onRead(func() (*http.Response, error) { return respond(status, "") }))
				start(t, offered(facing(t, m, o), "a"))
				pass(time.Minute)
				if got := strings.ReplaceAll(m.took(), "GET", ""); strings.TrimSpace(got) != "a" {
					t.Errorf("pushed %q, want a once", got)
				}
			})
		})
	}
}

func offered(p *publisher, name string) *publisher {
	p.Offer(cardOf(name))
	return p
}

// TestOutboxFollowsTheSlot: what counts is what ought to be there, not what was tried last.
func TestOutboxFollowsTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		p := facing(t, m, options{Outbox: t.TempDir()})
		stop := start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		m.set(func(*http.Request) (*http.Response, error) { return respond(429, "", "Retry-After", "60") })
		p.Offer(cardOf("b"))
		synctest.Wait()
		if r := readRecord(t, p); !r.Pending || r.Digest != cardOf("b").Digest || r.Acknowledged != cardOf("a").Digest {
			t.Errorf("outbox %+v, want b to be pending", r)
		}
		p.Offer(cardOf("a"))
		pass(2 * time.Minute)
		if r := readRecord(t, p); r.Pending || r.Digest != cardOf("a").Digest {
			t.Errorf("outbox %+v, want a again", r)
		}
		p.Offer(cardOf("b"))
		synctest.Wait()
		p.Offer(cardOf("c"))
		stop()
		if r := readRecord(t, p); !r.Pending || r.Digest != cardOf("c").Digest {
			t.Errorf("outbox %+v, want what was offered last", r)
		}
	})
}

func TestOutboxThatIsCorrupt(t *testing.T) {
	good := func(t *testing.T, dir string) (path, text string) {
		m := newMolecule(t).known(t)
		p := facing(t, m, options{Outbox: dir})
		stop := start(t, offered(p, "a"))
		synctest.Wait()
		stop()
		content, err := os.ReadFile(p.OutboxFile())
		if err != nil {
			t.Fatal(err)
		}
		return p.OutboxFile(), string(content)
	}
	write := func(change func(string) string) func(*testing.T, string, string) {
		return func(t *testing.T, path, text string) {
			if err := os.WriteFile(path, []byte(change(text)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	replace := func(old, new string) func(*testing.T, string, string) {
		return write(func(text string) string {
			if !strings.Contains(text, old) {
				t.Errorf("no %s in %s", old, text)
			}
			return strings.Replace(text, old, new, 1)
		})
	}
	instead := func(make func(path string) error) func(*testing.T, string, string) {
		return func(t *testing.T, path, _ string) {
			if err := errors.Join(os.Remove(path), make(path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, spoil := range map[string]func(t *testing.T, path, text string){
		"empty":             write(func(string) string { return "" }),
		"torn":              write(func(text string) string { return text[:len(text)/2] }),
		"not JSON":          write(func(string) string { return "\x00\x00\x00" }),
		"null":              write(func(string) string { return "null" }),
		"other version":     replace(`"version":1`, `"version":2`),
		"other platform":    replace(`"platform":"http://platform`, `"platform":"http://other`),
		"other workspace":   replace(`"workspace_id":"6`, `"workspace_id":"7`),
		"other card":        replace(`{"name":"a"}`, `{"name":"b"}`),
		"no card":           replace(`{"name":"a"}`, `null`),
		"other digest":      replace(`"digest":"sha256:`, `"digest":"sha256:0`),
		"not acknowledged":  replace(`"acknowledged":"`, `"x":"`),
		"directory":         instead(func(path string) error { return os.Mkdir(path, 0o700) }),
		"pipe":              instead(func(path string) error { return syscall.Mkfifo(path, 0o600) }),
		"link into itself":  instead(func(path string) error { return os.Symlink(path+"/x", path) }),
		"link that circles": instead(func(path string) error { return os.Symlink(path, path) }),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, reg, logs := t.TempDir(), prometheus.NewRegistry(), &buffer{}
				path, text := good(t, dir)
				spoil(t, path, text)
				m := newMolecule(t).known(t)
				p := facing(t, m, options{
					Outbox: dir, Registerer: reg,
					Logger: hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Warn}),
				})
				if h := p.Health(); !h.Desired.IsZero() || !h.Acknowledged.IsZero() {
					t.Errorf("health %+v", h)
				}
				expectOutboxErrors(t, reg, 1)
				stop := start(t, offered(p, "a"))
				synctest.Wait()
				stop()
				if got := m.took(); got != "a" || strings.Count(logs.String(), "[WARN]") != 1 {
					t.Errorf("calls %q, log:\n%s", got, logs)
				}
			})
		})
	}
}

func expectOutboxErrors(t *testing.T, reg *prometheus.Registry, n int) {
	t.Helper()
	text := `
# HELP pannier_outbox_errors_total Times that the outbox could not be read or written.
# TYPE pannier_outbox_errors_total counter
pannier_outbox_errors_total{platform="platform.test:8080"} ` + strconv.Itoa(n) + "\n"
	if err := testutil.GatherAndCompare(reg, strings.NewReader(text), "pannier_outbox_errors_total"); err != nil {
		t.Error(err)
	}
}
