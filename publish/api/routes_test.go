package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"pannier"
)

const (
	jsonType     = "application/json"
	textType     = "text/plain; charset=utf-8"
	markdownType = "text/markdown; charset=utf-8"

	skillKeys   = "allowed_tools description digest disable_model_invocation emoji examples homepage id last_good license meta_digest name owner path reasons root runtime slug source_kind state tags usable user_invocable version"
	contentKeys = "body digest directory frontmatter name resources resources_truncated slug warnings"
)

// TestRoutes asks every route for what it gives. keys are those of the value at a path of keys and indexes, sorted.
func TestRoutes(t *testing.T) {
	for _, tt := range []struct {
		method, target, body, accept string
		contentType                  string
		keys                         map[string]string
	}{
		{"GET", "/v1/skills", "", "", jsonType, map[string]string{
			"":       "digest environment_source generated_at held skills snapshot_version tree_digest",
			"held":   "deleting last_good",
			"skills": "0 1 2 3 4 5 6", "skills 0": skillKeys, "skills 1 reasons 0": "code remedy subject",
			"skills 5": "description digest disable_model_invocation id last_good meta_digest name owner path reasons root shadowed_by slug source_kind state usable user_invocable",
		}},
		{"GET", "/v1/skills?include=problems", "", "", jsonType, map[string]string{
			"skills 0": skillKeys + " problems", "skills 0 problems 0": "code hint line message path severity",
		}},
		{"GET", "/v1/skills?include=policy", "", "", jsonType, map[string]string{"skills 0": skillKeys + " policy", "skills 0 policy": "allow_implicit_invocation enabled implicit_source source"}},
		{"GET", "/v1/skills?state=unlisted", "", "", jsonType, map[string]string{"skills": "0"}},
		{"GET", "/v1/skills/alpha", "", "", jsonType, map[string]string{
			"":             skillKeys + " collides_with commands conformance files frontmatter install policy problems requirements tools",
			"requirements": "bins", "files 0": "executable path size", "frontmatter": "a name z",
		}},
		{"GET", "/v1/skills/alpha/content", "", "", jsonType, map[string]string{"": contentKeys}},
		{"GET", "/v1/skills/alpha/content", "", "text/markdown", markdownType, nil},
		{"POST", "/v1/resolve", `{"text":"$beta $alpha","capabilities":[{"id":"1","slug":"nope"}]}`, "", jsonType, map[string]string{
			"":         "active allowed_tools digest excluded_tools prompt rejected snapshot_version tools",
			"active 0": "digest name reason relevance slug source_kind", "active 0 relevance": "matched score", "rejected 0": "detail diagnostics id reason slug",
			"rejected 1 diagnostics 0": "code remedy subject", "prompt": "chars format omitted text tokens_estimate truncated",
		}},
		{"POST", "/v1/resolve", `{"text":"/skill:alpha now"}`, "", jsonType, map[string]string{"active 0": "arguments digest name reason relevance slug source_kind"}},
		{"GET", "/v1/prompt", "", "", textType, nil},
		{"GET", "/v1/prompt?format=available_skills&max_chars=0", "", jsonType, jsonType, map[string]string{"": "chars format omitted text tokens_estimate truncated"}},
		{"POST", "/v1/prompt", `{}`, "", textType, nil},
		{"POST", "/v1/prompt", `{"limits":{"max_chars":1}}`, jsonType, jsonType, map[string]string{"": "chars format omitted text tokens_estimate truncated", "omitted": "0 1 2"}},
		{"GET", "/v1/card", "", "", jsonType, nil},
		{"GET", "/.well-known/agent-card.json", "", "", jsonType, nil},
		{"GET", "/v1/health", "", "", jsonType, map[string]string{
			"":             "conditions push skills snapshot_version socket started_at status version watch workspace workspace_id",
			"conditions 0": "code hint message severity since subject", "watch": "mode polled roots watches",
			"push 0": "desired last_error platform since",
		}},
		{"POST", "/v1/rescan", "", "", jsonType, map[string]string{"": "digest snapshot_version"}},
		{"POST", "/v1/rescan?wait=1", "", "", jsonType, nil},
		{"GET", "/readyz", "", "", textType, nil},
		{"GET", "/metrics", "", "", textType, nil},
	} {
		t.Run(tt.method+" "+tt.target+" "+tt.accept, func(t *testing.T) {
			h := newHouse().handler()
			w := ask(h, tt.method, tt.target, tt.body, "Accept", tt.accept)
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != tt.contentType && tt.target != "/metrics" {
				t.Fatalf("%d %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
			}
			for path, want := range tt.keys {
				checkKeys(t, w, path, want)
			}
			if tt.method == http.MethodGet && tt.target != "/metrics" {
				checkHead(t, h, tt.target, tt.accept, w)
			}
		})
	}
}

func checkKeys(t *testing.T, w *httptest.ResponseRecorder, path, want string) {
	t.Helper()
	raw := json.RawMessage(w.Body.Bytes())
	for key := range strings.FieldsSeq(path) {
		raw = members(t, raw)[key]
	}
	var got []string
	for key := range members(t, raw) {
		got = append(got, key)
	}
	wanted := strings.Fields(want)
	slices.Sort(got)
	slices.Sort(wanted)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("keys of %q (-want +got):\n%s", path, diff)
	}
}

// members are those of an object by key, or of an array by index.
func members(t *testing.T, raw json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	byKey := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &byKey) == nil {
		return byKey
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatalf("neither object nor array: %s", raw)
	}
	for i, m := range list {
		byKey[string(rune('0'+i))] = m
	}
	return byKey
}

// checkHead compares the header that HEAD gives with that of GET.
func checkHead(t *testing.T, h http.Handler, target, accept string, get *httptest.ResponseRecorder) {
	t.Helper()
	head := ask(h, http.MethodHead, target, "", "Accept", accept)
	if head.Code != get.Code {
		t.Errorf("HEAD: %d, GET: %d", head.Code, get.Code)
	}
	if diff := cmp.Diff(get.Header(), head.Header()); diff != "" {
		t.Errorf("HEAD (-GET +HEAD):\n%s", diff)
	}
}

func TestListValues(t *testing.T) {
	h := newHouse()
	list := decode[pannier.List](t, ask(h.handler(), "GET", "/v1/skills", ""))
	if list.SnapshotVersion != 7 || list.Digest != h.snapshot.Digest || !list.GeneratedAt.Equal(h.snapshot.Time) {
		t.Errorf("head of the list: %+v", list)
	}
	if got := list.Held.LastGood; !slices.Equal(got, []string{"gamma"}) {
		t.Errorf("held: %v", got)
	}
	if h.snapshot.Entries[0].Problems == nil {
		t.Error("answering without problems took them out of the snapshot")
	}
	empty := newHouse()
	empty.snapshot = &pannier.Snapshot{Version: 1}
	if w := ask(empty.handler(), "GET", "/v1/skills", ""); !strings.Contains(w.Body.String(), `"held":{"last_good":[],"deleting":[]},"skills":[]`) {
		t.Errorf("a list of nothing: %s", w.Body)
	}
}

func TestDetailValues(t *testing.T) {
	for _, tt := range []struct {
		target     string
		status     int
		path       string
		collisions []string
	}{
		{"/v1/skills/omega", 200, "skills/omega", []string{"extra/omega"}},
		{"/v1/skills/omega?path=extra/omega", 200, "extra/omega", []string{"skills/omega"}},
		{"/v1/skills/late%2Fomega?path=extra/omega", 200, "extra/omega", []string{"skills/omega"}},
		{"/v1/skills/omega?path=nowhere", 404, "", nil},
		{"/v1/skills/acme%2Falpha", 200, "skills/alpha", []string{}},
		{"/v1/skills/ACME%2FAlpha", 200, "skills/alpha", []string{}},
		{"/v1/skills/other%2Falpha", 404, "", nil},
		{"/v1/skills/other%2Falpha?path=skills/alpha", 404, "", nil},
		{"/v1/skills/%2E", 404, "", nil},
		{"/v1/skills/%00", 404, "", nil},
	} {
		w := ask(newHouse().handler(), "GET", tt.target, "")
		if w.Code != tt.status {
			t.Errorf("%s: %d %s", tt.target, w.Code, w.Body)
		}
		if tt.status != 200 {
			checkProblem(t, tt.target, w, 404, "skill_not_found")
			continue
		}
		d := decode[pannier.Detail](t, w)
		if d.Path != tt.path || !slices.Equal(d.CollidesWith, tt.collisions) {
			t.Errorf("%s: path %s, collides with %v", tt.target, d.Path, d.CollidesWith)
		}
	}
}

// TestDetailWithoutText has all that is known of a skill whose text cannot be had.
func TestDetailWithoutText(t *testing.T) {
	h := newHouse()
	held := decode[pannier.Detail](t, ask(h.handler(), "GET", "/v1/skills/gamma", ""))
	if held.Frontmatter != nil || len(held.Problems) != 1 || h.scans != 0 {
		t.Errorf("last good: %+v after %d scans", held, h.scans)
	}
	h.content.Texts = texts{
		read:  func(*pannier.Skill) (pannier.Document, error) { return pannier.Document{}, pannier.ErrChanged },
		files: func(*pannier.Skill) ([]pannier.File, bool, error) { return nil, false, http.ErrAbortHandler },
	}
	w := ask(h.handler(), "GET", "/v1/skills/alpha", "")
	if d := decode[pannier.Detail](t, w); w.Code != 200 || d.Files == nil || d.Slug != "alpha" {
		t.Errorf("endless change: %d %s", w.Code, w.Body)
	}
	if h.scans == 0 {
		t.Error("nobody looked again")
	}
}

func TestCardBytes(t *testing.T) {
	for _, target := range []string{"/v1/card", "/.well-known/agent-card.json"} {
		if w := ask(newHouse().handler(), "GET", target, ""); w.Body.String() != string(cardText) {
			t.Errorf("%s: %s", target, w.Body)
		}
	}
}

func TestPromptLimits(t *testing.T) {
	h := newHouse()
	h.turns.MaxChars = 1
	for _, tt := range []struct {
		method, target, body string
		omitted              int
	}{
		{"GET", "/v1/prompt", "", 3},
		{"GET", "/v1/prompt?max_chars=0", "", 0},
		{"POST", "/v1/prompt", `{"limits":{"max_chars":0}}`, 0},
		{"POST", "/v1/prompt", `{"limits":{"max_chars":null}}`, 3},
	} {
		p := decode[pannier.Prompt](t, ask(h.handler(), tt.method, tt.target, tt.body, "Accept", jsonType))
		if len(p.Omitted) != tt.omitted || p.Truncated != (tt.omitted > 0) {
			t.Errorf("%s %s %s: omitted %v", tt.method, tt.target, tt.body, p.Omitted)
		}
	}
	r := decode[pannier.Resolution](t, ask(h.handler(), "POST", "/v1/resolve", `{"format":"available_skills","limits":{"max_chars":0}}`))
	if !strings.Contains(r.Prompt.Text, "/configs/skills/alpha/SKILL.md") || r.Prompt.Truncated {
		t.Errorf("prompt of a resolution: %+v", r.Prompt)
	}
}

// TestLogKeepsOneLine logs a path with a line feed in it on one line.
func TestLogKeepsOneLine(t *testing.T) {
	var log bytes.Buffer
	h := newHouse()
	h.options.Logger = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Debug})
	for _, target := range []string{"/v1/skills/a%0a2026-01-01T00:00:00Z%20[ERROR]%20forged", "/nothing%0d%0ahere%1b[31m"} {
		log.Reset()
		h.handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", target, nil))
		if strings.Count(log.String(), "\n") != 1 || strings.ContainsAny(log.String(), "\r\x1b") {
			t.Errorf("%s: %q", target, log.String())
		}
	}
}
