package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/publish/rpc"
	"pannier/registry/resolve"
	"pannier/service"
)

// protocolID is that of the workspace in the examples of the Pioneer skills protocol.
const protocolID = "ws_000000000000000001"

// feed hands out snapshots, newest wins, as a registry does.
type feed struct {
	mu      sync.Mutex
	current *pannier.Snapshot
	slots   map[chan *pannier.Snapshot]bool
}

func (f *feed) get() *pannier.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current
}

func (f *feed) set(s *pannier.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current = s
	for slot := range f.slots {
		select {
		case <-slot:
		default:
		}
		slot <- s
	}
}

func (f *feed) subscribe() (<-chan *pannier.Snapshot, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slot := make(chan *pannier.Snapshot, 1)
	if f.current != nil {
		slot <- f.current
	}
	f.slots[slot] = true
	return slot, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.slots, slot)
	}
}

// callable is a house that is asked by JSON-RPC, and whose policies can be set.
type callable struct {
	*house
	service.Changes // nil but for SetPolicy
	feed            *feed
}

func newCallable(s *pannier.Snapshot) *callable {
	c := &callable{house: newHouse(), feed: &feed{current: s, slots: map[chan *pannier.Snapshot]bool{}}}
	c.snapshot = s
	c.content.Snapshot = c.feed.get
	c.content.Contents = prints{fingerprint: func(s *pannier.Skill) pannier.Digest { return pannier.DigestOf([]byte("print " + s.Slug)) }}
	c.skills = rpc.Skills{
		WorkspaceID: protocolID, Workspace: "/path/on", MinimumTrust: pannier.TrustCommunity, Subscribe: c.feed.subscribe,
		Rejection: resolve.Rejection,
		Updated:   func(*pannier.Skill) time.Time { return time.Unix(1777900000, 5) },
	}
	c.content.Changes = c
	c.content.Audit = audited(func(slug string, _ uint64, limit int) ([]pannier.AuditEntry, error) {
		at := time.Unix(1777900001, 0)
		entries := []pannier.AuditEntry{
			{Phase: pannier.AuditOutcome, Action: pannier.ActionScan, Slug: "documents", Time: at, Error: "no room"},
			{Phase: pannier.AuditIntent, Action: pannier.ActionScan, Slug: "documents", Time: at},
			{Phase: pannier.AuditOutcome, Action: pannier.ActionSetPolicy, Slug: "documents", Time: at, Detail: map[string]any{"a": "<b>"}},
		}
		return entries[:min(limit, len(entries))], nil
	})
	return c
}

// SetPolicy implements [service.Changes].
func (c *callable) SetPolicy(_ context.Context, _ pannier.Actor, key pannier.PolicyKey, change pannier.PolicyChange) (pannier.Policy, *pannier.Snapshot, error) {
	_, key.Slug = pannier.SplitQualified(key.Slug)
	if key.SourceKind == "unheard-of" {
		return pannier.Policy{}, nil, &pannier.Refusal{Code: "policy.source_kind", Message: "m", Hint: "h"}
	}
	before := c.feed.get()
	after := *before
	after.Version++
	after.Policies.Workspace = map[pannier.PolicyKey]pannier.PolicyEntry{}
	for k, v := range before.Policies.Workspace {
		after.Policies.Workspace[k] = v
	}
	after.Policies.Workspace[key] = after.Policies.Workspace[key].Change(change, "")
	c.feed.set(&after)
	return after.Policies.Of(key, nil), &after, nil
}

// documents is the one skill of the protocol's examples.
func documentsOnly() *pannier.Snapshot {
	e := entry("documents", pannier.StateEligible)
	e.Skill.Path, e.Name, e.Description, e.Version, e.Owner = "gateway", "Documents", "Work with document files.", "0.1.0", "pioneer"
	e.Managed, e.TrustLevel, e.Policy.AllowImplicit = true, pannier.TrustVerified, false
	return &pannier.Snapshot{Version: 12, Digest: pannier.DigestOf([]byte("s")), Time: time.Unix(1777900000, 999), Entries: []*pannier.Entry{e}}
}

// post sends a body as root and returns what is answered.
func post(t *testing.T, h http.Handler, body string) string {
	t.Helper()
	w := askAs(h, 0, "POST", "/v1/rpc", body)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	return w.Body.String()
}

func rpcRequest(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":"` + id + `","method":"` + method + `","params":` + params + `}`
}

// compact returns JSON without blanks.
func compact(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out.String()
}

// TestProtocolExamples answers the examples of the Pioneer skills protocol as it does, to the byte but for what is left out
// there: the fingerprint, and the results that it has no example of.
func TestProtocolExamples(t *testing.T) {
	fingerprint := pannier.DigestOf([]byte("print documents")).String()
	for _, tt := range []struct{ name, asks, want string }{
		{"Listing Skills", `{
  "jsonrpc": "2.0",
  "id": "aaaaaaaaaaaaaaaaaaaaa",
  "method": "skills/list",
  "params": {
    "workspace_id": "ws_000000000000000001",
    "include_health": true,
    "include_policy": true
  }
}`, `{"jsonrpc": "2.0", "id": "aaaaaaaaaaaaaaaaaaaaa", "result": {
  "snapshot_version": 12,
  "generated_at": 1777900000,
  "skills": [
    {
      "slug": "documents",
      "source_kind": "workspace",
      "display_name": "Documents",
      "description": "Work with document files.",
      "version": "0.1.0",
      "fingerprint": "` + fingerprint + `",
      "trust_level": "trusted",
      "install": {
        "managed": true,
        "installed": true,
        "install_path": "/path/on/gateway",
        "updated_at": 1777900000
      },
      "policy": {
        "enabled": true,
        "allow_implicit_invocation": false
      },
      "health": {
        "status": "ok",
        "dependency_failures": [],
        "security_blocks": [],
        "validation_issues": []
      },
      "status": "ready"
    }
  ]
}}`},
		{"Setting Policy", `{
  "jsonrpc": "2.0",
  "id": "eeeeeeeeeeeeeeeeeeeee",
  "method": "skills/policy/set",
  "params": {
    "workspace_id": "ws_000000000000000001",
    "skill_slug": "documents",
    "source_kind": "workspace",
    "enabled": true,
    "allow_implicit_invocation": false
  }
}`, `{"jsonrpc": "2.0", "id": "eeeeeeeeeeeeeeeeeeeee", "result": {"policy": {
  "workspace_id": "ws_000000000000000001", "skill_slug": "documents", "source_kind": "workspace", "enabled": true, "allow_implicit_invocation": false}}}`},
		{"Health", `{
  "jsonrpc": "2.0",
  "id": "fffffffffffffffffffff",
  "method": "skills/health",
  "params": {
    "workspace_id": "ws_000000000000000001",
    "skills": [
      { "slug": "documents", "source_kind": "workspace" }
    ],
    "audit_limit": 16
  }
}`, `{"jsonrpc": "2.0", "id": "fffffffffffffffffffff", "result": {"snapshot_version": 12, "generated_at": 1777900000, "skills": [{
  "slug": "documents", "source_kind": "workspace", "trust_level": "trusted", "status": "ok",
  "dependency_failures": [], "security_blocks": [], "validation_issues": [],
  "usable": true, "policy": {"enabled": true, "allow_implicit_invocation": false}, "dependency_diagnostics": [], "security_findings": [],
  "trust_gate": [{"tool_kind": "shell", "minimum_trust": "community", "allowed": true}, {"tool_kind": "http", "minimum_trust": "community", "allowed": true},
    {"tool_kind": "function_proxy", "minimum_trust": "community", "allowed": true}],
  "recent_audit": [{"action": "skill.scan", "decision": "blocked", "created_at": 1777900001, "details_json": "{\"error\":\"no room\"}"},
    {"action": "policy.set", "decision": "allowed", "created_at": 1777900001, "details_json": "{\"detail\":{\"a\":\"\\u003cb\\u003e\"}}"}],
  "activity": {}
}]}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(compact(t, tt.want), post(t, newCallable(documentsOnly()).handler(), tt.asks)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestListShowsEverySort of skill in the words of the protocol.
func TestListShowsEverySort(t *testing.T) {
	s := catalog()
	s.Entries[3].TrustLevel = pannier.TrustInternal
	disabled := entry("off", pannier.StateDisabled)
	disabled.Reasons, disabled.Policy.Enabled = []pannier.Reason{{Code: pannier.ReasonDisabled}}, false
	disabled.TrustLevel = pannier.TrustCommunity
	s.Entries = append(s.Entries, disabled)
	var answer struct {
		Result struct {
			Skills []struct {
				Slug         string
				SourceKind   string `json:"source_kind"`
				TrustLevel   string `json:"trust_level"`
				Status       string
				StatusReason string `json:"status_reason"`
				Policy       *struct{ Enabled bool }
				Health       *struct {
					Status string
					Deps   []struct{ Kind, Name, Status, Hint string } `json:"dependency_failures"`
					Issues []struct{ Code, Level string }              `json:"validation_issues"`
				}
			}
		}
	}
	h := newCallable(s).handler()
	if err := json.Unmarshal([]byte(post(t, h, rpcRequest("1", "skills/list", `{}`))), &answer); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range answer.Result.Skills {
		got = append(got, fmt.Sprint(i.Slug, " ", i.TrustLevel, " ", i.Status, " ", i.StatusReason, " ", i.Health.Status, " ", i.Health.Deps, " ", i.Health.Issues))
	}
	want := []string{
		"alpha untrusted ready  ok [] [{skill.x warning}]", "beta untrusted blocked dependency_missing blocked [{bin jq missing install jq}] []",
		"delta untrusted blocked unlisted blocked [{bin jq missing install jq}] []", "gamma trusted ready  ok [] [{skill.yaml error}]",
		"omega untrusted ready  ok [] []", "zeta untrusted blocked shadowed ok [] []", "off community disabled disabled_by_policy ok [] []",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if bare := post(t, h, rpcRequest("1", "skills/list", `{"include_health":false,"include_policy":false}`)); strings.Contains(bare, `"health"`) || strings.Contains(bare, `"policy"`) {
		t.Errorf("without health and policy: %s", bare)
	}
}

// TestPolicySetKeepsWhatIsLeftOut, takes slugs with and without owner, and is listed.
func TestPolicySetKeepsWhatIsLeftOut(t *testing.T) {
	h := newCallable(documentsOnly()).handler()
	for _, tt := range []struct{ params, want string }{
		{`{"skill_slug":"documents","enabled":false}`, `"source_kind":"workspace","enabled":false}`},
		{`{"skill_slug":"pioneer/documents","allow_implicit_invocation":true}`, `"source_kind":"workspace","enabled":false,"allow_implicit_invocation":true}`},
		{`{"skill_slug":"documents","enabled":null}`, `"source_kind":"workspace","allow_implicit_invocation":true}`},
		{`{"skill_slug":"documents"}`, `"source_kind":"workspace","allow_implicit_invocation":true}`},
		{`{"skill_slug":"to-come","source_kind":"managed","enabled":true}`, `"source_kind":"managed","enabled":true}`},
	} {
		if got := post(t, h, rpcRequest("1", "skills/policy/set", tt.params)); !strings.HasSuffix(got, tt.want+"}}") {
			t.Errorf("%s: %s", tt.params, got)
		}
	}
	const want = `{"jsonrpc":"2.0","id":"1","result":{"policies":[` +
		`{"workspace_id":"ws_000000000000000001","skill_slug":"documents","source_kind":"workspace","allow_implicit_invocation":true},` +
		`{"workspace_id":"ws_000000000000000001","skill_slug":"to-come","source_kind":"managed","enabled":true}]}}`
	if got := post(t, h, rpcRequest("1", "skills/policy/list", `{}`)); got != want {
		t.Errorf("list: %s", got)
	}
}

// TestRead is the read_skill of the Pioneer skills architecture over the text of GET content.
func TestRead(t *testing.T) {
	s := catalog()
	s.Entries[0].Skill.Name = "Same name"
	s.Entries[4].Skill.Name = "Same name"
	s.Entries[3].LastGood = false
	s.Entries[3].Skill.Name = "alpha" // no skill takes over another by its name
	c := newCallable(s)
	c.content.Texts = texts{
		read: func(s *pannier.Skill) (pannier.Document, error) {
			return pannier.Document{Body: "né <" + s.Slug + ">"}, nil
		},
		files: documents().files,
	}
	h := c.handler()
	metadata := func(slug string) string {
		return fmt.Sprintf(`"fingerprint":"%s","digest":"%s","source_kind":"workspace"`, pannier.DigestOf([]byte("print "+slug)), pannier.DigestOf([]byte(slug)))
	}
	rest := func(slug string) string {
		return `"skill_asset_root":"/configs/skills/` + slug + `","relative_path_resolution":"relative paths in the body are below skill_asset_root"}}`
	}
	alpha := `{"slug":"alpha","name":"Same name","description":"does alpha",` + metadata("alpha") + `,"body":"né <alpha>","truncated":false,"offset":0,"total_chars":10,` + rest("alpha")
	for _, tt := range []struct{ params, want string }{
		{`{"slug":"alpha"}`, alpha},
		{`{"slug":" $acme/alpha"}`, alpha},
		{`{"slug":"workspace:acme/alpha"}`, alpha},
		{`{"slug":"alpha","include_metadata":false,"max_chars":2}`, `{"slug":"alpha","body":"né","truncated":true,"offset":0,"next_offset":2,"total_chars":10,` + rest("alpha")},
		{`{"slug":"alpha","include_metadata":false,"max_chars":99999,"offset":2}`, `{"slug":"alpha","body":" <alpha>","truncated":false,"offset":2,"total_chars":10,` + rest("alpha")},
		{`{"slug":"alpha","include_metadata":false,"offset":11}`, `{"slug":"alpha","body":"","truncated":false,"offset":11,"total_chars":10,` + rest("alpha")},
	} {
		c.events = nil
		if got, want := post(t, h, rpcRequest("1", "skills/read", tt.params)), `{"jsonrpc":"2.0","id":"1","result":`+tt.want; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.params, got, want)
		}
		if len(c.events) != 1 || c.events[0].Path != "skills/alpha" {
			t.Errorf("%s: events %v", tt.params, c.events)
		}
	}
}

// TestHealthOfChosenSkills shows each skill once, in the order of the list.
func TestHealthOfChosenSkills(t *testing.T) {
	h := newCallable(catalog()).handler()
	for _, tt := range []struct{ params, want string }{
		{`{}`, "alpha beta delta gamma omega zeta"},
		{`{"skills":[]}`, "alpha beta delta gamma omega zeta"},
		{`{"skills":[{"slug":"gamma"},{"slug":"acme/alpha","source_kind":"workspace"},{"slug":"gamma"}]}`, "alpha gamma"},
	} {
		var answer struct {
			Result struct{ Skills []struct{ Slug string } }
		}
		if err := json.Unmarshal([]byte(post(t, h, rpcRequest("1", "skills/health", tt.params))), &answer); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range answer.Result.Skills {
			got = append(got, i.Slug)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v", tt.params, got)
		}
	}
}

// TestTurnsAreThoseOfTheRoutes: one answer, whichever way.
func TestTurnsAreThoseOfTheRoutes(t *testing.T) {
	h := newCallable(catalog()).handler()
	const turn = `{"text":"/skill:alpha now","format":"available_skills","limits":{"max_chars":900}}`
	for method, route := range map[string]string{"skills/resolve": "/v1/resolve", "skills/prompt": "/v1/prompt"} {
		want := strings.TrimSpace(ask(h, "POST", route, turn, "Accept", "application/json").Body.String())
		if got := post(t, h, rpcRequest("1", method, turn)); got != `{"jsonrpc":"2.0","id":"1","result":`+want+"}" {
			t.Errorf("%s: %s\nroute: %s", method, got, want)
		}
	}
}
