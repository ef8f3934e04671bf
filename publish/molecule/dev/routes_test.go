package dev_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier/publish/molecule/dev"
)

const (
	bearer  = "Bearer " + token
	bad     = `{"error":"invalid request body"}`
	missing = `{"error":"missing workspace auth token"}`
	invalid = `{"error":"invalid workspace auth token"}`
)

func TestUpdateCard(t *testing.T) {
	const updated, failed = `{"status":"updated"}`, `{"error":"failed to update card"}`
	for _, test := range []struct {
		name, auth, body string
		status           int
		want             string
		stored           string // the first workspace's card; empty for none
	}{
		{"ok", bearer, update(first, `{ "a": [1, 2.50] }`), 200, updated, `{"a":[1,2.50]}`},
		{"upper case id", bearer, update(strings.ToUpper(first), `{}`), 200, updated, `{}`},
		{"null", bearer, update(first, "null"), 200, updated, "null"},
		{"text", bearer, update(first, `"x"`), 200, updated, `"x"`},
		{"number", bearer, update(first, "1e3"), 200, updated, "1e3"},
		{"list", bearer, update(first, "[ ]"), 200, updated, "[]"},
		{"unknown fields", bearer, `{"x":1,"workspace_id":"` + first + `","agent_card":{}}`, 200, updated, "{}"},
		{"garbage behind it", bearer, update(first, "{}") + "}}garbage", 200, updated, "{}"},
		{"repeated keys", bearer, update(first, `{"a":1,"a":2}`), 200, updated, `{"a":1,"a":2}`},
		{"escaped backslash", bearer, update(first, `"\\u0000"`), 200, updated, `"\\u0000"`},
		{"surrogate pair", bearer, update(first, `"\ud83d\ude00"`), 200, updated, `"\ud83d\ude00"`},

		{"no token", "", update(first, "{}"), 401, missing, ""},
		{"scheme in lower case", "bearer " + token, update(first, "{}"), 401, missing, ""},
		{"other scheme", "Basic " + token, update(first, "{}"), 401, missing, ""},
		{"empty token", "Bearer ", update(first, "{}"), 401, missing, ""},
		{"bad token", "Bearer nonsense", update(first, "{}"), 401, invalid, ""},
		{"another workspace's token", "Bearer second-token", update(first, "{}"), 401, invalid, ""},
		{"unknown workspace", "", update(unknown, "{}"), 200, updated, ""},
		{"unknown workspace with a token", bearer, update(unknown, "{}"), 200, updated, ""},

		{"id is no UUID", bearer, update("w-1", "{}"), 500, failed, ""},
		{"NUL", bearer, update(first, `{"a":"\u0000"}`), 500, failed, ""},
		{"NUL in a key", bearer, update(first, `{"\u0000":1}`), 500, failed, ""},
		{"high surrogate alone", bearer, update(first, `"\ud83d"`), 500, failed, ""},
		{"low surrogate alone", bearer, update(first, `"\ude00"`), 500, failed, ""},
		{"two high surrogates", bearer, update(first, `"\ud83d\ud83d"`), 500, failed, ""},
		{"not UTF-8", bearer, update(first, "\"\xff\""), 500, failed, ""},

		{"no id", bearer, `{"agent_card":{}}`, 400, bad, ""},
		{"empty id", bearer, update("", "{}"), 400, bad, ""},
		{"no card", bearer, `{"workspace_id":"` + first + `"}`, 400, bad, ""},
		{"malformed", bearer, `{"workspace_id":`, 400, bad, ""},
		{"no object", bearer, `[]`, 400, bad, ""},
		{"wrong type", bearer, `{"workspace_id":1,"agent_card":{}}`, 400, bad, ""},
		{"empty", bearer, "", 400, bad, ""},
		{"too large", bearer, update(first, `"`+strings.Repeat("x", dev.MaxBodyBytes)+`"`), 413, `{"error":"request body too large"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, _ := newPlatform(t)
			if _, err := p.Seed(second, "second-token"); err != nil {
				t.Fatal(err)
			}
			status, body := call(p, "POST", "/registry/update-card", test.auth, test.body)
			if status != test.status || body != test.want {
				t.Errorf("answered %d %s, want %d %s", status, body, test.status, test.want)
			}
			card, ok := p.Card(first)
			if string(card) != test.stored || ok != (test.stored != "") {
				t.Errorf("stored %q (%v), want %q", card, ok, test.stored)
			}
			if updates := p.Updates(first); (updates == 1) != (test.stored != "") {
				t.Errorf("%d updates", updates)
			}
			if _, ok := p.Card(unknown); ok {
				t.Error("the unknown workspace has a card now")
			}
		})
	}
}

func TestRevokedWorkspaceLetsEverybodyIn(t *testing.T) {
	p, _ := newPlatform(t)
	p.Revoke(first)
	if status, body := call(p, "POST", "/registry/update-card", "", update(first, "{}")); status != 200 {
		t.Errorf("answered %d %s", status, body)
	}
	if p.Updates(first) != 1 {
		t.Error("the card was not stored")
	}
}

func TestRegister(t *testing.T) {
	register := func(id, url, card string) string {
		return fmt.Sprintf(`{"id":%q,"url":%q,"agent_card":%s}`, id, url, card)
	}
	const good, failed = "http://agent.example:8000", `{"error":"registration failed"}`
	for _, test := range []struct {
		name, auth, body string
		status           int
		want             string
	}{
		{"known with its token", bearer, register(first, good, "{}"), 200, `{"status":"registered"}`},
		{"known without a token", "", register(first, good, "{}"), 401, missing},
		{"known with a wrong one", "Bearer x", register(first, good, "{}"), 401, invalid},
		{"localhost", bearer, register(first, "http://localhost:8000", "{}"), 200, `{"status":"registered"}`},
		{"private address", bearer, register(first, "http://172.17.0.2:8000", "{}"), 400, bad},
		{"other scheme", bearer, register(first, "ftp://agent.example", "{}"), 400, bad},
		{"no UUID", "", register("w-1", good, "{}"), 500, failed},
		{"card that can not be stored", bearer, register(first, good, `"\u0000"`), 500, failed},
		{"no id", "", `{"url":"http://a.example","agent_card":{}}`, 400, bad},
		{"no url", "", `{"id":"` + first + `","agent_card":{}}`, 400, bad},
		{"no card", "", `{"id":"` + first + `","url":"http://a.example"}`, 400, bad},
		{"malformed", "", "{", 400, bad},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, _ := newPlatform(t)
			if status, body := call(p, "POST", "/registry/register", test.auth, test.body); status != test.status || body != test.want {
				t.Errorf("answered %d %s, want %d %s", status, body, test.status, test.want)
			}
		})
	}
}

func TestRegisterGivesOneToken(t *testing.T) {
	p, _ := newPlatform(t)
	body := `{"id":"` + second + `","url":"http://agent.example","agent_card":{"name":"boot"}}`
	status, text := call(p, "POST", "/registry/register", "", body)
	var resp dev.RegisterResponse
	if err := json.Unmarshal([]byte(text), &resp); err != nil || status != 200 || len(resp.AuthToken) != 43 {
		t.Fatalf("answered %d %s, want a token of 43 characters", status, text)
	}
	own := "Bearer " + resp.AuthToken
	if status, text := call(p, "POST", "/registry/update-card", own, update(second, `{"name":"newer"}`)); status != 200 {
		t.Fatalf("update with the token: %d %s", status, text)
	}
	if status, text := call(p, "POST", "/registry/register", own, body); status != 200 || text != `{"status":"registered"}` {
		t.Errorf("registered again: %d %s", status, text)
	}
	if card, _ := p.Card(second); string(card) != `{"name":"boot"}` {
		t.Errorf("stored %s, want the card of the registration", card)
	}
	p.Revoke(second)
	if _, text := call(p, "POST", "/registry/register", "", body); !strings.Contains(text, "auth_token") {
		t.Errorf("after the token was revoked: %s, want a new one", text)
	}
}

func TestReadBack(t *testing.T) {
	p, _ := newPlatform(t)
	if _, text := call(p, "GET", "/registry/"+first+"/peers", bearer, ""); text != "[]" {
		t.Errorf("without peers: %s", text)
	}
	call(p, "POST", "/registry/register", "", `{"id":"`+second+`","url":"http://agent.example","agent_card":{"n":"<&>"}}`)
	call(p, "POST", "/registry/heartbeat", bearer, `{"workspace_id":"`+first+`","active_tasks":2,"current_task":"x"}`)
	for _, test := range []struct {
		path, auth string
		status     int
		want       string
	}{
		{"/workspaces/" + second, "", 200, `{"active_tasks":0,"agent_card":{"n":"\u003c\u0026\u003e"},"id":"` + second + `","name":"` + second + `","parent_id":null,"role":null,"runtime":"langgraph","status":"online","tier":1,"url":"http://agent.example"}`},
		{"/workspaces/" + first, "", 200, `{"active_tasks":2,"agent_card":null,"id":"` + first + `","name":"` + first + `","parent_id":null,"role":null,"runtime":"langgraph","status":"provisioning","tier":1,"url":""}`},
		{"/workspaces/" + unknown, "", 404, `{"error":"workspace not found"}`},
		{"/workspaces/w-1", "", 500, `{"error":"failed to look up workspace"}`},
		{"/registry/" + first + "/peers", bearer, 200, `[{"active_tasks":0,"agent_card":{"n":"\u003c\u0026\u003e"},"id":"` + second + `","name":"` + second + `","parent_id":null,"role":null,"status":"online","tier":1,"url":"http://agent.example"}]`},
		{"/registry/" + first + "/peers", "", 401, missing},
		{"/registry/" + second + "/peers", bearer, 401, invalid},
		{"/registry/" + unknown + "/peers", "", 404, `{"error":"workspace not found"}`},
		{"/registry/w-1/peers", bearer, 500, `{"error":"failed to list peers"}`},
		{"/health", "", 200, `{"status":"ok"}`},
		{"/registry/update-card", bearer, 404, "404 page not found"},
		{"/nothing", "", 404, "404 page not found"},
	} {
		t.Run(test.path, func(t *testing.T) {
			status, body := call(p, "GET", test.path, test.auth, "")
			if status != test.status {
				t.Errorf("answered %d, want %d", status, test.status)
			}
			if diff := cmp.Diff(test.want, body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeartbeat(t *testing.T) {
	p, _ := newPlatform(t)
	for _, test := range []struct {
		auth, body string
		status     int
		want       string
	}{
		{bearer, `{"workspace_id":"` + first + `"}`, 200, `{"status":"ok"}`},
		{"", `{"workspace_id":"` + first + `"}`, 401, missing},
		{"", `{"workspace_id":"w-1"}`, 500, `{"error":"heartbeat failed"}`},
		{bearer, `{}`, 400, bad},
	} {
		if status, body := call(p, "POST", "/registry/heartbeat", test.auth, test.body); status != test.status || body != test.want {
			t.Errorf("%s: answered %d %s, want %d %s", test.body, status, body, test.status, test.want)
		}
	}
}

func TestSeed(t *testing.T) {
	p := dev.New(dev.Options{})
	if _, err := p.Seed("w-1", ""); err == nil {
		t.Error("an id that is no UUID was taken")
	}
	minted, err := p.Seed(first, "")
	if err != nil || len(minted) != 43 {
		t.Fatalf("token %q, %v; want 43 characters", minted, err)
	}
	if _, err := p.Seed(first, "another"); err != nil {
		t.Fatal(err)
	}
	for _, live := range []string{minted, "another"} {
		if status, _ := call(p, "POST", "/registry/update-card", "Bearer "+live, update(first, "{}")); status != 200 {
			t.Errorf("a live token was refused: %d", status)
		}
	}
}

func TestWorkspacesAreBounded(t *testing.T) {
	p := dev.New(dev.Options{})
	id := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
	for n := range dev.MaxWorkspaces {
		if _, err := p.Seed(id(n), "t"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Seed(unknown, "t"); err == nil {
		t.Error("one workspace too many was seeded")
	}
	body := `{"id":"` + unknown + `","url":"http://agent.example","agent_card":{}}`
	if status, text := call(p, "POST", "/registry/register", "", body); status != http.StatusInsufficientStorage {
		t.Errorf("registration answered %d %s", status, text)
	}
}

func TestCardsAreBounded(t *testing.T) {
	p, _ := newPlatform(t)
	p.SetMaxStored(100)
	for _, test := range []struct{ size, status int }{{98, 200}, {99, 507}, {50, 200}, {98, 200}} {
		card := `"` + strings.Repeat("x", test.size) + `"`
		if status, text := call(p, "POST", "/registry/update-card", bearer, update(first, card)); status != test.status {
			t.Errorf("%d bytes: answered %d %s, want %d", test.size+2, status, text, test.status)
		}
	}
	if p.Updates(first) != 3 {
		t.Errorf("%d updates, want 3", p.Updates(first))
	}
}
