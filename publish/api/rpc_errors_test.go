package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestRPCErrors have number, code and words.
func TestRPCErrors(t *testing.T) {
	s := catalog()
	s.Entries[0].Skill.Name = "Same name"
	s.Entries[4].Skill.Name = "Same name"
	c := newCallable(s)
	h := c.handler()
	for _, tt := range []struct {
		method, params string
		number         int
		code, detail   string
	}{
		{"skills/list", `{"workspace_id":"ws_other"}`, -32602, "skills.not_found", `unknown workspace "ws_other"`},
		{"skills/list", `{"workspace_id":""}`, -32602, "skills.invalid_request", "workspace_id is empty"},
		{"skills/list", `{"workspace_id":7}`, -32602, "rpc.invalid_params", "workspace_id cannot be a JSON number"},
		{"skills/list", `{"include_helth":true}`, -32602, "rpc.invalid_params", `unknown field "include_helth"`},
		{"skills/policy/list", `{"slug":"a"}`, -32602, "rpc.invalid_params", `unknown field "slug"`},
		{"skills/policy/set", `{"enabled":true}`, -32602, "skills.invalid_request", "skill_slug is missing"},
		{"skills/policy/set", `{"skill_slug":"alpha","enabled":"no"}`, -32602, "rpc.invalid_params", `a switch is true, false or null, not "no"`},
		{"skills/policy/set", `{"skill_slug":"alpha","source_kind":"unheard-of"}`, -32602, "skills.source_not_supported", "m"},
		{"skills/health", `{"audit_limit":0}`, -32602, "skills.invalid_request", "audit_limit is 0"},
		{"skills/health", `{"audit_limit":101}`, -32602, "skills.invalid_request", "audit_limit is 101"},
		{"skills/health", `{"skills":[{"slug":"/"}]}`, -32602, "skills.invalid_request", `"/" is not a slug`},
		{"skills/health", `{"skills":[{"slug":"gamma"},{"slug":"nope"}]}`, -32602, "skills.not_found", `skill "nope" not found`},
		{"skills/health", `{"skills":[{"slug":"other/alpha"}]}`, -32602, "skills.not_found", `skill "other/alpha" not found`},
		{"skills/health", `{"skills":[{"slug":"beta","source_kind":"managed"}]}`, -32602, "skills.not_found", `skill "beta" not found`},
		{"skills/read", `{}`, -32602, "skills.invalid_request", "slug is empty"},
		{"skills/read", `{"slug":" $ "}`, -32602, "skills.invalid_request", "slug is empty"},
		{"skills/read", `{"slug":"nope"}`, -32602, "skills.not_found", `skill "nope" not found`},
		{"skills/read", `{"slug":"other/alpha"}`, -32602, "skills.not_found", `skill "other/alpha" not found`},
		{"skills/read", `{"slug":"alpha","source_kind":"managed"}`, -32602, "skills.not_found", `skill "alpha" not found`},
		{"skills/read", `{"slug":"managed:alpha"}`, -32602, "skills.not_found", `skill "managed:alpha" not found`},
		{"skills/read", `{"slug":"Same name"}`, -32602, "skills.invalid_request", `"Same name" is an ambiguous skill slug: it can be acme/alpha, omega`},
		{"skills/read", `{"slug":"alpha","max_chars":0}`, -32602, "skills.invalid_request", "max_chars is less than 1, or offset less than 0"},
		{"skills/read", `{"slug":"beta"}`, -32600, "skills.not_usable", "beta cannot be used: missing_binary (jq)"},
		{"skills/resolve", `{"format":"nope"}`, -32602, "skills.invalid_request", `unknown prompt format "nope"`},
		{"skills/prompt", `{"limits":{"max_chars":-1}}`, -32602, "skills.invalid_request", "max_chars is less than 0"},
		{"skills/upload/start", `{}`, -32601, "rpc.method_not_found", `unknown method "skills/upload/start"`},
		{"skills/install", `{}`, -32601, "rpc.method_not_found", `unknown method "skills/install"`},
	} {
		var answer struct {
			Error struct {
				Code int
				Data struct {
					Code    string
					Details struct{ Error, Hint string }
				}
			}
		}
		if err := json.Unmarshal([]byte(post(t, h, rpcRequest("1", tt.method, tt.params))), &answer); err != nil {
			t.Fatal(err)
		}
		if e := answer.Error; e.Code != tt.number || e.Data.Code != tt.code || e.Data.Details.Error != tt.detail || e.Data.Details.Hint == "" && strings.HasPrefix(e.Data.Code, "skills.") {
			t.Errorf("%s %s: %+v", tt.method, tt.params, e)
		}
	}
	group := askAs(h, 1000, "POST", "/v1/rpc", rpcRequest("1", "skills/policy/set", `{"skill_slug":"alpha"}`)).Body.String()
	if !strings.Contains(group, `"code":-32600,"message":"skills.forbidden: this user may read, and may not change anything"`) {
		t.Errorf("a member of the group: %s", group)
	}
	c.feed.set(nil)
	if got := post(t, h, rpcRequest("1", "skills/list", `{}`)); !strings.Contains(got, `"code":-32000,"message":"skills.unavailable: the first scan`) {
		t.Errorf("before the first snapshot: %s", got)
	}
}

func TestPostOfNotifications(t *testing.T) {
	h := newCallable(catalog()).handler()
	if w := askAs(h, 0, "POST", "/v1/rpc", `{"jsonrpc":"2.0","method":"skills/list"}`); w.Code != http.StatusNoContent || w.Body.Len() != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := askAs(h, 0, "POST", "/v1/rpc", strings.Repeat(" ", 1<<20)+"1"); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: %d %s", w.Code, w.Body)
	}
	if w := askAs(h, 0, "GET", "/v1/rpc", ""); w.Code != http.StatusUpgradeRequired || !strings.Contains(w.Body.String(), `"code":"no_websocket"`) {
		t.Errorf("no WebSocket: %d %s", w.Code, w.Body)
	}
}
