package resolve_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pannier"
	"pannier/registry/resolve"
)

// declaresTool adds a runtime tool with a declaration.
func declaresTool(name, declaration string) func(*pannier.Entry) {
	return func(e *pannier.Entry) {
		e.RuntimeTools = append(e.RuntimeTools, pannier.Tool{Name: name, Kind: pannier.RuntimeShell, Declaration: json.RawMessage(declaration)})
	}
}

// faulty says what is wrong with the last tool.
func faulty(fault string) func(*pannier.Entry) {
	return func(e *pannier.Entry) {
		tool := &e.RuntimeTools[len(e.RuntimeTools)-1]
		tool.Fault, tool.FaultDetail = fault, "detail"
	}
}

func trusted(level pannier.Trust) func(*pannier.Entry) {
	return func(e *pannier.Entry) { e.TrustLevel = level }
}

func TestRuntimeTools(t *testing.T) {
	full := func(e *pannier.Entry) {
		e.RuntimeTools = append(e.RuntimeTools, pannier.Tool{
			Name: "run", Description: " Runs\x1b \u202eit.\n", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`),
			Declaration: json.RawMessage(`{"tool_slug":"run","kind":"shell","execution_class":"exclusive","config":{"command":["x"]}}`),
		})
	}
	s := snapshot(
		entry("idle", declaresTool("x", `{"kind":"http"}`)), // it is not active
		entry("alone", declaresTool("x", `{"kind":"function_proxy","config":{"target_tool":"read_file"}}`), trusted(pannier.TrustCommunity)),
		entry("work", implicit, declaresTool("ask", `{"kind":"http"}`), full, trusted(pannier.TrustVerified)),
	)
	r := resolve.Resolve(s, pannier.Turn{Text: "$alone"})
	if len(r.Tools) != 3 || len(r.ExcludedTools) != 0 {
		t.Fatalf("%+v, excluded %+v", r.Tools, r.ExcludedTools)
	}
	for i, want := range []string{
		`{"name":"skill.alone.x","model_name":"skill__alone__x","description":"Runtime tool 'x'","parameters":{"type":"object","additionalProperties":true},"execution_class":"shared","kind":"function_proxy","skill":"alone","config":{"target_tool":"read_file"}`,
		`{"name":"skill.work.ask","model_name":"skill__work__ask","description":"Runtime tool 'ask'","parameters":{"type":"object","additionalProperties":true},"execution_class":"shared","kind":"http","skill":"work"`,
		`{"name":"skill.work.run","model_name":"skill__work__run","description":"Runs it.","parameters":{"type":"object","properties":{"z":{},"a":{}}},"execution_class":"exclusive","kind":"shell","skill":"work","config":{"command":["x"]}`,
	} {
		text, err := json.Marshal(r.Tools[i])
		if err != nil || !strings.HasPrefix(string(text), want+`,"output_policy":{`) {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// TestModelNames are unique in a skill that makes one on purpose.
func TestModelNames(t *testing.T) {
	long := strings.Repeat("x", 80)
	same := strings.TrimPrefix(pannier.ModelName("skill.a."+long), "skill__a__")
	e := entry("a", implicit, declaresTool(long, `{"kind":"shell","config":{"command":["x"]}}`), declaresTool(same, `{"kind":"shell","config":{"command":["x"]}}`), trusted(pannier.TrustVerified))
	e.FileTools = []pannier.Tool{{Name: same, Kind: pannier.RuntimePython, Path: "tools/x.py"}}
	tools, excluded := resolve.Rules{Tooling: resolve.ToolRules{Enabled: true}}.Tools(snapshot(e))
	if len(tools) != 1 || len(excluded) != 2 || excluded[0].Reason != pannier.ToolDuplicateName || excluded[1].Reason != pannier.ToolDuplicateName {
		t.Errorf("%+v, excluded %+v", tools, excluded)
	}
}

func TestExcludedTools(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change []func(*pannier.Entry)
		kept   int
		reason string
	}{
		{"shell takes verified", []func(*pannier.Entry){declaresTool("x", `{"kind":"shell"}`), trusted(pannier.TrustCommunity)}, 0, pannier.ToolTrustTooLow},
		{"http takes community", []func(*pannier.Entry){declaresTool("x", `{"kind":"http"}`)}, 0, pannier.ToolTrustTooLow},
		{"a proxy takes community", []func(*pannier.Entry){declaresTool("x", `{"kind":"function_proxy"}`), trusted(pannier.TrustUntrusted)}, 0, pannier.ToolTrustTooLow},
		{"no kind", []func(*pannier.Entry){declaresTool("x", `{"kind":"magic"}`), trusted(pannier.TrustInternal)}, 0, pannier.ToolInvalidDeclaration},
		{"no JSON", []func(*pannier.Entry){declaresTool("x", `{"kind":5}`), trusted(pannier.TrustInternal)}, 0, pannier.ToolInvalidDeclaration},
		{"long slug", []func(*pannier.Entry){declaresTool(strings.Repeat("x", 200), `{"kind":"http"}`), trusted(pannier.TrustInternal)}, 0, pannier.ToolInvalidSlug},
		{"a fault", []func(*pannier.Entry){declaresTool("x", `{"kind":"http"}`), declaresTool("x", `{"kind":"shell"}`), faulty(pannier.ToolDuplicateName), trusted(pannier.TrustInternal)}, 1, pannier.ToolDuplicateName},
		{"a fault before trust", []func(*pannier.Entry){declaresTool("", `5`), faulty(pannier.ToolInvalidSlug), trusted(pannier.TrustUntrusted)}, 0, pannier.ToolInvalidSlug},
	} {
		r := resolve.Resolve(snapshot(entry("it", append(tt.change, implicit)...)), pannier.Turn{})
		if len(r.Tools) != tt.kept || len(r.ExcludedTools) != 1 || r.ExcludedTools[0].Reason != tt.reason || r.ExcludedTools[0].Detail == "" {
			t.Errorf("%s: %+v, excluded %+v", tt.name, r.Tools, r.ExcludedTools)
		}
	}
}

func TestToolsOfASkillAreBounded(t *testing.T) {
	many := entry("it", implicit, trusted(pannier.TrustInternal))
	for i := range 70 {
		declaresTool(fmt.Sprintf("t%02d", i), `{"kind":"http"}`)(many)
	}
	r := resolve.Resolve(snapshot(many), pannier.Turn{})
	if len(r.Tools) != 64 || len(r.ExcludedTools) != 6 || r.ExcludedTools[0].Reason != pannier.ToolTooMany {
		t.Errorf("%d tools, excluded %+v", len(r.Tools), r.ExcludedTools)
	}
}

// policyOf returns what becomes of the output of a tool, in JSON without the braces around, and the codes of what was narrowed.
func policyOf(t *testing.T, kind, config, policy string, trust pannier.Trust) (pannier.OutputPolicy, string) {
	t.Helper()
	declaration := fmt.Sprintf(`{"kind":%q,"config":%s,"output_policy":%s}`, kind, config, policy)
	r := resolve.Resolve(snapshot(entry("it", implicit, declaresTool("x", declaration), trusted(trust))), pannier.Turn{})
	if len(r.Tools) != 1 {
		t.Fatalf("%s: %+v", declaration, r.ExcludedTools)
	}
	var codes []string
	for _, d := range r.Tools[0].Diagnostics {
		if d.Message == "" {
			t.Errorf("%s has no message", d.Code)
		}
		codes = append(codes, d.Code)
	}
	return r.Tools[0].OutputPolicy, strings.Join(codes, " ")
}

func TestOutputPolicy(t *testing.T) {
	const full = `{"llm":{"mode":"full","max_bytes":9999999},"llm_retention":{"mode":"do_not_retain"},"timeline":{"mode":"full"},"storage":{"mode":"full","max_bytes":100},` +
		`"recovery":{"mode":"evidence","include_retry_hint":false,"diagnostic_excerpt":{"mode":"output","max_chars":9000}},"deltas":{"mode":"persist_and_display","max_chunk_bytes":99999999,"max_total_bytes":1000}}`
	const metadata = `"storage":{"mode":"metadata_only"},`
	const noExcerpt = `"recovery":{"mode":"evidence","include_exit_status":true,"include_error_class":true,"include_fingerprints":true,"diagnostic_excerpt":{"mode":"disabled"}},`
	for _, tt := range []struct {
		name, kind, config, policy string
		trust                      pannier.Trust
		want, codes                string
	}{
		{
			"default of http", "http", "{}", "null", pannier.TrustCommunity,
			`{"llm":{"mode":"structured","max_bytes":2097152},"llm_retention":{"mode":"until_turn_terminal","max_bytes":2097152},"timeline":{"mode":"summary","max_chars":2000},` + metadata +
				`"recovery":{"mode":"evidence","include_exit_status":true,"include_error_class":true,"include_retry_hint":true,"include_fingerprints":true,"diagnostic_excerpt":{"mode":"disabled"}},"deltas":{"mode":"progress_only"}}`, "",
		},
		{
			"http with all", "http", "{}", full, pannier.TrustInternal,
			`{"llm":{"mode":"full","max_bytes":2097152},"llm_retention":{"mode":"do_not_retain"},"timeline":{"mode":"summary","max_chars":2000},` + metadata + noExcerpt + `"deltas":{"mode":"progress_only"}}`,
			"limit_clamped limit_clamped limit_clamped kind_narrowed_http_body kind_narrowed_http_body kind_narrowed_http_body trust_narrowed_deltas",
		},
		{
			"shell with all", "shell", "{}", full, pannier.TrustVerified,
			`{"llm":{"mode":"full","max_bytes":2097152},"llm_retention":{"mode":"do_not_retain"},"timeline":{"mode":"full","max_bytes":4194304},"storage":{"mode":"full","max_bytes":100},` +
				`"recovery":{"mode":"evidence","include_exit_status":true,"include_error_class":true,"include_fingerprints":true,"diagnostic_excerpt":{"mode":"output","max_chars":4000}},"deltas":{"mode":"persist_and_display","max_chunk_bytes":1000,"max_total_bytes":1000}}`,
			"limit_clamped limit_clamped limit_clamped",
		},
		{
			"proxy to a shell", "function_proxy", `{"target_tool":"exec_command"}`, full, pannier.TrustCommunity,
			`{"llm":{"mode":"full","max_bytes":2097152},"llm_retention":{"mode":"do_not_retain"},"timeline":{"mode":"summary","max_chars":2000},` + metadata + noExcerpt + `"deltas":{"mode":"progress_only"}}`,
			"limit_clamped limit_clamped limit_clamped function_proxy_target_narrowed function_proxy_target_narrowed function_proxy_target_narrowed shell_persistence_not_allowed",
		},
		{
			"proxy to nobody knows what", "function_proxy", `{"target_tool":"mine"}`, `{"timeline":{"mode":"summary"}}`, pannier.TrustInternal,
			`{"llm":{"mode":"structured","max_bytes":2097152},"llm_retention":{"mode":"until_turn_terminal","max_bytes":2097152},"timeline":{"mode":"metadata_only"},` + metadata + `"recovery":{"mode":"metadata_only"},"deltas":{"mode":"progress_only"}}`,
			"function_proxy_target_missing function_proxy_target_narrowed",
		},
		{
			"less than the default", "http", "{}", `{"llm":{"mode":"summary_only"},"timeline":{"mode":"hidden"},"storage":{"mode":"none"},"recovery":{"mode":"none"},"deltas":{"mode":"disabled"}}`, pannier.TrustCommunity,
			`{"llm":{"mode":"summary_only"},"llm_retention":{"mode":"until_turn_terminal","max_bytes":2097152},"timeline":{"mode":"hidden"},"storage":{"mode":"none"},"recovery":{"mode":"none"},"deltas":{"mode":"disabled"}}`, "",
		},
	} {
		policy, codes := policyOf(t, tt.kind, tt.config, tt.policy, tt.trust)
		got, err := json.Marshal(policy)
		if err != nil || string(got) != tt.want || codes != tt.codes {
			t.Errorf("%s:\ngot  %s\nwant %s\n%s", tt.name, got, tt.want, codes)
		}
	}
}

// TestOddOutputPolicies never keeps a tool back, nor gives it more than the default.
func TestOddOutputPolicies(t *testing.T) {
	fallback, _ := policyOf(t, "http", "{}", "null", pannier.TrustCommunity)
	for _, tt := range []struct{ policy, codes string }{
		{`{"llm":{"mode":"full","max_bytes":"lots"}}`, "invalid_declaration"},
		{`{"llm":5}`, "invalid_declaration"},
		{`[1]`, ""},
		{`{"timeline":{"mode":"magic"}}`, "unsupported_mode"},
		{`{"llm":{"mode":"structured","max_bytes":-1}}`, "limit_clamped"},
	} {
		policy, codes := policyOf(t, "http", `"text"`, tt.policy, pannier.TrustCommunity)
		if policy.Timeline.Mode == "metadata_only" {
			policy.Timeline = fallback.Timeline
		}
		if policy != fallback || codes != tt.codes {
			t.Errorf("%s: %+v, %s", tt.policy, policy, codes)
		}
	}
}

func FuzzOutputPolicy(f *testing.F) {
	f.Add("http", `{"llm":{"mode":"full"}}`, "internal")
	f.Add("function_proxy", `{"storage":{"mode":"full","max_bytes":9e9}}`, "")
	f.Fuzz(func(t *testing.T, kind, policy, trust string) {
		declaration := fmt.Sprintf(`{"kind":%q,"config":%s,"output_policy":%s}`, kind, policy, policy)
		r := resolve.Resolve(snapshot(entry("it", implicit, declaresTool("x", declaration), trusted(pannier.Trust(trust)))), pannier.Turn{})
		if len(r.Tools)+len(r.ExcludedTools) != 1 {
			t.Errorf("%+v", r)
		}
		for _, tool := range r.Tools {
			p := tool.OutputPolicy
			if p.LLM.MaxBytes > 2<<20 || p.Storage.MaxBytes > 4<<20 || tool.Kind != pannier.RuntimeShell && (p.Storage.Mode == "full" || p.Deltas.Mode == "persist_and_display") {
				t.Errorf("%s: %+v", declaration, p)
			}
		}
	})
}

// TestToolsInFiles are told and kept back: "Tools from tools/ are registered as MCP tools available to the agent" (Molecule, "How
// skills reach the agent"), and nothing here runs them.
func TestToolsInFiles(t *testing.T) {
	holds := func(tools ...pannier.Tool) func(*pannier.Entry) {
		return func(e *pannier.Entry) { e.FileTools = tools }
	}
	function, script := pannier.RuntimePython, pannier.RuntimeScript
	s := snapshot(
		entry("idle", holds(pannier.Tool{Name: "x", Kind: function}), trusted(pannier.TrustVerified)), // it is not active
		entry("low", implicit, holds(pannier.Tool{Name: "x", Kind: function}), trusted(pannier.TrustCommunity)),
		entry("work", implicit, declaresTool("run", `{"kind":"http"}`), trusted(pannier.TrustVerified), holds(
			pannier.Tool{Name: "write_page", Kind: function, Description: "Writes\x1b it."}, pannier.Tool{Name: "運", Kind: function},
			pannier.Tool{Name: "run", Kind: function}, pannier.Tool{Name: "a.sh", Kind: script}, pannier.Tool{Name: "write-page", Kind: script},
		)),
	)
	for _, x := range resolve.Resolve(s, pannier.Turn{}).ExcludedTools {
		if x.Kind == script {
			t.Errorf("%s is listed, and the settings offer no scripts", x.Name)
		}
	}
	r := resolve.Rules{Tooling: resolve.ToolRules{Scripts: true}}.Resolve(s, pannier.Turn{})
	if len(r.Tools) != 1 {
		t.Errorf("tools %+v", r.Tools)
	}
	var got []string
	for _, x := range r.ExcludedTools {
		got = append(got, fmt.Sprintf("%s %s %s %s", x.Name, x.Kind, x.Reason, x.Description))
		if x.Detail == "" {
			t.Errorf("%s: no detail", x.Name)
		}
	}
	want := []string{
		"skill.low.x python trust_level_too_low Runtime tool 'x'",
		"skill.work. python invalid_tool_slug Runtime tool '運'",
		"skill.work.a-sh script dynamic_tools_disabled Runtime tool 'a.sh'",
		"skill.work.run python duplicate_canonical_name Runtime tool 'run'",
		"skill.work.write-page python dynamic_tools_disabled Writes it.",
		"skill.work.write-page script duplicate_canonical_name Runtime tool 'write-page'",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDeclaredKinds: a frontmatter declares no tool of a kind that only files have.
func TestDeclaredKinds(t *testing.T) {
	for _, kind := range []string{"python", "script"} {
		s := snapshot(entry("a", implicit, declaresTool("x", `{"kind":"`+kind+`"}`), trusted(pannier.TrustInternal)))
		if r := resolve.Resolve(s, pannier.Turn{}); len(r.Tools) != 0 || len(r.ExcludedTools) != 1 || r.ExcludedTools[0].Reason != pannier.ToolInvalidDeclaration {
			t.Errorf("%s: %+v, excluded %+v", kind, r.Tools, r.ExcludedTools)
		}
	}
}

// TestToolRules holds every reason that the settings and policy give against a tool, and the order in which they are asked.
func TestToolRules(t *testing.T) {
	holds := func(tools ...pannier.Tool) func(*pannier.Entry) {
		return func(e *pannier.Entry) { e.FileTools = tools }
	}
	function := pannier.Tool{Name: "add", Kind: pannier.RuntimePython, Path: "tools/calc.py", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{}}}`)}
	script := pannier.Tool{Name: "go.sh", Kind: pannier.RuntimeScript, Path: "scripts/go.sh"}
	off := func(e *pannier.Entry) { e.Policy.ToolsOff = true }
	s := snapshot(
		entry("a", implicit, trusted(pannier.TrustVerified), declaresTool("run", `{"kind":"shell"}`), declaresTool("get", `{"kind":"http"}`), holds(function, script)),
		entry("low", implicit, trusted(pannier.TrustCommunity), declaresTool("run", `{"kind":"shell"}`)),
		entry("off", implicit, trusted(pannier.TrustInternal), declaresTool("run", `{"kind":"shell"}`), off),
	)
	allowed := snapshot(entry("low", trusted(pannier.TrustUntrusted), declaresTool("run", `{"kind":"shell"}`), holds(script), func(e *pannier.Entry) {
		e.Policy.ToolsAllowed = pannier.DigestOf([]byte("some files"))
	}))
	all := resolve.ToolRules{Enabled: true, Scripts: true, MaxPerSkill: 10}
	if tools, _ := (resolve.Rules{Tooling: all}).Tools(allowed); len(tools) != 2 || !tools[0].ByPermission || !tools[1].ByPermission {
		t.Errorf("the permission does not count for too little trust: %+v", tools)
	}
	if r := resolve.Resolve(allowed, pannier.Turn{Text: "$low"}); len(r.Tools) != 0 {
		t.Errorf("the permission counts where nothing is called here: %+v", r.Tools)
	}
	with := func(change func(*resolve.ToolRules)) resolve.ToolRules {
		r := all
		change(&r)
		return r
	}
	const offLine = "skill.off.run disabled_by_config"
	for _, tt := range []struct {
		name     string
		rules    resolve.ToolRules
		tools    string
		excluded string
	}{
		{"everything", all, "skill.a.add skill.a.get skill.a.go-sh skill.a.run", "skill.low.run trust_level_too_low," + offLine},
		{"no scripts", with(func(r *resolve.ToolRules) { r.Scripts = false }), "skill.a.add skill.a.get skill.a.run", "skill.low.run trust_level_too_low," + offLine},
		{"kinds", with(func(r *resolve.ToolRules) { r.Kinds = []pannier.RuntimeToolKind{pannier.RuntimeHTTP} }), "skill.a.get skill.a.go-sh", "skill.a.add disabled_by_config,skill.a.run disabled_by_config,skill.low.run disabled_by_config," + offLine},
		{"trust", with(func(r *resolve.ToolRules) {
			r.Trust = func(pannier.RuntimeToolKind) pannier.Trust { return pannier.TrustInternal }
		}), "", "skill.a.add trust_level_too_low,skill.a.get trust_level_too_low,skill.a.go-sh trust_level_too_low,skill.a.run trust_level_too_low,skill.low.run trust_level_too_low," + offLine},
		{"bound", with(func(r *resolve.ToolRules) { r.MaxPerSkill = 3 }), "skill.a.add skill.a.get skill.a.run", "skill.a.go-sh max_dynamic_tools_per_skill,skill.low.run trust_level_too_low," + offLine},
		{"off", resolve.ToolRules{}, "", "skill.a.add dynamic_tools_disabled,skill.a.get dynamic_tools_disabled,skill.a.run dynamic_tools_disabled,skill.low.run trust_level_too_low," + offLine},
	} {
		tools, excluded := resolve.Rules{Tooling: tt.rules}.Tools(s)
		var names, reasons []string
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
		for _, x := range excluded {
			reasons = append(reasons, x.Name+" "+x.Reason)
			if x.Detail == "" || x.Hint == "" {
				t.Errorf("%s: %s has no detail or no hint: %+v", tt.name, x.Name, x)
			}
		}
		if got := strings.Join(names, " "); got != tt.tools {
			t.Errorf("%s: tools %s, want %s", tt.name, got, tt.tools)
		}
		if got := strings.Join(reasons, ","); got != tt.excluded {
			t.Errorf("%s: excluded\n%s, want\n%s", tt.name, got, tt.excluded)
		}
	}
	tools, _ := resolve.Rules{Tooling: all}.Tools(s)
	if string(tools[0].Config) != `{"file":"tools/calc.py","function":"add"}` || string(tools[0].Parameters) != string(function.Parameters) || tools[0].OutputPolicy.LLM.Mode != "full" {
		t.Errorf("function: %+v", tools[0])
	}
	if string(tools[2].Config) != `{"file":"scripts/go.sh"}` || !strings.Contains(string(tools[2].Parameters), `"argv"`) {
		t.Errorf("script: %+v", tools[2])
	}
	typed := script
	typed.Parameters, typed.Declaration = function.Parameters, json.RawMessage(`{"options":[{"name":"a"}]}`)
	tools, _ = resolve.Rules{Tooling: all}.Tools(snapshot(entry("a", trusted(pannier.TrustVerified), holds(typed))))
	if string(tools[0].Config) != `{"file":"scripts/go.sh","options":[{"name":"a"}]}` || string(tools[0].Parameters) != string(function.Parameters) {
		t.Errorf("typed script: %+v", tools[0])
	}
	if r := (resolve.Rules{}).Resolve(s, pannier.Turn{}); len(r.Tools) != 2 || r.Tools[1].Name != "skill.a.run" {
		t.Errorf("a turn without calls: %+v", r.Tools)
	}
}

// TestEveryKindTakesTrust checks that the planner knows each kind: one that takes no trust is never offered.
func TestEveryKindTakesTrust(t *testing.T) {
	for _, kind := range pannier.RuntimeToolKinds() {
		if resolve.ToolTrust(kind) == "" {
			t.Errorf("tools of kind %s take no trust", kind)
		}
	}
}

// TestFaultyFileTool is kept back by what the loader has found wrong with it.
func TestFaultyFileTool(t *testing.T) {
	e := &pannier.Entry{
		Skill: &pannier.Skill{Slug: "a", TrustLevel: pannier.TrustInternal}, Usable: true,
		FileTools: []pannier.Tool{
			{Name: "A", Kind: pannier.RuntimePython, Path: "tools/a.py", Declaration: json.RawMessage(`{"fault":"the class A cannot be a tool"}`)},
			{Name: "b", Function: "B._run", Kind: pannier.RuntimePython, Path: "tools/a.py"},
		},
	}
	rules := resolve.Rules{Tooling: resolve.ToolRules{Enabled: true}}
	tools, excluded := rules.Tools(&pannier.Snapshot{Entries: []*pannier.Entry{e}})
	if len(tools) != 1 || string(tools[0].Config) != `{"file":"tools/a.py","function":"B._run"}` {
		t.Errorf("%+v", tools)
	}
	if len(excluded) != 1 || excluded[0].Reason != pannier.ToolInvalidDeclaration || excluded[0].Detail != "the class A cannot be a tool" {
		t.Errorf("%+v", excluded)
	}
}
