package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pannier"
	"pannier/publish/api"
	"pannier/publish/mcp"
	"pannier/registry/resolve"
	"pannier/service"
	"pannier/tools/module"
)

// told are events of every type.
var told = []any{
	pannier.CatalogUpdated{Count: 1, Roots: []string{"skills"}, Collisions: []pannier.Collision{{Slug: "a", Winner: "skills/a", Loser: "extra/a"}}, Digest: pannier.DigestOf(nil), Added: []string{"a"}, Changed: []string{}, Removed: []string{}},
	pannier.SkillLoaded{Name: "a", Path: "skills/a", Digest: pannier.DigestOf(nil), Frontmatter: json.RawMessage(`{"name":"a"}`), Warnings: []pannier.SkillWarning{{Kind: "skill.x", Detail: "d"}}},
	pannier.SkillFileRead{Slug: "a", Path: "b", Digest: pannier.DigestOf(nil)},
	pannier.SkillInvoked{Name: "a", Slug: "a", Args: "x", Mode: pannier.InvokedManually, EffectiveAllowedTools: []string{"Read"}, TurnDigest: pannier.DigestOf(nil)},
	pannier.TurnResolved{
		Digest: pannier.DigestOf(nil), TurnDigest: pannier.DigestOf(nil), Active: map[string]int{pannier.ViaPath: 1}, Rejected: map[string]int{},
		Skills: []pannier.TurnSkill{{Slug: "a", State: pannier.TurnActive, Reason: pannier.ViaPath}}, ExcludedTools: []pannier.TurnTool{{Name: "skill.a.b", Reason: "x"}}, Bodies: 1, Turn: &pannier.Turn{Text: "x"},
	},
	pannier.SkillToolCalled{Name: "skill.a.b", Slug: "a", Kind: pannier.RuntimeShell, CallID: "c", OK: true, ExitCode: new(0), Fingerprint: pannier.DigestOf(nil), ArgumentsDigest: pannier.DigestOf(nil), Output: "x", OutputDigest: pannier.DigestOf(nil)},
	pannier.SkillStateChanged{Slug: "a", SourceKind: pannier.SourceWorkspace, Path: "skills/a", To: pannier.StateEligible, Cause: "new"},
	pannier.SkillWarning{Name: "a", Kind: "skill.x", Detail: "d"},
	pannier.WorkspaceChanged{Files: []string{"config.yaml"}, Fields: pannier.FieldChanges{Hot: []string{}, Restart: []string{}, Ignored: []string{}}},
	pannier.EnvironmentChanged{Source: pannier.EnvironmentAgent, OS: "linux", Arch: "arm64", Bins: 1},
	pannier.PolicyChanged{PolicyKey: pannier.PolicyKey{Slug: "a", SourceKind: pannier.SourceWorkspace}, Effective: pannier.Policies{}.Of(pannier.PolicyKey{Slug: "a"}, nil).Effective},
	pannier.SkillScanned{Slug: "a", Path: "skills/a", Decision: pannier.ScanWarn, Findings: 1},
	pannier.CardPush{Platform: "https://p.example", Digest: pannier.DigestOf(nil)},
	toldInstall, toldInstall, toldInstall, toldInstall,
	pannier.SkillPromotion{Summary: "s", Repetition: json.RawMessage(`{"count":3}`), Packet: json.RawMessage(`{"promote_to_skill":true}`)},
	pannier.MCPSession{Client: "c", Version: "1", Protocol: "2026-07-28", Method: "server/discover"},
	pannier.SkillOverride{Slug: "a", Part: "tools", Key: "aliases.b", Value: json.RawMessage(`"c"`), Decision: pannier.OverrideRefused, Reason: pannier.OverrideRefusedAlias},
}

var toldInstall = pannier.SkillInstalled{InstalledSkill: pannier.InstalledSkill{Slug: "a", SourceKind: pannier.SourceWorkspace, Fingerprint: pannier.DigestOf(nil), Path: "skills/a", InstallPath: "/w/skills/a"}, Origin: "archive"}

var toldTypes = []pannier.EventType{
	pannier.EventCatalogUpdated, pannier.EventSkillLoaded, pannier.EventSkillFileRead, pannier.EventSkillInvoked, pannier.EventTurnResolved, pannier.EventSkillToolCalled, pannier.EventSkillStateChanged, pannier.EventSkillWarning,
	pannier.EventWorkspaceChanged, pannier.EventEnvironmentChanged, pannier.EventPolicyChanged, pannier.EventSkillScanned, pannier.EventCardPushed,
	pannier.EventInstallAdded, pannier.EventInstallReplaced, pannier.EventInstallRemoved, pannier.EventInstallRolledBack, pannier.EventSkillPromotion, pannier.EventMCPSession, pannier.EventSkillOverride,
}

// toldReader reads the events of told.
type toldReader struct{ next uint64 }

func (r *toldReader) Next(context.Context) (pannier.Event, error) {
	if r.next++; r.next > uint64(len(told)) {
		return pannier.Event{}, io.EOF
	}
	return pannier.Event{Seq: r.next, Time: time.Unix(1, 0).UTC(), Type: toldTypes[r.next-1], WorkspaceID: "w", SnapshotVersion: 7, Data: told[r.next-1]}, nil
}

// newWhole returns a house with every route there is.
func newWhole() *house {
	p := newPrinted()
	f := newFiled()
	p.content.OpenFile = f.content.OpenFile
	p.content.Commands = service.Commands{List: resolve.Commands, Find: resolve.Command}
	p.content.Inspect = func(context.Context, *pannier.Skill) (pannier.Inspection, error) {
		return pannier.Inspection{
			Frontmatter: json.RawMessage(`{"name":"alpha"}`),
			Conformance: map[string]pannier.Conformance{"agentskills_strict": pannier.ConformanceOf(nil)},
			Tools:       []pannier.Tool{{Name: "t", Kind: pannier.RuntimeScript, Parameters: json.RawMessage(`{"type":"object"}`), Path: "scripts/t"}},
			Commands:    []pannier.Command{{Name: "c", Arguments: []pannier.CommandArgument{{Name: "a"}}}}, Install: []pannier.InstallSpec{{Kind: "brew", Field: "install[0]", Commands: [][]string{{"brew", "install", "x"}}}},
		}, nil
	}
	p.options.Events = &api.EventSource{
		Follow: func(after uint64) api.EventReader { return &toldReader{next: after} },
		Last:   func() uint64 { return uint64(len(told)) },
		Whole:  func(*pannier.Snapshot) pannier.CatalogUpdated { return pannier.CatalogUpdated{} },
	}
	p.content.Audit = audited(func(string, uint64, int) ([]pannier.AuditEntry, error) {
		uid := uint32(7)
		return []pannier.AuditEntry{{Seq: 1, Time: time.Unix(1, 0), Phase: pannier.AuditIntent, Action: pannier.ActionScan, Actor: pannier.Actor{Kind: "socket", UID: &uid}, Detail: map[string]any{"a": 1}}}, nil
	})
	p.options.CardStatus = func() pannier.CardStatus {
		return pannier.CardStatus{Platforms: []pannier.PlatformCard{
			{Platform: "p", Wanted: json.RawMessage(`{"name":"a"}`), Has: json.RawMessage(`{"name":"b"}`), ReadAt: time.Unix(1, 0), Pushes: []pannier.PushAttempt{{At: time.Unix(1, 0), Outcome: "pushed", MS: 3, Version: 7}}},
			{Platform: "q", Reason: "r", Pushes: []pannier.PushAttempt{}},
		}}
	}
	p.options.Stats = func() pannier.Stats {
		return pannier.Stats{Minutes: []pannier.StatsMinute{{At: time.Unix(60, 0), StatsCounts: pannier.StatsCounts{Reloads: 1, ReloadP50MS: 1.5}}}}
	}
	p.content.Installer = newMover()
	versioned(&p.content)
	accept := func(http.ResponseWriter, *http.Request, context.Context) error { return nil }
	p.options.Routes = append(slices.Concat(mcp.Routes(http.HandlerFunc(answerMCP)), module.Routes()), module.RunnerRoute(nil, accept))
	p.content.Tools = toldTools
	p.options.Peers = func() []pannier.Peer {
		return []pannier.Peer{{ID: "p", Name: "P", Role: "r", Status: "online", Card: json.RawMessage(`{"name":"P"}`), UpdatedAt: time.Unix(1, 0)}, {ID: "q"}}
	}
	p.snapshot.Environment = pannier.Environment{OS: "linux", Arch: "arm64", Bins: []string{"git"}, Env: []string{}, Config: []string{}, MCP: []string{}, Source: pannier.EnvironmentAgent}
	return p.house
}

// toldTools has one tool, and carries out calls of it.
var toldTools = toolFuncs{
	list: func(s *pannier.Snapshot) pannier.ToolList {
		tool := pannier.RuntimeTool{Name: "skill.alpha.run", Parameters: json.RawMessage(`{"type":"object"}`), ExecutionClass: "shared", Kind: pannier.RuntimeShell, Skill: "alpha"}
		return pannier.ToolList{
			Kinds:           pannier.RuntimeToolKinds(),
			SnapshotVersion: s.Version, Digest: s.Digest, Enabled: true, Runner: "self", Report: &pannier.RunnerReport{Connected: true, Level: pannier.SandboxRequired},
			Tools:    []pannier.ListedTool{{RuntimeTool: tool, Why: &pannier.ToolError{Code: pannier.ToolNotAllowed, Message: "m", Hint: "h"}}},
			Excluded: []pannier.ExcludedTool{{Name: "skill.alpha.x", Skill: "alpha", Reason: pannier.ToolsDisabled, Detail: "d"}},
		}
	},
	call: func(_ context.Context, r pannier.ToolRequest) (pannier.ToolResult, error) {
		if r.Name != "skill.alpha.run" {
			return pannier.ToolResult{}, &pannier.Refusal{Code: pannier.ToolNotFound, Message: "m", Hint: "h"}
		}
		if r.Out != nil {
			r.Out(pannier.ToolDelta{Text: "first\n", Bytes: 6})
			r.Out(pannier.ToolDelta{Bytes: 9})
		}
		return pannier.ToolResult{
			Name: r.Name, CallID: r.CallID, Kind: pannier.RuntimeShell, ExitCode: new(3), Output: string(r.Arguments), Structured: json.RawMessage(`{"a":1}`), DurationMS: 4,
			Network: []pannier.ToolHost{{Host: "api.example:443", Requests: 1, Refused: pannier.HostRefusedOff}}, ArtifactsLeftOut: map[string]int{pannier.ArtifactLink: 1},
			Artifacts: []pannier.Artifact{{Name: "sub/a.json", Bytes: 2, Digest: pannier.DigestOf([]byte("{}")), MediaType: "application/json"}},
			Proxy:     &pannier.ToolProxy{Tool: "read_file", Arguments: json.RawMessage("{}")}, Error: &pannier.ToolError{Code: pannier.ToolFailed, Message: "m", Hint: "h"},
		}, nil
	},
}

// toolFuncs call tools with functions. They cancel the call c1.
type toolFuncs struct {
	list   func(*pannier.Snapshot) pannier.ToolList
	permit func(*pannier.Snapshot, *pannier.RuntimeTool) *pannier.ToolError
	call   func(context.Context, pannier.ToolRequest) (pannier.ToolResult, error)
}

func (t toolFuncs) List(s *pannier.Snapshot) pannier.ToolList { return t.list(s) }

func (t toolFuncs) Permit(s *pannier.Snapshot, tool *pannier.RuntimeTool) *pannier.ToolError {
	if t.permit == nil {
		return &pannier.ToolError{Code: pannier.ToolNoRunner, Message: "m", Hint: "h"}
	}
	return t.permit(s, tool)
}

func (t toolFuncs) Call(ctx context.Context, r pannier.ToolRequest) (pannier.ToolResult, error) {
	return t.call(ctx, r)
}

func (toolFuncs) Prepare(_ context.Context, _ pannier.Actor, slug string) (pannier.PreparedSkill, error) {
	if slug != "alpha" {
		return pannier.PreparedSkill{}, &pannier.Refusal{Code: pannier.ToolNotFound, Message: "m", Hint: "h"}
	}
	return pannier.PreparedSkill{
		Slug: slug, Files: []string{"scripts/a.py"}, Output: "o", Truncated: true, DurationMS: 7,
		Error: &pannier.ToolError{Code: pannier.ToolFailed, Message: "m", Hint: "h"},
	}, nil
}

func (toolFuncs) Permission(_ context.Context, s *pannier.Skill) (pannier.ToolPermission, error) {
	why := &pannier.ToolError{Code: pannier.ToolNoRunner, Message: "m", Hint: "h"}
	return pannier.ToolPermission{
		Slug: s.Slug, SourceKind: s.SourceKind, Path: s.Path, TrustLevel: pannier.TrustCommunity, Fingerprint: pannier.DigestOf(nil),
		ToolsAllowed: pannier.DigestOf([]byte("before")), Files: 2, Bytes: 30, Enabled: true, Hosts: []string{"x.example"}, Env: []string{"A"}, ProjectDirs: []string{},
		Tools: []pannier.PermittedTool{
			{Name: "skill.alpha.run", Kind: pannier.RuntimeShell, Command: []string{"a", "b"}, Why: why},
			{Name: "skill.alpha.add", Kind: pannier.RuntimePython, File: "tools/a.py", Function: "add"},
			{Name: "skill.alpha.get", Kind: pannier.RuntimeHTTP, Method: "GET", URL: "https://x.example", Secrets: []string{"KEY"}},
			{Name: "skill.alpha.read", Kind: pannier.RuntimeProxy, TargetTool: "read_file"},
		},
		Excluded: []pannier.ExcludedTool{{Name: "skill.alpha.x", Skill: "alpha", Reason: pannier.ToolsDisabled, Detail: "d"}},
		Scan:     &pannier.ScanVerdict{Decision: pannier.ScanAllow, Origin: pannier.ScanBackground, Findings: []pannier.Finding{}},
		Refused:  why,
	}, nil
}

func (toolFuncs) Cancel(_, id string) bool { return id == "c1" }

func (toolFuncs) Artifact(_ context.Context, _, id, name string) (pannier.Artifact, io.WriterTo, error) {
	if id != "c1" || name != "sub/a.json" {
		return pannier.Artifact{}, nil, &pannier.Refusal{Code: pannier.ToolArtifactMissing, Message: "m", Hint: "h"}
	}
	return pannier.Artifact{Name: name, Bytes: 2, Digest: pannier.DigestOf([]byte("{}")), MediaType: "application/json"}, strings.NewReader("{}"), nil
}

func (toolFuncs) Register(string, string, func(context.Context, json.RawMessage) (pannier.ToolResult, error)) (func(), error) {
	return func() {}, nil
}

// answerMCP answers as an MCP server does, with an event for a stream.
func answerMCP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: message\ndata: {}\n\n")
	case http.MethodPost:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// specification is an OpenAPI document whose schemas can be asked.
type specification struct {
	compiler *jsonschema.Compiler
	paths    map[string]map[string]json.RawMessage
}

const specURL = "http://pannier/openapi.json"

// readSpecification takes in the document of a handler. Its schemas are closed: an answer with a field that they do not
// have fails, though a client must let it pass.
func readSpecification(t *testing.T, h http.Handler) specification {
	t.Helper()
	w := ask(h, "GET", "/openapi.json", "")
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %v", w.Code, err)
	}
	for _, s := range document.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any) {
		if schema := s.(map[string]any); schema["properties"] != nil {
			schema["additionalProperties"] = false
		}
	}
	s := specification{compiler: jsonschema.NewCompiler()}
	s.compiler.AssertFormat()
	if err := s.compiler.AddResource(specURL, document); err != nil {
		t.Fatal(err)
	}
	s.paths = decodeLoosely[struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}](t, w.Body.Bytes()).Paths
	return s
}

func decodeLoosely[T any](t *testing.T, text []byte) (value T) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// check validates JSON against the schema at a JSON pointer of the document.
func (s specification) check(t *testing.T, what, pointer string, text []byte) {
	t.Helper()
	schema, err := s.compiler.Compile(specURL + "#" + pointer)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", what, err, text)
	}
}

// escape writes a key as a part of a JSON pointer within a URL.
var escape = strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")

// checkAnswer validates an answer against what the document tells of its route, status and media type.
func (s specification) checkAnswer(t *testing.T, pattern string, w *httptest.ResponseRecorder) {
	t.Helper()
	method, path, _ := strings.Cut(strings.ReplaceAll(pattern, "...}", "}"), " ")
	operation := decodeLoosely[struct {
		Responses map[string]struct {
			Content map[string]json.RawMessage `json:"content"`
		} `json:"responses"`
	}](t, s.paths[path][strings.ToLower(method)])
	status, what := strconv.Itoa(w.Code), pattern+" "+strconv.Itoa(w.Code)
	answer, ok := operation.Responses[status]
	_, failed := operation.Responses[status[:1]+"XX"]
	media, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type"))
	switch {
	case !ok && failed && media == "application/problem+json":
		s.check(t, what, "/components/responses/Failed/content/application~1problem+json/schema", w.Body.Bytes())
	case !ok || w.Body.Len() > 0 && answer.Content[media] == nil:
		t.Errorf("%s %s is not told: %s", what, media, w.Body)
	case media == "application/json" && w.Body.Len() > 0:
		s.check(t, what, "/paths/"+escape.Replace(path)+"/"+strings.ToLower(method)+"/responses/"+status+"/content/application~1json/schema", w.Body.Bytes())
	}
}

// TestRoutesAreDocumented compares the table of docs/API.md with the routes and the parameters of each.
func TestRoutesAreDocumented(t *testing.T) {
	routes := newWhole().handler().Patterns()
	for pattern := range routes {
		slices.Sort(routes[pattern])
	}
	if diff := cmp.Diff(documented(t), routes, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-docs/API.md +routes:\n%s", diff)
	}
	served := readSpecification(t, newHouse().handler()).paths
	if served["/v1/events"] != nil || served["/v1/skills/{slug}/scan"] != nil || served["/v1/skills"] == nil {
		t.Error("the document tells of routes that the handler does not have")
	}
}

var (
	routeInTable     = regexp.MustCompile("`((?:GET|POST|PUT|DELETE) [^`?]+)`")
	parameterInTable = regexp.MustCompile("`([a-z_]+)`")
)

// documented returns the routes of docs/API.md with the names of their parameters.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/API.md")
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string][]string{}
	var row []string // the routes of the row
	for line := range strings.Lines(string(text)) {
		cells := strings.SplitN(line, "|", 4)
		if len(cells) < 4 || cells[0] != "" {
			continue
		}
		if strings.TrimSpace(cells[1]) != "" {
			row = nil
		}
		for _, m := range routeInTable.FindAllStringSubmatch(cells[1], -1) {
			row, routes[m[1]] = append(row, m[1]), []string{}
		}
		for _, route := range row {
			for _, m := range parameterInTable.FindAllStringSubmatch(cells[2], -1) {
				routes[route] = append(routes[route], m[1])
			}
			slices.Sort(routes[route])
		}
	}
	return routes
}

// exchange is a request to a route with the status of its answer.
type exchange struct {
	target, body, accept string
	status               int
}

// requestsTo returns those of asked. Without any, a GET of the skill alpha succeeds, and one with an unknown parameter is refused.
func requestsTo(pattern string) []exchange {
	if target, ok := strings.CutPrefix(strings.ReplaceAll(pattern, "{slug}", "alpha"), "GET "); ok && asked[pattern] == nil {
		return []exchange{{target, "", "", 200}, {target + "?x=1", "", "", 400}}
	}
	return asked[pattern]
}

// asked are requests to routes, to each at least one that succeeds and one that is refused, where it can be.
var asked = map[string][]exchange{
	"GET /v1/skills":                               {{"/v1/skills?include=problems,policy,health", "", "", 200}, {"/v1/skills", "", "", 200}, {"/v1/skills?limit=2&q=o", "", "", 200}, {"/v1/skills?state=no", "", "", 400}},
	"GET /v1/skills/{slug}":                        {{"/v1/skills/alpha", "", "", 200}, {"/v1/skills/gamma", "", "", 200}, {"/v1/skills/omega?path=extra/omega", "", "", 200}, {"/v1/skills/no", "", "", 404}},
	"GET /v1/skills/{slug}/versions":               {{"/v1/skills/alpha/versions", "", "", 200}, {"/v1/skills/omega/versions?path=extra/omega", "", "", 200}, {"/v1/skills/no/versions", "", "", 404}},
	"GET /v1/skills/{slug}/diff":                   {{"/v1/skills/alpha/diff", "", "", 200}, {"/v1/skills/no/diff", "", "", 404}},
	"GET /v1/skills/{slug}/content":                {{"/v1/skills/alpha/content?expand=1", "", "", 200}, {"/v1/skills/alpha/content", "", "text/markdown", 200}, {"/v1/skills/beta/content", "", "", 409}},
	"GET /v1/skills/{slug}/files/{path...}":        {{"/v1/skills/alpha/files/refs/a.html", "", "", 200}, {"/v1/skills/alpha/files/no", "", "", 404}},
	"POST /v1/skills":                              {{"/v1/skills?file_name=a.tgz&allow_missing=1", "x", "", 415}, {"/v1/skills?dry_run=no!", "x", "", 400}},
	"PUT /v1/skills/{slug}":                        {{"/v1/skills/alpha", "x", "", 415}, {"/v1/skills/alpha?expected_fingerprint=x", "x", "", 400}},
	"DELETE /v1/skills/{slug}":                     {{"/v1/skills/alpha?dry_run=1", "", "", 200}, {"/v1/skills/no", "", "", 404}},
	"POST /v1/skills/{slug}/rollback":              {{"/v1/skills/alpha/rollback", "", "", 200}, {"/v1/skills/no/rollback", "", "", 404}},
	"POST /v1/promotions":                          {{"/v1/promotions", `{"promote_to_skill":true,"repetition_signal":{"count":3},"summary":"s"}`, "", 200}, {"/v1/promotions", "{}", "", 400}},
	"POST /v1/skills/{slug}/scan":                  {{"/v1/skills/alpha/scan", "", "", 200}, {"/v1/skills/no/scan", "", "", 404}},
	"GET /v1/prompt":                               {{"/v1/prompt", "", "", 200}, {"/v1/prompt?max_chars=9", "", "application/json", 200}, {"/v1/prompt?format=no", "", "", 400}},
	"POST /v1/prompt":                              {{"/v1/prompt", "{}", "", 200}, {"/v1/prompt", `{"text":"$alpha","limits":{"max_chars":0}}`, "application/json", 200}, {"/v1/prompt?dry_run=1", "{}", "", 200}, {"/v1/prompt", "[]", "", 400}},
	"POST /v1/find":                                {{"/v1/find", `{"text":"alpha","limit":2}`, "", 200}, {"/v1/find", `{"text":" "}`, "", 400}, {"/v1/find", `{"text":"a","limit":101}`, "", 400}},
	"POST /v1/resolve":                             {{"/v1/resolve", `{"text":"/skill:alpha now, $beta","capabilities":[{"id":"1","slug":"no"}]}`, "", 200}, {"/v1/resolve", `{"no":1}`, "", 400}},
	"POST /v1/commands/{name}":                     {{"/v1/commands/alpha", `{"args":"now"}`, "", 200}, {"/v1/commands/alpha", "", "", 200}, {"/v1/commands/no", "", "", 404}},
	"POST /v1/health/acknowledge":                  {{"/v1/health/acknowledge", `{"condition":"state_lost"}`, "", 200}, {"/v1/health/acknowledge", `{"code":1}`, "", 400}},
	"POST /v1/tools/{name}":                        {{"/v1/tools/skill.alpha.run", `{"arguments":{"a":1},"call_id":"c1"}`, "", 200}, {"/v1/tools/skill.alpha.run", "", "", 200}, {"/v1/tools/skill.alpha.run", "", "text/event-stream", 200}, {"/v1/tools/skill.no.no", "", "", 404}, {"/v1/tools/skill.alpha.run", `{"args":{}}`, "", 400}},
	"GET /v1/tools/calls/{id}/artifacts/{name...}": {{"/v1/tools/calls/c1/artifacts/sub/a.json", "", "", 200}, {"/v1/tools/calls/c2/artifacts/sub/a.json", "", "", 404}},
	"DELETE /v1/tools/calls/{id}":                  {{"/v1/tools/calls/c1", "", "", 200}, {"/v1/tools/calls/c2", "", "", 404}},
	"POST /v1/rescan":                              {{"/v1/rescan?wait=1", "", "", 200}, {"/v1/rescan?wait=no", "", "", 400}},
	"PUT /v1/environment":                          {{"/v1/environment", `{"os":"linux","arch":"arm64","bins":["git"],"env":[],"config":[],"mcp":[]}`, "", 200}, {"/v1/environment", `{"no":1}`, "", 400}},
	"PUT /v1/policy/{slug}":                        {{"/v1/policy/alpha?source_kind=workspace", `{"enabled":false,"allow_implicit_invocation":null}`, "", 200}, {"/v1/policy/alpha", `{"enabled":1}`, "", 400}},
	"GET /v1/audit":                                {{"/v1/audit?slug=a&limit=1", "", "", 200}, {"/v1/audit?limit=0", "", "", 400}},
	"GET /v1/events":                               {{"/v1/events?follow=0", "", "", 200}, {"/v1/events?types=no", "", "", 400}},
	"GET /v1/rpc":                                  {{"/v1/rpc", "", "", 426}},
	"GET /v1/runner":                               {{"/v1/runner", "", "", 403}},
	"POST /v1/tickets":                             {{"/v1/tickets", "", "", 200}, {"/v1/tickets?x=1", "", "", 400}},
	"POST /v1/skills/{slug}/prepare":               {{"/v1/skills/alpha/prepare", "", "", 200}, {"/v1/skills/no/prepare", "", "", 404}},
	"POST /v1/rpc": {
		{"/v1/rpc", `{"jsonrpc":"2.0","id":1,"method":"skills/list"}`, "", 200},
		{"/v1/rpc", `[{"jsonrpc":"2.0","id":"a","method":"no"}]`, "", 200},
		{"/v1/rpc", `{"jsonrpc":"2.0","method":"skills/list"}`, "", 204},
		{"/v1/rpc?x=1", "", "", 400},
	},
	"GET /mcp":     {{"/mcp", "", "", 200}},
	"POST /mcp":    {{"/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "", 200}},
	"DELETE /mcp":  {{"/mcp", "", "", 204}},
	"GET /metrics": {{"/metrics", "", "", 200}},
}

// TestOpenAPIIsTrue holds every answer against its schema, and what is sent against that of the request.
func TestOpenAPIIsTrue(t *testing.T) {
	told := newWhole().handler()
	s := readSpecification(t, told)
	for pattern := range told.Patterns() {
		requests := requestsTo(pattern)
		if len(requests) == 0 {
			t.Errorf("no request to %s", pattern)
		}
		for _, q := range requests {
			h := newWhole().handler()
			method, path, _ := strings.Cut(strings.ReplaceAll(pattern, "...}", "}"), " ")
			r := httptest.NewRequest(method, q.target, strings.NewReader(q.body))
			r.Header.Set("Accept", q.accept)
			if pattern == "GET /v1/events" {
				r.Header.Set("Last-Event-ID", "0")
			}
			r = r.WithContext(service.WithCaller(r.Context(), service.Caller{}))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != q.status {
				t.Errorf("%s %s: %d %s, want %d", method, q.target, w.Code, w.Body, q.status)
				continue
			}
			if pattern != "GET /metrics" { // whose handler is that of Prometheus
				s.checkAnswer(t, pattern, w)
			}
			if q.body != "" && q.status == http.StatusOK {
				s.check(t, "body of "+pattern, "/paths/"+escape.Replace(path)+"/"+strings.ToLower(method)+"/requestBody/content/application~1json/schema", []byte(q.body))
			}
			if tag := w.Header().Get("ETag"); tag != "" {
				s.checkAnswer(t, pattern, ask(h, method, q.target, "", "If-None-Match", tag, "Accept", q.accept))
			}
		}
	}
}

// TestOpenAPIOfEvents holds an event of each type against the schema of its envelope.
func TestOpenAPIOfEvents(t *testing.T) {
	h := newWhole().handler()
	s := readSpecification(t, h)
	seen := map[pannier.EventType]bool{pannier.EventCardRejected: true} // as that of a card that was pushed
	for line := range strings.Lines(ask(h, "GET", "/v1/events?follow=0", "", "Last-Event-ID", "0").Body.String()) {
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			s.check(t, "event", "/components/schemas/Event", []byte(text))
			seen[decodeLoosely[pannier.Event](t, []byte(text)).Type] = true
		}
	}
	for _, kind := range pannier.EventTypes() {
		if !seen[kind] {
			t.Errorf("no event of type %s was checked", kind)
		}
	}
	schema, err := s.compiler.Compile(specURL + "#/components/schemas/Event")
	if err != nil {
		t.Fatal(err)
	}
	wrong, _ := jsonschema.UnmarshalJSON(strings.NewReader(`{"seq":1,"time":"2026-11-20T00:00:00Z","type":"card_pushed","workspace_id":"","snapshot_version":1,"data":{"count":1}}`))
	if schema.Validate(wrong) == nil {
		t.Error("an event with the data of another type passes")
	}
}
