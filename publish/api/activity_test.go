package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
)

// activityOf returns what a list shows of the use of a skill.
func activityOf(t *testing.T, h http.Handler, slug string) pannier.Activity {
	t.Helper()
	list := decode[pannier.List](t, ask(h, "GET", "/v1/skills?include=activity", ""))
	for _, e := range list.Skills {
		if e.Slug == slug && e.State != pannier.StateShadowed {
			return *e.Activity
		}
	}
	t.Fatalf("no skill %s", slug)
	return pannier.Activity{}
}

// TestActivity shows the last two steps of the lifecycle of a skill: "Discovered → Evaluated → Eligible → Loaded → Active",
// where "Loaded — Parsed and ready" and "Active — Currently available to the agent" (Skill System, "Lifecycle").
func TestActivity(t *testing.T) {
	for _, tt := range []struct {
		name, method, target, body string
		slug                       string
		loaded, active             bool
	}{
		{"content", "GET", "/v1/skills/omega/content", "", "omega", true, false},
		{"content without a body", "HEAD", "/v1/skills/omega/content", "", "omega", false, false},
		{"skills/read", "POST", "/v1/rpc", `{"jsonrpc":"2.0","id":1,"method":"skills/read","params":{"slug":"omega"}}`, "omega", true, false},
		{"another skill's content", "GET", "/v1/skills/alpha/content", "", "omega", false, false},
		{"refused content", "GET", "/v1/skills/beta/content", "", "beta", false, false},
		{"prompt with bodies", "GET", "/v1/prompt?format=molecule", "", "omega", true, false},
		{"prompt with bodies, without its body", "HEAD", "/v1/prompt?format=molecule", "", "omega", false, false},
		{"prompt that omits the body", "GET", "/v1/prompt?format=molecule&max_chars=1", "", "omega", false, false},
		{"prompt without bodies", "GET", "/v1/prompt?format=compact", "", "omega", false, false},
		{"turn that makes it automatic", "POST", "/v1/resolve", `{"text":"hello"}`, "omega", false, true},
		{"turn that names it", "POST", "/v1/prompt", `{"text":"use @skill:omega"}`, "omega", false, true},
		{"verbose turn", "POST", "/v1/resolve?verbose=1", `{"text":"hello"}`, "omega", false, true},
		{"turn that shows its body", "POST", "/v1/prompt", `{"format":"molecule"}`, "omega", true, true},
		{"turn over JSON-RPC", "POST", "/v1/rpc", `{"jsonrpc":"2.0","id":1,"method":"skills/resolve","params":{}}`, "omega", false, true},
		{"turn that is tried", "POST", "/v1/resolve?dry_run=1", `{"text":"use @skill:omega"}`, "omega", false, false},
		{"prompt that is tried", "POST", "/v1/prompt?dry_run=1", `{"format":"molecule"}`, "omega", false, false},
		{"prompt that is tried over JSON-RPC", "POST", "/v1/rpc", `{"jsonrpc":"2.0","id":1,"method":"skills/prompt","params":{"format":"molecule","dry_run":true}}`, "omega", false, false},
		{"turn that rejects it", "POST", "/v1/resolve", `{"capabilities":[{"slug":"beta"}]}`, "beta", false, false},
		{"health", "POST", "/v1/rpc", `{"jsonrpc":"2.0","id":1,"method":"skills/health"}`, "omega", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse().handler()
				time.Sleep(90 * time.Minute)
				now := time.Now().UTC()
				ask(h, tt.method, tt.target, tt.body)
				time.Sleep(time.Hour) // bodies that are kept have gone
				var want pannier.Activity
				if tt.loaded {
					want.LoadedAt = now
				}
				if tt.active {
					want.ActiveAt = now
				}
				if diff := cmp.Diff(want, activityOf(t, h, tt.slug)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				detail := decode[pannier.Detail](t, ask(h, "GET", "/v1/skills/"+tt.slug+"?include=activity", ""))
				if diff := cmp.Diff(&want, detail.Activity); diff != "" {
					t.Errorf("detail (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestActivityOfACommand counts an invocation as both.
func TestActivityOfACommand(t *testing.T) {
	h, start := newCommanding().handler(), time.Now().Truncate(time.Second)
	if w := ask(h, "POST", "/v1/commands/alpha", ""); w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	if a := activityOf(t, h, "alpha"); a.LoadedAt.Before(start) || a.ActiveAt.Before(start) || a.ActiveAt.Location() != time.UTC {
		t.Errorf("%+v", a)
	}
}

// TestActivityIsOverJSONRPC shows it in skills/health, and in skills/list to who asks for it.
func TestActivityIsOverJSONRPC(t *testing.T) {
	h := newHouse().handler()
	ask(h, "GET", "/v1/skills/omega/content", "")
	for call, want := range map[string]bool{
		`{"method":"skills/list"`: false, `{"method":"skills/list","params":{"include_activity":true}`: true,
		`{"method":"skills/health","params":{"skills":[{"slug":"omega"}]}`: true,
	} {
		asked := call + `,"jsonrpc":"2.0","id":1}`
		answered := ask(h, "POST", "/v1/rpc", asked).Body.String()
		if got := strings.Contains(answered, `"activity":{"loaded_at":"`); got != want {
			t.Errorf("%s: %t\n%s", call, got, answered)
		}
		if strings.Contains(asked, "params") {
			newMethodSchemas(t).exchange(t, asked, answered)
		}
	}
}

// TestUseChangesNoAnswerWithoutActivity gives a client that polls by ETag no reason to read again.
func TestUseChangesNoAnswerWithoutActivity(t *testing.T) {
	h := newHouse()
	handler := h.handler()
	polled := []string{"/v1/skills", "/v1/skills?include=health,policy,problems", "/v1/skills/omega", "/v1/prompt", "/v1/card"}
	before := map[string]string{}
	for _, target := range polled {
		before[target] = ask(handler, "GET", target, "").Header().Get("ETag")
	}
	digest, version := h.snapshot.Digest, h.snapshot.Version
	ask(handler, "POST", "/v1/prompt", `{"format":"molecule"}`)
	ask(handler, "GET", "/v1/skills/omega/content", "")
	for _, target := range polled {
		if w := ask(handler, "GET", target, "", "If-None-Match", before[target]); w.Code != http.StatusNotModified {
			t.Errorf("%s: %d", target, w.Code)
		}
		if w := ask(handler, "GET", target, ""); strings.Contains(w.Body.String(), "activity") {
			t.Errorf("%s shows activity: %s", target, w.Body)
		}
	}
	if h.snapshot.Digest != digest || h.snapshot.Version != version {
		t.Error("use changed the snapshot")
	}
	if a := activityOf(t, handler, "omega"); a.LoadedAt.IsZero() || a.ActiveAt.IsZero() {
		t.Errorf("%+v", a)
	}
}

// TestActivityGoesWithTheSkill keeps the times of a skill that changes, and drops those of one that is removed.
func TestActivityGoesWithTheSkill(t *testing.T) {
	h := newHouse()
	handler := h.handler()
	ask(handler, "GET", "/v1/skills/omega/content", "")
	next := func(change func(*pannier.Snapshot)) {
		s := catalog()
		s.Version = h.snapshot.Version + 1
		change(s)
		h.snapshot = s
	}
	next(func(s *pannier.Snapshot) { s.Entries[4].Digest = pannier.DigestOf([]byte("edited")) })
	if activityOf(t, handler, "omega").LoadedAt.IsZero() {
		t.Error("an edit drops the time")
	}
	next(func(s *pannier.Snapshot) { s.Entries[4].Skill.Path = "elsewhere/omega" })
	if !activityOf(t, handler, "omega").LoadedAt.IsZero() {
		t.Error("another skill of the slug has the time")
	}
	next(func(*pannier.Snapshot) {})
	if !activityOf(t, handler, "omega").LoadedAt.IsZero() {
		t.Error("a skill that was removed has the time back")
	}
}

func TestActivityIsAskedForByName(t *testing.T) {
	h := newHouse().handler()
	for _, target := range []string{"/v1/skills?include=use", "/v1/skills/omega?include=health"} {
		if w := ask(h, "GET", target, ""); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "activity") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// TestHealthTellsPolicyAndUsable: "Health APIs report validation issues, dependency status, security findings, policy state,
// and whether the installed skill can be safely used" (Pioneer, "Audit And Health").
func TestHealthTellsPolicyAndUsable(t *testing.T) {
	h := newHouse()
	h.snapshot.Entries[4].Policy.AllowImplicit = false
	handler := h.handler()
	for slug, want := range map[string]string{
		"alpha": `"usable":true,"policy":{"enabled":true,"allow_implicit_invocation":true}`,
		"beta":  `"usable":false,"policy":{"enabled":true,"allow_implicit_invocation":true}`,
		"omega": `"usable":true,"policy":{"enabled":true,"allow_implicit_invocation":false}`,
	} {
		asked := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"skills/health","params":{"skills":[{"slug":%q}]}}`, slug)
		answered := ask(handler, "POST", "/v1/rpc", asked).Body.String()
		if newMethodSchemas(t).exchange(t, asked, answered); !strings.Contains(answered, want) {
			t.Errorf("skills/health of %s: %s", slug, answered)
		}
		list := decode[pannier.List](t, ask(handler, "GET", "/v1/skills?include=health", ""))
		for _, e := range list.Skills {
			if e.Slug == slug && e.State != pannier.StateShadowed && (e.Health.Usable != e.Usable || e.Health.Policy.AllowImplicit != (slug != "omega")) {
				t.Errorf("health of %s: %+v", slug, e.Health)
			}
		}
	}
}
