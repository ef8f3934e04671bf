package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
)

// eras are a version of the protocol of each kind.
var eras = map[string]string{"sessions": "2025-11-25", "stateless": "2026-07-28"}

// mcpHost is a host that the SDK's client plays, with the notifications that came.
type mcpHost struct {
	*mcp.ClientSession
	tools, prompts, resources chan struct{}
	updated                   chan string
}

// socketClient returns a client of HTTP that reaches a unix socket, whatever the address.
func socketClient(socket string) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}}
}

func (s *sidecarUnderTest) connectMCP(t *testing.T, version string) *mcpHost {
	t.Helper()
	return connectMCP(t, version, &mcp.StreamableClientTransport{Endpoint: "http://pannier/mcp", HTTPClient: socketClient(s.socket)})
}

func connectMCP(t *testing.T, version string, transport mcp.Transport) *mcpHost {
	t.Helper()
	h := &mcpHost{tools: make(chan struct{}, 16), prompts: make(chan struct{}, 16), resources: make(chan struct{}, 16), updated: make(chan string, 16)}
	client := mcp.NewClient(&mcp.Implementation{Name: "test host", Version: "7"}, &mcp.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { h.tools <- struct{}{} },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { h.prompts <- struct{}{} },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { h.resources <- struct{}{} },
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			h.updated <- req.Params.URI
		},
	})
	for _, method := range []string{"skills/list", "skills/get", "resources/directory/read"} {
		need(t, mcp.AddSendingCustomMethod[*extensionParams, *extensionResult](client, method))
	}
	session := must(client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version}))(t)
	t.Cleanup(func() { session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the protocol is %s, want %s", got, version)
	}
	h.ClientSession = session
	return h
}

type extensionParams struct {
	mcp.ParamsBase
	URI    string `json:"uri,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

type extensionSkill struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Resources   json.RawMessage `json:"resources"`
}

type extensionResult struct {
	mcp.ResultBase
	Skills     []extensionSkill `json:"skills"`
	Skill      extensionSkill   `json:"skill"`
	Resources  []*mcp.Resource  `json:"resources"`
	NextCursor string           `json:"nextCursor"`
	TTLMs      *int             `json:"ttlMs"`
	CacheScope string           `json:"cacheScope"`
	ResultType string           `json:"resultType"`
}

func (h *mcpHost) extension(t *testing.T, method, uri string) (*extensionResult, error) {
	t.Helper()
	return mcp.CallCustomMethod[*extensionParams, *extensionResult](t.Context(), h.ClientSession, method, &extensionParams{URI: uri})
}

func writeMCPSkills(t *testing.T, w string) {
	t.Helper()
	writeIn(t, w, skillScript("pdf", "Fill forms.")+`
mkdir skills/pdf/references; printf 'forms\n' > skills/pdf/references/forms.md; : > skills/pdf/empty.txt; printf '\377\376' > skills/pdf/bad.bin
mkdir skills/notes; printf -- '---\nname: note-taking\ndescription: Take notes.\nmetadata: {b: 1.0, a: yes}\ncommands:\n  - name: mode\n    args: "<on|off>"\n---\nWrite.\n' > skills/notes/SKILL.md
mkdir skills/odd; printf -- '---\nname: Odd Name\ndescription: An odd one.\n---\nOdd.\n' > skills/odd/SKILL.md
mkdir skills/byhand; printf -- '---\nname: byhand\ndescription: For people.\ndisable-model-invocation: true\n---\nBy hand.\n' > skills/byhand/SKILL.md
mkdir skills/needy; printf -- '---\nname: needy\ndescription: Needs much.\nmetadata: {openclaw: {requires: {bins: [no-such-program]}}}\n---\nNeedy.\n' > skills/needy/SKILL.md
mkdir skills/off; printf -- '---\nname: off\ndescription: Off.\nscope: disabled\n---\nOff.\n' > skills/off/SKILL.md
mkdir -p skills/odd/real; printf 'linked\n' > skills/odd/real/x.md; ln -s real skills/odd/docs
`)
}

func TestMCP(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeMCPSkills(t, w)
	s := startSidecar(t, w, "--platform-url", "off")
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			h := s.connectMCP(t, version)
			checkMCPStart(t, h)
			checkMCPSkills(t, h, version)
			checkMCPResources(t, h)
			checkMCPTools(t, h)
			checkMCPPrompts(t, s, h)
		})
	}
	events := s.output(t, "events", "--types", "mcp_session")
	for _, version := range eras {
		if !strings.Contains(events, `"client":"test host","version":"7","protocol":"`+version+`"`) {
			t.Errorf("no event of a host of %s:\n%s", version, events)
		}
	}
}

func (s *sidecarUnderTest) output(t *testing.T, args ...string) string {
	t.Helper()
	stdout, code := runCommand(t, []string{"PANNIER_SOCKET=" + s.socket}, args...)
	if code != exitYes {
		t.Fatalf("exit code %d: %s", code, stdout)
	}
	return stdout
}

func checkMCPStart(t *testing.T, h *mcpHost) {
	t.Helper()
	start := h.InitializeResult()
	if got, _ := json.Marshal(start.Capabilities.Extensions); string(got) != `{"io.modelcontextprotocol/skills":{"directoryRead":true}}` {
		t.Errorf("extensions %s", got)
	}
	if got, _ := json.Marshal(start.Capabilities); strings.Contains(string(got), `"logging"`) {
		t.Errorf("the deprecated logging is declared: %s", got)
	}
	if !start.Capabilities.Resources.Subscribe || !start.Capabilities.Tools.ListChanged || !start.Capabilities.Prompts.ListChanged {
		t.Errorf("capabilities %+v", start.Capabilities)
	}
	if !strings.Contains(start.Instructions, "activate_skill") {
		t.Errorf("the instructions are\n%s", start.Instructions)
	}
}

func checkMCPSkills(t *testing.T, h *mcpHost, version string) {
	t.Helper()
	list := must(h.extension(t, "skills/list", ""))(t)
	var uris []string
	for _, skill := range list.Skills {
		uris = append(uris, skill.URI)
		got, err := h.extension(t, "skills/get", skill.URI)
		if err != nil || !bytes.Equal(got.Skill.Frontmatter, skill.Frontmatter) || !bytes.Equal(got.Skill.Resources, skill.Resources) {
			t.Errorf("skills/get of %s: %+v %v", skill.URI, got, err)
		}
	}
	if got := strings.Join(uris, " "); got != "skill://byhand/SKILL.md skill://notes/note-taking/SKILL.md skill://pdf/SKILL.md" {
		t.Errorf("skills %s", got)
	}
	if got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(list.Skills[1].Frontmatter)); got != `{"name":"note-taking","description":"Take notes.","metadata":{"b":1,"a":"yes"},"commands":[{"name":"mode","args":"<on|off>"}]}` {
		t.Errorf("frontmatter %s", got)
	}
	if modern := version == eras["stateless"]; modern != (list.TTLMs != nil && list.CacheScope != "" && list.ResultType == "complete") || !modern && (list.TTLMs != nil || list.CacheScope != "") {
		t.Errorf("cache hints of %s: %v %q %q", version, list.TTLMs, list.CacheScope, list.ResultType)
	}
	children, err := h.extension(t, "resources/directory/read", "skill://pdf")
	if err != nil || len(children.Resources) != 4 || children.Resources[3].URI != "skill://pdf/references" || children.Resources[3].MIMEType != "inode/directory" {
		t.Errorf("directory %+v %v", children, err)
	}
	// The schema of the TypeScript SDK wants them here too.
	if modern := version == eras["stateless"]; modern != (children.TTLMs != nil && children.CacheScope != "") {
		t.Errorf("cache hints of a directory of %s: %v %q", version, children.TTLMs, children.CacheScope)
	}
	for uri, want := range map[string]string{
		"skill://pdf/SKILL.md/x": "missing", "skill://none/SKILL.md": "skill_not_found", "skill://needy/SKILL.md": "skill_ineligible",
		"skill://odd/SKILL.md": "mcp_name", "skill://pdf/../notes/SKILL.md": "uri_path", "skill://pdf/%2e%2e/SKILL.md": "uri_path",
		"skill://pdf/%2E/SKILL.md": "uri_path", "skill://pdf/a%2fb": "uri_path", "file:///etc/passwd": "uri_scheme", "skill://pdf/a%00b": "uri_invalid",
		"skill://pdf/SKILL.md?x": "uri_invalid", "skill://pdf/": "uri_path", "skill://PDF/SKILL.md": "skill_not_found",
		"skill://" + strings.Repeat("a", 5000): "uri_too_long", "": "uri_missing", "skill://pdf/%ff": "uri_invalid",
	} {
		for _, method := range []string{"skills/get", "resources/directory/read"} {
			_, err := h.extension(t, method, uri)
			checkMCPError(t, method+" "+uri, err, want, "skill_not_found", "directory_not_found")
		}
	}
}

// checkMCPError fails unless an error of the protocol has one of some codes, and says what to do.
func checkMCPError(t *testing.T, what string, err error, codes ...string) {
	t.Helper()
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("%.100s: %v", what, err)
		return
	}
	var data struct{ Code, Detail, Hint string }
	if json.Unmarshal(wire.Data, &data) != nil || data.Detail == "" || data.Hint == "" || strings.Contains(data.Hint, "/v1/") || !strings.Contains(wire.Message, data.Hint) {
		t.Errorf("%.100s: %s %s", what, wire.Message, wire.Data)
	}
	for _, code := range codes {
		if code == data.Code {
			return
		}
	}
	t.Errorf("%.100s: code %s, want one of %v", what, data.Code, codes)
}

func checkMCPResources(t *testing.T, h *mcpHost) {
	t.Helper()
	list, err := h.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 3 {
		t.Fatalf("%+v %v", list, err)
	}
	if r := list.Resources[2]; r.URI != "skill://pdf/SKILL.md" || r.Name != "pdf" || r.Description != "Fill forms." || r.MIMEType != "text/markdown" || r.Size == 0 || r.Annotations.LastModified == "" {
		t.Errorf("resource %+v", r)
	}
	templates, err := h.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "skill://{+path}" {
		t.Errorf("%+v %v", templates, err)
	}
	for uri, want := range map[string]string{
		"skill://pdf/SKILL.md": "text ---\nname: pdf\ndescription: Fill forms.\n---\nDo it.\n", "skill://pdf/references/forms.md": "text forms\n",
		"skill://pdf/empty.txt": "blob ", "skill://pdf/bad.bin": "blob \xff\xfe",
	} {
		read, err := h.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		got := "text " + read.Contents[0].Text
		if read.Contents[0].Blob != nil {
			got = "blob " + string(read.Contents[0].Blob)
		}
		if got != want || len(read.Contents) != 1 || read.Contents[0].URI != uri {
			t.Errorf("%s: %q, want %q", uri, got, want)
		}
	}
	for uri, code := range map[string]string{"skill://pdf/none": "file_not_found", "skill://pdf": "file_is_directory", "skill://needy/SKILL.md": "skill_ineligible", "skill://pdf/%2e%2e/x": "uri_path", "http://x/": "uri_scheme"} {
		_, err := h.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		checkMCPError(t, "resources/read "+uri, err, code)
	}
}

func checkMCPTools(t *testing.T, h *mcpHost) {
	t.Helper()
	tools, err := h.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 2 {
		t.Fatalf("%+v %v", tools, err)
	}
	schema, _ := json.Marshal(tools.Tools[0].InputSchema)
	if !strings.Contains(string(schema), `"enum":["notes","odd","pdf"]`) || !tools.Tools[0].Annotations.ReadOnlyHint || *tools.Tools[0].Annotations.OpenWorldHint {
		t.Errorf("activate_skill: %s %+v", schema, tools.Tools[0].Annotations)
	}
	if about := tools.Tools[0].Description; !strings.HasPrefix(about, "Skills of this project: notes, odd, pdf\nLook here first: ") ||
		!strings.Contains(about, "\n- pdf: Fill forms.") || strings.Contains(about, "byhand") || strings.Contains(about, "needy") {
		t.Errorf("activate_skill: %s", about)
	}
	for _, tt := range []struct {
		tool, arguments, want string
		failed                bool
	}{
		{"activate_skill", `{"name":"pdf"}`, "<skill_content name=\"pdf\">\nDo it.\n\nSkill directory: /", false},
		{"activate_skill", `{"name":"odd"}`, "Odd.", false},
		{"activate_skill", `{"name":"byhand"}`, "only for people", true},
		{"activate_skill", `{"name":"needy"}`, "no-such-program", true},
		{"activate_skill", `{"name":"off"}`, "off cannot be used: disabled (scope): tell the user", true},
		{"read_skill_file", `{"skill":"odd","path":"docs/x.md"}`, "linked\n", false},
		{"read_skill_file", `{"skill":"byhand","path":"SKILL.md"}`, "only for people", true},
		{"activate_skill", `{"name":"pdff"}`, `skill "pdff" not found`, true},
		{"activate_skill", `{}`, "name is missing", true},
		{"activate_skill", `{"nam":"pdf"}`, "unknown field", true},
		{"activate_skill", `{"name":7}`, "invalid arguments", true},
		{"read_skill_file", `{"skill":"pdf","path":"references/forms.md"}`, "forms\n", false},
		{"read_skill_file", `{"skill":"odd","path":"SKILL.md"}`, "An odd one.", false},
		{"read_skill_file", `{"skill":"pdf","path":"../notes/SKILL.md"}`, "leads out of the directory", true},
		{"read_skill_file", `{"skill":"pdf","path":"none"}`, "has no file", true},
	} {
		result, err := h.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: json.RawMessage(tt.arguments)})
		if err != nil {
			t.Errorf("%s %s: %v", tt.tool, tt.arguments, err)
			continue
		}
		text, _ := result.Content[0].(*mcp.TextContent)
		if text == nil || !strings.Contains(text.Text, tt.want) || result.IsError != tt.failed || tt.failed && strings.Contains(text.Text, "pannier ") {
			t.Errorf("%s %s: %+v, error %t; want %q", tt.tool, tt.arguments, text, result.IsError, tt.want)
		}
	}
	if _, err := h.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"}); err == nil || !strings.Contains(err.Error(), `unknown tool "none"`) {
		t.Errorf("an unknown tool: %v", err)
	}
}

func checkMCPPrompts(t *testing.T, s *sidecarUnderTest, h *mcpHost) {
	t.Helper()
	list := must(h.ListPrompts(t.Context(), nil))(t)
	var names []string
	for _, p := range list.Prompts {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "byhand mode notes odd pdf" || list.Prompts[0].Arguments[0].Required {
		t.Errorf("prompts %s", got)
	}
	var run pannier.CommandRun
	res := must(socketClient(s.socket).Post("http://pannier/v1/commands/mode", "application/json", strings.NewReader(`{"args":"on"}`)))(t)
	defer res.Body.Close()
	need(t, json.NewDecoder(res.Body).Decode(&run))
	got, err := h.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "mode", Arguments: map[string]string{"args": "on"}})
	if err != nil || got.Messages[0].Content.(*mcp.TextContent).Text != run.Text || run.Text == "" {
		t.Errorf("prompt %+v %v, want %q", got, err, run.Text)
	}
	_, err = h.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "needy"})
	checkMCPError(t, "prompt of an unusable skill", err, "skill_ineligible")
	_, err = h.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "none"})
	checkMCPError(t, "unknown prompt", err, "command_not_found")
	completed, err := h.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "mode"}, Argument: mcp.CompleteParamsArgument{Name: "args", Value: "of"}})
	if err != nil || strings.Join(completed.Completion.Values, " ") != "off" {
		t.Errorf("completion %+v %v", completed, err)
	}
}

func await[T any](t *testing.T, what string, c <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-c:
	case <-time.After(patience):
		t.Fatalf("no %s", what)
	}
	return value
}

// TestMCPNotifications changes files and checks which lists hosts of both eras are told of.
func TestMCPNotifications(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeMCPSkills(t, w)
	s := startSidecar(t, w, "--platform-url", "off")
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			h := s.connectMCP(t, version)
			added := "added-" + era
			s.write(t, skillScript(added, "New."))
			await(t, "change of the tools", h.tools)
			await(t, "change of the prompts", h.prompts)
			await(t, "change of the resources", h.resources)
			uri := "skill://" + added + "/SKILL.md"
			if _, err := h.extension(t, "skills/get", uri); err != nil {
				t.Error(err)
			}
			for _, uri := range []string{uri, "skill://pdf/references/forms.md"} {
				need(t, h.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}))
			}
			if err := h.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "skill://pdf/none"}); err == nil && version == eras["sessions"] {
				t.Error("a file that does not exist can be subscribed to")
			}
			s.write(t, "printf 'More.\\n' >> skills/"+added+"/SKILL.md")
			if got := await(t, "update of SKILL.md", h.updated); got != uri {
				t.Errorf("update of %s", got)
			}
			await(t, "change of the resources", h.resources)
			awaitWatchOf(t, s, h)
			if len(h.tools)+len(h.prompts) > 0 {
				t.Errorf("a change of a text changed %d lists of tools and %d of prompts", len(h.tools), len(h.prompts))
			}
			s.write(t, "rm -r skills/"+added)
			await(t, "change of the tools", h.tools)
		})
	}
}

// TestMCPHeldSkill breaks the text of a skill: hosts are told that it left the list, and that it is back.
func TestMCPHeldSkill(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeMCPSkills(t, w)
	s := startSidecar(t, w, "--platform-url", "off")
	h := s.connectMCP(t, eras["stateless"])
	for _, step := range []struct {
		script string
		want   int
	}{{"cp skills/pdf/SKILL.md kept; printf -- '---\nname: [\n---\n' > skills/pdf/SKILL.md", 2}, {"mv kept skills/pdf/SKILL.md", 3}} {
		s.write(t, step.script)
		await(t, "change of the resources", h.resources)
		if list, err := h.extension(t, "skills/list", ""); err != nil || len(list.Skills) != step.want {
			t.Errorf("%d skills (%v), want %d", len(list.Skills), err, step.want)
		}
	}
}

// awaitWatchOf changes a file below a skill until the host is told: its directory is watched a moment after the subscription.
func awaitWatchOf(t *testing.T, s *sidecarUnderTest, h *mcpHost) {
	t.Helper()
	eventually(t, "the host is told of a file below a skill", func() error {
		s.write(t, "date +%N >> skills/pdf/references/forms.md")
		select {
		case uri := <-h.updated:
			if uri != "skill://pdf/references/forms.md" {
				t.Errorf("update of %s", uri)
			}
			return nil
		case <-time.After(time.Second):
			return errors.New("not yet")
		}
	})
}

// post sends a body to /mcp with headers.
func (s *sidecarUnderTest) post(t *testing.T, body string, headers ...string) (int, string) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pannier/mcp", strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res := must(socketClient(s.socket).Do(req))(t)
	defer res.Body.Close()
	text := must(io.ReadAll(res.Body))(t)
	return res.StatusCode, string(text)
}

const modernCall = `{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`

// TestMCPBadInput sends what no host should, while another host goes on.
func TestMCPBadInput(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeMCPSkills(t, w)
	s := startSidecar(t, w, "--platform-url", "off")
	other := s.connectMCP(t, eras["sessions"])
	modern := fmt.Sprintf(modernCall, "2026-07-28")
	for _, tt := range []struct {
		name, body string
		headers    []string
		status     int
		code       int
		message    string
	}{
		{"5 MB", `{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"` + strings.Repeat("x", 5<<20) + `"}}`, nil, 413, -32600, "send a smaller request"},
		{"unknown version", fmt.Sprintf(modernCall, "2031-01-01"), []string{"MCP-Protocol-Version", "2031-01-01", "Mcp-Method", "tools/list"}, 400, -32022, "unsupported"},
		{"old unknown version", modern, []string{"MCP-Protocol-Version", "2020-01-01"}, 400, -32022, "use one of 2026-07-28"},
		{"no version header", modern, nil, 400, -32020, "header is required"},
		{"other version header", modern, []string{"MCP-Protocol-Version", "2025-11-25"}, 400, -32022, "2025-11-25"},
		{"no method header", modern, []string{"MCP-Protocol-Version", "2026-07-28"}, 400, -32020, "Mcp-Method"},
		{"other method header", modern, []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "prompts/list"}, 400, -32020, "Mcp-Method"},
		{"unknown method", strings.Replace(modern, "tools/list", "none", 1), []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "none"}, 404, -32601, "none"},
		{"no JSON", "no", nil, 400, -32700, "is not JSON"},
		{"nothing", "", nil, 400, -32600, "non-empty body"},
		{"unknown session", `{"jsonrpc":"2.0","id":9,"method":"ping"}`, []string{"Mcp-Session-Id", "none"}, 404, -32600, "session not found"},
		{"no initialize", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, nil, 200, 0, "initialization"},
		{"a page", modern, []string{"Origin", "http://evil.example"}, 403, 0, "browser_refused"},
		{"no Accept", modern, []string{"Accept", "text/html"}, 400, -32600, "Accept must contain"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, text := s.post(t, tt.body, tt.headers...)
			var answer struct {
				Error struct {
					Code    int
					Message string
				}
			}
			if status != tt.status || !strings.Contains(text, tt.message) || tt.code != 0 && (json.Unmarshal([]byte(text), &answer) != nil || answer.Error.Code != tt.code) {
				t.Errorf("%d %.300s; want %d, %d, %q", status, text, tt.status, tt.code, tt.message)
			}
		})
	}
	if list, err := other.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 2 {
		t.Errorf("another host: %+v %v", list, err)
	}
	if status, text := s.post(t, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"\u001b[31m`+strings.Repeat("n", 200)+`","version":"1\n2"}}}}`,
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover"); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	if events := s.output(t, "events", "--types", "mcp_session", "--json"); strings.Contains(events, "\\u001b") || strings.Contains(events, strings.Repeat("n", 65)) || !strings.Contains(events, `"1 2"`) {
		t.Errorf("the name of a host is not cleaned:\n%s", events)
	}
}

// TestMCPHostsThatVanish: hosts that go away in the middle of a call, and one that follows changes without reading, delay no other.
func TestMCPHostsThatVanish(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeMCPSkills(t, w)
	s := startSidecar(t, w, "--platform-url", "off")
	other := s.connectMCP(t, eras["stateless"])
	send := func(body, method string) net.Conn {
		conn := must(net.Dial("unix", s.socket))(t)
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: %s\r\nMcp-Name: activate_skill\r\nContent-Length: %d\r\n\r\n%s", method, len(body), body)
		return conn
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	unread := send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourcesListChanged":true},`+meta+`}}`, "subscriptions/listen")
	defer unread.Close()
	for range 50 {
		send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"activate_skill","arguments":{"name":"pdf"},`+meta+`}}`, "tools/call").Close()
	}
	s.write(t, skillScript("added", "New."))
	await(t, "change of the tools", other.tools)
	if result, err := other.CallTool(t.Context(), &mcp.CallToolParams{Name: "activate_skill", Arguments: json.RawMessage(`{"name":"added"}`)}); err != nil || result.IsError {
		t.Errorf("another host: %+v %v", result, err)
	}
}

// TestMCPOverTCP: a session belongs to the token that began it.
func TestMCPOverTCP(t *testing.T) {
	t.Parallel()
	file, token := newTokens(t)
	w := newWorkspace(t)
	writeMCPSkills(t, w)
	s := startSidecar(t, w, "--platform-url", "off", "--api-listen", "127.0.0.1:0", "--api-tokens", file)
	url := "http://" + s.apiAddress(t) + "/mcp"
	for _, version := range eras {
		h := connectMCP(t, version, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token["read"])}})
		if list, err := h.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 2 {
			t.Fatalf("%+v %v", list, err)
		}
		if h.ID() == "" {
			continue
		}
		for who, status := range map[string]int{"write": 404, "read": 200} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":99,"method":"ping"}`))
			req.Header.Set("Mcp-Session-Id", h.ID())
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			res := must(bearer(token[who]).RoundTrip(req))(t)
			res.Body.Close()
			if res.StatusCode != status {
				t.Errorf("the token %s in a session of read: %d, want %d", who, res.StatusCode, status)
			}
		}
	}
	s.checkSecrets(t, token)
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if b != "" {
		req.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(req)
}

func TestMCPOff(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeMCPSkills(t, w)
	s := startSidecar(t, w, "--platform-url", "off", "--mcp", "off")
	if status, text := s.post(t, "{}"); status != 404 || !strings.Contains(text, "no_such_route") {
		t.Errorf("%d %s", status, text)
	}
	s = startSidecar(t, w, "--platform-url", "off", "--mcp", "resources")
	h := s.connectMCP(t, eras["stateless"])
	if start := h.InitializeResult(); start.Capabilities.Tools != nil {
		t.Errorf("%+v", start)
	}
	all, err := h.ListResources(t.Context(), nil)
	if err != nil || len(all.Resources) != 3 || all.NextCursor != "" {
		t.Errorf("%+v %v", all, err)
	}
	_, err = h.ListPrompts(t.Context(), &mcp.ListPromptsParams{Cursor: "none"})
	checkMCPError(t, "a wrong cursor", err, "cursor_invalid")
}
