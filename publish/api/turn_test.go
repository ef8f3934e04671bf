package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/prompt"
	"pannier/publish/turn"
	"pannier/registry/resolve"
)

// workshop has a skill that goes by files, narrows the caller's tools and brings one.
func workshop() *house {
	h := newHouse()
	e := entry("go-tools", pannier.StateEligible)
	e.Paths, e.AllowedTools, e.TrustLevel = []string{"src/**"}, []string{"Read", "Bash(go:*)"}, pannier.TrustVerified
	e.RuntimeTools = []pannier.Tool{{Name: "test", Kind: pannier.RuntimeShell, Declaration: json.RawMessage(`{"kind":"shell","config":{"command":["go"]}}`)}}
	h.snapshot.Entries = slices.Insert(h.snapshot.Entries, 4, e)
	return h
}

func TestTurnAboutAFile(t *testing.T) {
	h := workshop()
	r := decode[pannier.Resolution](t, ask(h.handler(), "POST", "/v1/resolve", `{"paths":["/p/src/a.go"],"project_dir":"/p","tools":["Bash","Write"]}`))
	if r.Active[0].Slug != "go-tools" || r.Active[0].Reason != pannier.ViaPath || !slices.Equal(r.AllowedTools.Effective, []string{"Bash(go:*)"}) {
		t.Errorf("%+v", r)
	}
	if len(r.Tools) != 1 || r.Tools[0].Name != "skill.go-tools.test" || string(r.Tools[0].Config) != `{"command":["go"]}` {
		t.Errorf("tools %+v", r.Tools)
	}
	if !strings.Contains(r.Prompt.Text, "# go-tools <&>") { // compact shows it
		t.Errorf("prompt %s", r.Prompt.Text)
	}
	if len(h.events) != 0 {
		t.Errorf("events %v", h.events)
	}
	without := decode[pannier.Resolution](t, ask(h.handler(), "POST", "/v1/resolve", `{"paths":["src/a.go"],"limits":{"max_bodies":0}}`))
	if strings.Contains(without.Prompt.Text, "# go-tools") || !isShortened(*without.Prompt, "go-tools", pannier.LeftOutBody) {
		t.Errorf("prompt %+v", without.Prompt)
	}
}

// TestBodiesOfATurn reads as many as the turn wants, and no more than there may be.
func TestBodiesOfATurn(t *testing.T) {
	for limit, want := range map[string]int{"": 2, `"max_bodies":0`: 0, `"max_bodies":1`: 1, `"max_bodies":5000`: 2} {
		h := newHouse()
		disk, reads := documents(), 0
		whole := disk.read
		disk.read = func(s *pannier.Skill) (pannier.Document, error) {
			reads++
			return whole(s)
		}
		h.content.Texts = disk
		body := fmt.Sprintf(`{"format":%q,"limits":{%s}}`, prompt.Molecule, limit)
		if w := ask(h.handler(), "POST", "/v1/prompt", body); w.Code != 200 || reads != want {
			t.Errorf("%s: read %d, want %d: %d", limit, reads, want, w.Code)
		}
	}
}

func TestVerboseTurn(t *testing.T) {
	h := newHouse().handler()
	for query, want := range map[string]string{"": "", "?verbose=0": "", "?verbose=1": "beta:dependency_missing delta:unlisted omega:shadowed zeta:shadowed"} {
		var rejected []string
		for _, x := range decode[pannier.Resolution](t, ask(h, "POST", "/v1/resolve"+query, `{}`)).Rejected {
			rejected = append(rejected, x.Slug+":"+x.Reason)
		}
		if got := strings.Join(rejected, " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	checkProblem(t, "verbose=maybe", ask(h, "POST", "/v1/resolve?verbose=maybe", `{}`), 400, "invalid_parameter.verbose")
	checkProblem(t, "verbose in the body", ask(h, "POST", "/v1/resolve", `{"Verbose":true}`), 400, "invalid_body")
}

// TestVerboseCall has the same answer as the route.
func TestVerboseCall(t *testing.T) {
	h := newHouse().handler()
	for _, verbose := range []string{"false", "true"} {
		route := ask(h, "POST", "/v1/resolve?verbose="+verbose, `{"text":"$alpha"}`).Body.String()
		call := ask(h, "POST", "/v1/rpc", `{"jsonrpc":"2.0","id":1,"method":"skills/resolve","params":{"text":"$alpha","verbose":`+verbose+`}}`).Body.String()
		if !strings.Contains(call, strings.TrimSpace(route)) || strings.Contains(call, "zeta") != (verbose == "true") {
			t.Errorf("verbose %s: %s, the route %s", verbose, call, route)
		}
	}
	checkProblem(t, "verbose of a prompt", ask(h, "POST", "/v1/prompt?verbose=1", `{}`), 400, "unknown_parameter")
}

func TestTurnsAreBounded(t *testing.T) {
	long := `"` + strings.Repeat("x", 1025) + `"`
	many := strings.TrimSuffix(strings.Repeat(`"x",`, 1025), ",")
	for body, field := range map[string]string{
		`{"paths":[` + long + `]}`:        "paths",
		`{"paths":[` + many + `]}`:        "paths",
		`{"tools":[` + long + `]}`:        "tools",
		`{"tools":[` + many + `]}`:        "tools",
		`{"project_dir":` + long + `}`:    "project_dir",
		`{"limits":{"max_bodies":-1}}`:    "max_bodies",
		`{"limits":{"max_chars":-1}}`:     "max_chars",
		`{"format":"x","paths":["a/b"]} `: "format",
	} {
		for _, route := range []string{"/v1/resolve", "/v1/prompt"} {
			checkProblem(t, fmt.Sprintf("%s %.40s", route, body), ask(newHouse().handler(), "POST", route, body), 400, "invalid_parameter."+field)
		}
	}
}

// TestWidenedTurnsAreTold leaves a trace of each turn in which a skill adds to the caller's tools.
func TestWidenedTurnsAreTold(t *testing.T) {
	var told []pannier.SkillWarning
	h := workshop()
	h.turns.Resolve = resolve.Rules{Profile: pannier.ProfileFullAuto}.Resolve
	h.turns.Events = turn.Events{PerMinute: 100, Emit: func(_ pannier.EventType, data any) bool {
		if warning, ok := data.(pannier.SkillWarning); ok {
			told = append(told, warning)
		}
		return true
	}}
	handler := h.handler()
	for _, tt := range []struct {
		body string
		told int
	}{{`{"tools":["Read"]}`, 0}, {`{"text":"$go-tools","tools":["Read","Bash"]}`, 0}, {`{"text":"$go-tools","tools":["Read"]}`, 1}, {`{"text":"$go-tools"}`, 0}} {
		told = nil
		r := decode[pannier.Resolution](t, ask(handler, "POST", "/v1/resolve", tt.body))
		if len(told) != tt.told || len(r.AllowedTools.WidenedBy) != tt.told || r.AllowedTools.Profile != pannier.ProfileFullAuto {
			t.Errorf("%s: told %v, %+v", tt.body, told, r.AllowedTools)
		}
	}
	if ask(handler, "POST", "/v1/resolve", `{"text":"$go-tools","tools":[]}`); told[0].Name != "go-tools" || told[0].Kind != "turn.tools.widened" || !strings.Contains(told[0].Detail, "full_auto") {
		t.Errorf("%+v", told)
	}
}
