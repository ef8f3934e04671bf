package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/service"
)

// The bounds of what tools/list has of skills. What is beyond them is left out, and can be called by its name.
const (
	maxSkillTools      = 256
	maxSkillToolsBytes = 2 << 20
	maxToolText        = 1024 // bytes of a description
)

// skillTools returns the tools of skills that can be called now. Those that stand for a tool of the agent are not among
// them: a host has that tool itself.
func (s *Server) skillTools(snapshot *pannier.Snapshot) []json.RawMessage {
	if !s.SkillTools || !s.Tools {
		return nil
	}
	var tools []json.RawMessage
	taken, size := map[string]bool{}, 0
	for _, t := range s.Service.Tools.List(snapshot).Tools {
		name := t.ModelName
		schema := hostSchema(t.Parameters)
		if !t.Callable || t.Kind == pannier.RuntimeProxy || taken[name] || schema == nil {
			continue
		}
		tool := encode(&sdk.Tool{
			Name: name, Description: pannier.Truncate(pannier.CleanLine(t.Description), maxToolText),
			InputSchema: schema,
		})
		if size += len(tool); len(tools) == maxSkillTools || size > maxSkillToolsBytes {
			break
		}
		taken[name] = true
		tools = append(tools, tool)
	}
	return tools
}

// hostSchema returns the schema of arguments as all hosts read it: of the type object, and with objects as properties.
// It is nil for one that no object fits.
func hostSchema(parameters json.RawMessage) json.RawMessage {
	schema := map[string]json.RawMessage{}
	if len(parameters) > 0 && (json.Unmarshal(parameters, &schema) != nil || schema == nil) {
		return nil
	}
	if kind, ok := schema["type"]; ok && string(bytes.TrimSpace(kind)) != `"object"` {
		return nil
	}
	schema["type"] = json.RawMessage(`"object"`)
	properties := map[string]json.RawMessage{}
	if text, ok := schema["properties"]; ok && json.Unmarshal(text, &properties) == nil {
		for name, property := range properties {
			switch string(bytes.TrimSpace(property)) {
			case "true":
				properties[name] = json.RawMessage("{}")
			case "false":
				properties[name] = json.RawMessage(`{"not":{}}`)
			}
		}
		schema["properties"] = encode(properties)
	}
	return encode(schema)
}

// callerContext is the context of a call with the values of its request, which tell who asks.
type callerContext struct {
	context.Context
	ofRequest func(key any) any
}

// Value implements [context.Context].
func (c callerContext) Value(key any) any {
	if value := c.ofRequest(key); value != nil {
		return value
	}
	return c.Context.Value(key)
}

// withCaller returns a context that says who asks. Without HTTP it is the same.
func withCaller(ctx context.Context) context.Context {
	if a, ok := ctx.Value(answerKey{}).(*answer); ok && a.value != nil {
		return callerContext{ctx, a.value}
	}
	return ctx
}

// callMeta is where a result has what hosts do not show.
const callMeta = "pannier/call"

// callSkillTool calls a tool of a skill with the rights of the host. A refusal is a result with an error.
func (s *Server) callSkillTool(
	ctx context.Context, req sdk.Request, params *sdk.CallToolParamsRaw,
) *callResult {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	asked := pannier.ToolRequest{Name: params.Name, ToolCall: pannier.ToolCall{Arguments: params.Arguments}}
	if ss, ok := req.GetSession().(*sdk.ServerSession); ok {
		asked.Session = ss.ID()
		asked.Out = s.progress(ctx, ss, params.GetProgressToken())
	}
	var result pannier.ToolResult
	client := withCaller(ctx)
	err := s.Service.Require(client, service.Request{Name: "tools/call of MCP"}, service.ScopeCall)
	if err == nil {
		result, err = s.Service.CallTool(client, asked)
	}
	if err != nil {
		result = pannier.ToolResult{
			Name:  params.Name,
			Error: &pannier.ToolError{Code: "not_audited", Message: err.Error(), Hint: "see the log of the sidecar"},
		}
		if refusal, ok := asRefusal(err); ok {
			result.Error = &pannier.ToolError{Code: refusal.Code, Message: refusal.Message, Hint: refusal.Hint}
		} else if !errors.Is(err, pannier.ErrNotAudited) {
			result.Error.Code = pannier.ToolFailed
		}
	}
	return shownResult(result)
}

// shownResult returns a result as hosts get it: the output as text, an error in front of it, and all else beside it.
func shownResult(result pannier.ToolResult) *callResult {
	shown := &callResult{IsError: !result.OK, Content: []sdk.Content{}}
	if e := result.Error; e != nil {
		shown.Content = append(shown.Content, &sdk.TextContent{Text: e.Code + ": " + textOf(e.Message, hintWithoutCommands(e.Hint))})
	}
	if result.Output != "" || len(shown.Content) == 0 {
		shown.Content = append(shown.Content, &sdk.TextContent{Text: result.Output})
	}
	for _, a := range result.Artifacts {
		shown.Content = append(shown.Content, &sdk.ResourceLink{URI: artifactURI(result.CallID, a.Name), Name: a.Name, MIMEType: a.MediaType, Size: &a.Bytes})
	}
	if bytes.HasPrefix(result.Structured, []byte("{")) {
		shown.StructuredContent = result.Structured
	}
	result.Output, result.Structured = "", nil
	shown.Meta = sdk.Meta{callMeta: result}
	return shown
}

// progress returns what tells a host of output as it is written; nil unless the host asked for it.
func (s *Server) progress(ctx context.Context, ss *sdk.ServerSession, token any) func(pannier.ToolDelta) {
	if token == nil {
		return nil
	}
	var last float64
	return func(d pannier.ToolDelta) {
		now := float64(d.Bytes)
		if now <= last {
			return
		}
		last = now
		told := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: now, Message: d.Text}
		if err := ss.NotifyProgress(ctx, told); err != nil {
			s.Logger.Debug("host not told of progress", "error", err)
		}
	}
}

// wantsProgress reports whether a request is a call of a tool whose output the host wants as it is written.
func (s *Server) wantsProgress(body []byte) bool {
	if !s.SkillTools || !bytes.Contains(body, []byte("progressToken")) {
		return false
	}
	var call struct {
		Method string `json:"method"`
		Params struct {
			Meta struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		} `json:"params"`
	}
	return json.Unmarshal(body, &call) == nil && call.Method == "tools/call" && len(call.Params.Meta.Token) > 0
}
