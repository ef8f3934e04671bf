package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pannier"
	"pannier/publish/api"
	"pannier/publish/card"
	"pannier/publish/prompt"
	"pannier/publish/rpc"
	"pannier/publish/turn"
	"pannier/registry/resolve"
	"pannier/service"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		os.Exit(playRole())
	}
	goleak.VerifyTestMain(m)
}

// deadline bounds whatever a test waits for.
const deadline = 30 * time.Second

// house is a handler and what it is composed of. Tests replace parts of it before they call handler.
type house struct {
	snapshot *pannier.Snapshot
	options  api.Options
	content  service.Options // without what options have too
	turns    turn.Options    // without what options have too
	skills   rpc.Skills      // without what options have too

	mu     sync.Mutex
	events []pannier.SkillLoaded
	scans  int
}

// texts answers with functions.
type texts struct {
	read  func(*pannier.Skill) (pannier.Document, error)
	files func(*pannier.Skill) ([]pannier.File, bool, error)
}

func (t texts) Read(_ context.Context, s *pannier.Skill) (pannier.Document, error) { return t.read(s) }

func (t texts) Files(_ context.Context, s *pannier.Skill) ([]pannier.File, bool, error) {
	return t.files(s)
}

// documents has a text for every skill that the loader would have one for.
func documents() texts {
	return texts{
		read: func(s *pannier.Skill) (pannier.Document, error) {
			if s.Broken || s.LastGood || s.ToolsOnly {
				return pannier.Document{}, pannier.ErrNotServable
			}
			return pannier.Document{Frontmatter: json.RawMessage(`{"name":"` + s.Name + `","z":1,"a":[true]}`), Body: "# " + s.Name + " <&>\n"}, nil
		},
		files: func(s *pannier.Skill) ([]pannier.File, bool, error) {
			return []pannier.File{{Path: "SKILL.md", Size: 40}, {Path: "references/a.md", Size: 2}, {Path: "scripts/run.sh", Size: 3, Executable: true}}, false, nil
		},
	}
}

// audited is an audit log whose newest entries a function returns. It drops what is appended.
type audited func(slug string, before uint64, limit int) ([]pannier.AuditEntry, error)

func (a audited) Newest(slug string, before uint64, limit int) ([]pannier.AuditEntry, error) {
	return a(slug, before, limit)
}

func (audited) Verify(context.Context, string) (pannier.AuditCheck, error) {
	return pannier.AuditCheck{OK: true, Broken: true, Directory: "/d", Entries: 1, Seq: 1, Head: "sha256:x", RecordedBreaks: 1, Headless: true, Error: "e"}, nil
}

func (audited) Append(e pannier.AuditEntry) (pannier.AuditEntry, error) { return e, nil }

func skill(slug string) *pannier.Skill {
	return &pannier.Skill{
		Slug: slug, Folder: slug, Path: "skills/" + slug, Root: "skills", SourceKind: pannier.SourceWorkspace,
		Name: slug, Description: "does " + slug, File: "SKILL.md", UserInvocable: true, Implicit: true,
		Digest: pannier.DigestOf([]byte(slug)), MetaDigest: pannier.DigestOf([]byte("meta " + slug)),
	}
}

func entry(slug string, state pannier.State) *pannier.Entry {
	return &pannier.Entry{
		Skill: skill(slug), ID: slug, State: state, Usable: state == pannier.StateEligible, Reasons: []pannier.Reason{},
		Policy: pannier.EffectivePolicy{Enabled: true, AllowImplicit: true, Source: pannier.PolicyStart, ImplicitSource: pannier.PolicyGateway},
	}
}

// catalog has a skill of every sort.
func catalog() *pannier.Snapshot {
	full := entry("alpha", pannier.StateEligible)
	full.Owner, full.Version, full.License, full.Homepage, full.Emoji = "acme", "1.0", "MIT", "https://a.example", "🅰"
	full.Runtimes, full.Tags, full.Examples, full.AllowedTools = []string{"codex"}, []string{"t"}, []string{"e"}, []string{"Read"}
	full.Skill.Requirements = pannier.Requirements{Bins: []string{"git"}}
	full.Problems = []pannier.Problem{{Code: "skill.x", Severity: pannier.SeverityWarning, Path: "skills/alpha/SKILL.md", Line: 2, Message: "m", Hint: "h"}}
	missing := entry("beta", pannier.StateIneligible)
	missing.Reasons = []pannier.Reason{{Code: pannier.ReasonMissingBinary, Subject: "jq", Remedy: "install jq"}}
	unlisted := entry("delta", pannier.StateUnlisted)
	unlisted.Reasons = missing.Reasons
	lastGood := entry("gamma", pannier.StateEligible)
	lastGood.LastGood = true
	lastGood.Problems = []pannier.Problem{{Code: "skill.yaml", Severity: pannier.SeverityError, Path: "skills/gamma/SKILL.md", Line: 3, Message: "no mapping", Hint: "mend line 3"}}
	winner, loser := entry("omega", pannier.StateEligible), entry("omega", pannier.StateShadowed)
	loser.Skill.Path, loser.Owner, loser.ShadowedBy = "extra/omega", "late", winner.Path
	return &pannier.Snapshot{
		Version: 7, Digest: pannier.DigestOf([]byte("s")),
		Time: time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC), Environment: pannier.Environment{Source: pannier.EnvironmentSidecar},
		Entries: []*pannier.Entry{full, missing, unlisted, lastGood, winner, loser, entry("zeta", pannier.StateShadowed)},
	}
}

var cardText = []byte(`{"name":"a <b> & c","skills":[]}`)

func newHouse() *house {
	h := &house{snapshot: catalog()}
	h.content = service.Options{
		Snapshot: func() *pannier.Snapshot { return h.snapshot },
		Reading:  service.Reading{Texts: documents(), Directory: func(s *pannier.Skill) string { return path.Dir(prompt.Location(s, "/configs")) }},
		Ranked:   new(resolve.Resolver).Find,
		Rescan: func(context.Context, bool) (*pannier.Snapshot, error) {
			h.scans++
			return h.snapshot, nil
		},
		Emit: func(kind pannier.EventType, data any) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if kind == pannier.EventSkillLoaded {
				h.events = append(h.events, data.(pannier.SkillLoaded))
			}
		},
	}
	h.turns = turn.Options{Resolve: new(resolve.Resolver).Resolve, AgentWorkspace: "/configs", MaxChars: 24000}
	h.options = api.Options{
		Reports: api.Reports{
			Card: func() card.Card { return card.Card{JSON: cardText} },
			Health: func() pannier.Health {
				return pannier.Health{
					Status: pannier.HealthDegraded, Version: "devel", StartedAt: h.snapshot.Time, Socket: "/s", Skills: map[pannier.State]int{pannier.StateEligible: 1},
					Workspace: "/w", WorkspaceID: "id", SnapshotVersion: 7,
					Conditions: []pannier.Condition{{Code: "c", Severity: pannier.SeverityWarning, Subject: "s", Message: "m", Hint: "h", Since: h.snapshot.Time}},
					Watch:      pannier.WatchHealth{Mode: "inotify", Watches: 3, Roots: []string{"skills"}},
					Push:       []pannier.PushHealth{{Platform: "https://p.example", Desired: pannier.DigestOf(cardText), LastError: "refused", Since: h.snapshot.Time}},
				}
			},
		},
		MaxArchiveBytes: 64,
		Metrics:         http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("metrics\n")) }),
	}
	return h
}

func (h *house) handler() *api.Handler {
	o, c, t := h.options, h.content, h.turns
	c.Logger, c.Registerer = o.Logger, o.Registerer
	if c.Mask = t.Events.Mask; t.Events.Text {
		c.Mask = nil
	}
	o.Service = service.New(c)
	t.Service, t.Peers, t.Registerer = o.Service, o.Peers, o.Registerer
	o.Turns = turn.New(t)
	of := h.skills
	of.Service, of.Turns, of.Logger, of.Registerer = o.Service, o.Turns, o.Service.Logger, o.Registerer
	o.RPC = rpc.NewSkills(of)
	return api.New(o)
}

// ask sends a request within the process. header are names and values in turn.
func ask(h http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for pair := range slices.Chunk(header, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// decode reads an answer strictly, so that it fails on what the shape does not have.
func decode[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var value T
	dec := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&value); err != nil {
		t.Fatalf("%T: %v in %s", value, err, w.Body)
	}
	return value
}

// shortDir is a directory for sockets, which have short paths only.
func shortDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func socketPath(tb testing.TB) string { return filepath.Join(shortDir(tb), "s") }
