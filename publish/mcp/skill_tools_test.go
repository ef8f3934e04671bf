package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/service"
)

// toolShop is a shop whose skill has tools. It implements [service.Tools].
type toolShop struct {
	*shop
	mu    sync.Mutex
	tools []pannier.ListedTool
	carry func(context.Context, pannier.ToolRequest) (pannier.ToolResult, error)
}

func newToolShop(t *testing.T, names ...string) *toolShop {
	s := &toolShop{shop: newShop(t, "a")}
	s.offer(names...)
	s.SkillTools, s.contents.Tools = true, s
	return s
}

func (s *toolShop) List(*pannier.Snapshot) pannier.ToolList {
	s.mu.Lock()
	defer s.mu.Unlock()
	return pannier.ToolList{Tools: s.tools}
}

func (s *toolShop) Call(ctx context.Context, r pannier.ToolRequest) (pannier.ToolResult, error) {
	return s.carry(ctx, r)
}

func (*toolShop) Permit(*pannier.Snapshot, *pannier.RuntimeTool) *pannier.ToolError { return nil }

func (*toolShop) Permission(context.Context, *pannier.Skill) (pannier.ToolPermission, error) {
	return pannier.ToolPermission{}, pannier.ErrNotServable
}

func (*toolShop) Prepare(context.Context, pannier.Actor, string) (pannier.PreparedSkill, error) {
	return pannier.PreparedSkill{}, pannier.ErrNotServable
}

func (*toolShop) Cancel(string, string) bool { return false }

func (*toolShop) Artifact(_ context.Context, _, id, name string) (pannier.Artifact, io.WriterTo, error) {
	text := strings.Repeat("x", 7)
	if name == "large" {
		text = strings.Repeat("x", 17<<20)
	}
	if id != "c 1" {
		return pannier.Artifact{}, nil, &pannier.Refusal{Code: pannier.ToolArtifactMissing, Message: "m", Hint: "h"}
	}
	return pannier.Artifact{Name: name, Bytes: int64(len(text)), Digest: pannier.DigestOf([]byte(text))}, strings.NewReader(text), nil
}

func (*toolShop) Register(string, string, func(context.Context, json.RawMessage) (pannier.ToolResult, error)) (func(), error) {
	return func() {}, nil
}

// offer replaces the tools, of which each can be called.
func (s *toolShop) offer(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = nil
	for _, name := range names {
		s.tools = append(s.tools, pannier.ListedTool{Callable: true, RuntimeTool: pannier.RuntimeTool{
			Name: name, ModelName: pannier.ModelName(name), Kind: pannier.RuntimeShell, Description: "About\x1b " + name, Parameters: json.RawMessage(`{"properties":{"x":true}}`),
		}})
	}
}

func toolNames(t *testing.T, host *sdk.ClientSession) (names []string) {
	t.Helper()
	list, err := host.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if strings.HasPrefix(tool.Name, "skill__") {
			names = append(names, tool.Name)
		}
	}
	return names
}

func TestSkillToolsListed(t *testing.T) {
	long := "skill.a." + strings.Repeat("x", 80)
	s := newToolShop(t, "skill.a.run", "skill.a.run.é", long)
	refused, proxy, text := s.tools[0], s.tools[0], s.tools[0]
	refused.Name, refused.Callable = "skill.a.refused", false
	refused.ModelName = pannier.ModelName(refused.Name)
	proxy.Name, proxy.Kind = "skill.a.proxy", pannier.RuntimeProxy
	proxy.ModelName = pannier.ModelName(proxy.Name)
	text.Name, text.Parameters = "skill.a.text", json.RawMessage(`{"type":"string"}`)
	text.ModelName = pannier.ModelName(text.Name)
	s.tools = append(s.tools, refused, proxy, text)
	client := s.serve(t)
	host := connect(t, client, stateless, nil)
	names := toolNames(t, host)
	if len(names) != 3 || names[0] != "skill__a__run" || names[1] == names[2] {
		t.Fatalf("tools %q", names)
	}
	for _, name := range names[1:] {
		if len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r > 'z' || r == '.' }) {
			t.Errorf("a host refuses the name %q", name)
		}
	}
	list, _ := host.ListTools(t.Context(), nil)
	for _, tool := range list.Tools {
		if schema, _ := json.Marshal(tool.InputSchema); tool.Name == "skill__a__run" && (tool.Description != "About skill.a.run" || string(schema) != `{"properties":{"x":{}},"type":"object"}`) {
			t.Errorf("%q %s", tool.Description, schema)
		}
	}
	s.shop.mu.Lock()
	s.caller = service.Caller{UID: 12345} // who is in the group of the socket
	s.shop.mu.Unlock()
	if names := toolNames(t, connect(t, client, withSessions, nil)); len(names) > 0 {
		t.Errorf("a host that may not call sees %q", names)
	}
}

func TestSkillToolsAreBounded(t *testing.T) {
	names := make([]string, 300)
	for i := range names {
		names[i] = fmt.Sprintf("skill.a.run-%03d", i)
	}
	s := newToolShop(t, names...)
	host := connect(t, s.serve(t), stateless, nil)
	if got := toolNames(t, host); len(got) != 256 {
		t.Errorf("%d tools", len(got))
	}
}

func TestSkillToolCalled(t *testing.T) {
	s := newToolShop(t, "skill.a.run")
	s.carry = func(_ context.Context, r pannier.ToolRequest) (pannier.ToolResult, error) {
		switch string(r.Arguments) {
		case `{"x":1}`:
			return pannier.ToolResult{Name: r.Name, OK: true, Output: `{"y":2}`, Structured: json.RawMessage(`{"y":2}`), ExitCode: new(0)}, nil
		case `{"x":2}`:
			return pannier.ToolResult{Name: r.Name, Output: "half", ExitCode: new(3), Error: &pannier.ToolError{Code: pannier.ToolFailed, Message: "exit code 3", Hint: "read it"}}, nil
		}
		return pannier.ToolResult{}, &pannier.Refusal{Code: pannier.ToolNotAllowed, Message: "not allowed", Hint: "GET /v1/tools shows more"}
	}
	client := s.serve(t)
	for _, version := range []string{withSessions, stateless} {
		host := connect(t, client, version, nil)
		for _, tt := range []struct {
			name      string
			arguments any
			isError   bool
			text      string
		}{
			{"skill__a__run", map[string]any{"x": 1}, false, `{"y":2}`},
			{"skill.a.run", map[string]any{"x": 2}, true, "runtime.failed: exit code 3: read it|half"},
			{"skill__a__run", nil, true, "runtime.not_allowed: not allowed: tell the user, who can change that, and go on without it"},
		} {
			result, err := host.CallTool(t.Context(), &sdk.CallToolParams{Name: tt.name, Arguments: tt.arguments})
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, c := range result.Content {
				texts = append(texts, c.(*sdk.TextContent).Text)
			}
			meta, _ := result.Meta["pannier/call"].(map[string]any)
			if got := strings.Join(texts, "|"); got != tt.text || result.IsError != tt.isError || (meta["error"] != nil) != tt.isError {
				t.Errorf("%s: %q, error %v, %v", version, got, result.IsError, result.Meta)
			}
		}
		if _, err := host.CallTool(t.Context(), &sdk.CallToolParams{Name: "skill__none"}); err == nil {
			t.Error("an unknown tool was called")
		}
	}
}

func TestSkillToolProgress(t *testing.T) {
	s := newToolShop(t, "skill.a.run")
	told := make(chan *sdk.ProgressNotificationParams, 10)
	s.carry = func(_ context.Context, r pannier.ToolRequest) (pannier.ToolResult, error) {
		if r.Out == nil {
			return pannier.ToolResult{OK: true, Output: "silent"}, nil
		}
		r.Out(pannier.ToolDelta{Text: "one", Bytes: 3})
		r.Out(pannier.ToolDelta{Bytes: 3})
		r.Out(pannier.ToolDelta{Bytes: 9})
		return pannier.ToolResult{OK: true, Output: strings.Repeat("x", 1<<20)}, nil
	}
	client := s.serve(t)
	host := connect(t, client, stateless, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { told <- r.Params }})
	params := &sdk.CallToolParams{Name: "skill__a__run"}
	if _, err := host.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	params.SetProgressToken("p")
	result, err := host.CallTool(t.Context(), params)
	if err != nil || len(result.Content[0].(*sdk.TextContent).Text) != 1<<20 {
		t.Fatal(result, err)
	}
	for _, want := range []sdk.ProgressNotificationParams{{Progress: 3, Message: "one"}, {Progress: 9}} {
		if got := <-told; got.Progress != want.Progress || got.Message != want.Message || got.ProgressToken != "p" {
			t.Errorf("%+v", got)
		}
	}
}

func TestSkillToolCanceled(t *testing.T) {
	s := newToolShop(t, "skill.a.run")
	begun, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	s.carry = func(ctx context.Context, _ pannier.ToolRequest) (pannier.ToolResult, error) {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return pannier.ToolResult{}, &pannier.Refusal{Code: pannier.ToolCanceled, Message: "canceled"}
	}
	client := s.serve(t)
	for _, version := range []string{withSessions, stateless} {
		host := connect(t, client, version, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; cancel() }()
		if _, err := host.CallTool(ctx, &sdk.CallToolParams{Name: "skill__a__run"}); err == nil {
			t.Errorf("%s: a canceled call has a result", version)
		}
		<-ended
	}
}

// TestSkillToolsChange without a snapshot: a scan has ended, or a runner has connected.
func TestSkillToolsChange(t *testing.T) {
	s := newToolShop(t, "skill.a.run")
	client := s.serve(t)
	changed := make(chan struct{}, 10)
	host := connect(t, client, withSessions, &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} }})
	if got := toolNames(t, host); len(got) != 1 {
		t.Fatalf("tools %q", got)
	}
	s.offer("skill.a.run", "skill.a.walk")
	<-changed
	if got := toolNames(t, host); len(got) != 2 {
		t.Errorf("tools %q", got)
	}
}

// TestArtifacts are links in the result of a call, which hosts that may call read as resources.
func TestArtifacts(t *testing.T) {
	s := newToolShop(t, "skill.a.run")
	s.carry = func(context.Context, pannier.ToolRequest) (pannier.ToolResult, error) {
		return pannier.ToolResult{OK: true, CallID: "c 1", Artifacts: []pannier.Artifact{{Name: "sub/a?b.csv", Bytes: 7, MediaType: "text/csv"}}}, nil
	}
	client := s.serve(t)
	for _, version := range []string{stateless, withSessions} {
		host := connect(t, client, version, nil)
		result, err := host.CallTool(t.Context(), &sdk.CallToolParams{Name: "skill__a__run"})
		if err != nil || len(result.Content) == 0 {
			t.Fatalf("%s: %+v, %v", version, result, err)
		}
		link, ok := result.Content[len(result.Content)-1].(*sdk.ResourceLink)
		if !ok || link.Name != "sub/a?b.csv" || link.MIMEType != "text/csv" || *link.Size != 7 {
			t.Fatalf("%s: %+v", version, result.Content)
		}
		read, err := host.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: link.URI})
		if err != nil || read.Contents[0].Text != "xxxxxxx" || read.Contents[0].URI != link.URI || read.Contents[0].MIMEType != "text/csv" {
			t.Errorf("%s: %s: %+v, %v", version, link.URI, read, err)
		}
		for uri, want := range map[string]string{
			"pannier://calls/c%201/artifacts/large": "more than", "pannier://calls/other/artifacts/a": "m", "pannier://calls/c%201": "no artifact", "pannier://calls/c%201/artifacts/../a": "dot part",
		} {
			if _, err := host.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v", version, uri, err)
			}
		}
	}
	s.shop.mu.Lock()
	s.caller = service.Caller{UID: 12345}
	s.shop.mu.Unlock()
	if _, err := connect(t, client, stateless, nil).ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "pannier://calls/c%201/artifacts/a"}); err == nil || !strings.Contains(err.Error(), "may not call") {
		t.Errorf("a host that may not call: %v", err)
	}
}
