package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
)

// verdict is what a surface says of a question: the code and the message of a refusal, both empty if it answers. A surface that has
// no codes, as the command line, has only the message.
type verdict struct{ code, message string }

// agrees reports whether two surfaces say the same.
func (v verdict) agrees(other verdict) bool {
	return (v.code == other.code || v.code == "" || other.code == "") && v.message == other.message
}

// surfaces ask one sidecar in each way that a client has, over its socket or with a token.
type surfaces struct {
	*sidecarUnderTest
	web    *http.Client
	base   string   // address of HTTP
	flags  []string // of the command line
	host   *mcpHost
	seen   int             // events
	audits int             // entries of the audit log
	said   strings.Builder // every answer as it came
}

// onSocket returns the surfaces of a client of the socket.
func (s *sidecarUnderTest) onSocket(t *testing.T) *surfaces {
	t.Helper()
	return &surfaces{sidecarUnderTest: s, web: &s.HTTP, base: "http://pannier", flags: []string{"--socket", s.socket}, host: s.connectMCP(t, eras["stateless"])}
}

// withToken returns the surfaces of a client with a token that a file has.
func (s *sidecarUnderTest) withToken(t *testing.T, token, file string) *surfaces {
	t.Helper()
	web, base := &http.Client{Transport: bearer(token)}, "http://"+s.apiAddress(t)
	host := connectMCP(t, eras["stateless"], &mcp.StreamableClientTransport{Endpoint: base + "/mcp", HTTPClient: web})
	return &surfaces{sidecarUnderTest: s, web: web, base: base, flags: []string{"--url", base, "--token-file", file}, host: host}
}

// since returns the events about contents and calls since the last call, as texts.
func (s *surfaces) since(t *testing.T) (events []string) {
	t.Helper()
	all := s.all(t)
	for _, e := range all[s.seen:] {
		data := must(json.Marshal(e.Data))(t)
		var d struct{ Mode, Code string }
		_ = json.Unmarshal(data, &d)
		switch e.Type {
		case pannier.EventSkillLoaded, pannier.EventSkillFileRead, pannier.EventSkillInvoked, pannier.EventSkillToolCalled:
			events = append(events, strings.TrimSpace(string(e.Type)+" "+d.Mode+d.Code))
		}
	}
	s.seen = len(all)
	return events
}

// send sends a request of HTTP.
func (s *surfaces) send(t *testing.T, method, path, accept, body string) (status int, text []byte) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), method, s.base+"/v1/"+path, strings.NewReader(body)))(t)
	req.Header.Set("Accept", accept)
	res, err := s.web.Do(req)
	need(t, err)
	defer res.Body.Close()
	if text, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	s.said.Write(text)
	return res.StatusCode, text
}

func (s *surfaces) http(t *testing.T, method, path, body string) verdict {
	t.Helper()
	status, text := s.send(t, method, path, "*/*", body)
	if status == http.StatusOK {
		return verdict{}
	}
	var problem pannier.ErrorDocument
	if err := json.Unmarshal(text, &problem); err != nil || problem.Hint == "" {
		t.Errorf("%s %s: %d %.300s", method, path, status, text)
	}
	return verdict{problem.Code, problem.Detail}
}

// rpc calls a method. The result of a tool can be an error too.
func (s *surfaces) rpc(t *testing.T, method string, params any) verdict {
	t.Helper()
	call := must(json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))(t)
	var answer struct {
		Result struct{ Error *pannier.ToolError }
		Error  *struct {
			Data struct {
				Details struct{ Error, Hint, Code string }
			}
		}
	}
	if status, text := s.send(t, "POST", "rpc", "application/json", string(call)); status != http.StatusOK || json.Unmarshal(text, &answer) != nil {
		t.Fatalf("%s: %d %.300s", method, status, text)
	}
	if answer.Error == nil {
		return failureOf(answer.Result.Error)
	}
	d := answer.Error.Data.Details
	if d.Hint == "" {
		t.Errorf("%s has no hint: %+v", method, d)
	}
	return verdict{d.Code, d.Error}
}

// failureOf returns the verdict of the error of a result; nil is none.
func failureOf(e *pannier.ToolError) verdict {
	if e == nil {
		return verdict{}
	}
	return verdict{e.Code, e.Message}
}

// refusalOf returns the verdict of an error of MCP.
func refusalOf(t *testing.T, what string, err error) verdict {
	t.Helper()
	if err == nil {
		return verdict{}
	}
	var fault *jsonrpc.Error
	var data struct{ Code, Detail, Hint string }
	if !errors.As(err, &fault) || json.Unmarshal(fault.Data, &data) != nil || data.Hint == "" {
		t.Errorf("%s: %v", what, err)
	}
	return verdict{data.Code, data.Detail}
}

// resource reads a resource of MCP.
func (s *surfaces) resource(t *testing.T, uri string) verdict {
	t.Helper()
	result, err := s.host.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	s.record(t, result)
	return refusalOf(t, uri, err)
}

// prompt gets a prompt of MCP.
func (s *surfaces) prompt(t *testing.T, name string) verdict {
	t.Helper()
	result, err := s.host.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name})
	s.record(t, result)
	return refusalOf(t, name, err)
}

func (s *surfaces) record(t *testing.T, result any) {
	t.Helper()
	text := must(json.Marshal(result))(t)
	s.said.Write(text)
}

// tool calls a tool of MCP. Its errors are one text: the message, a colon and the hint, with the code in front for tools of skills.
func (s *surfaces) tool(t *testing.T, name string, arguments any, expect verdict) verdict {
	t.Helper()
	result, err := s.host.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	s.record(t, result)
	if err != nil {
		return refusalOf(t, name, err)
	}
	if !result.IsError {
		return verdict{}
	}
	text := result.Content[0].(*mcp.TextContent).Text
	for _, prefix := range []string{expect.message + ": ", expect.code + ": " + expect.message + ": "} {
		if expect.message != "" && strings.HasPrefix(text, prefix) {
			return expect
		}
	}
	return verdict{"", text}
}

func (s *surfaces) command(t *testing.T, args ...string) verdict {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append(args, s.flags...)...)
	cmd.Env = cleanEnviron()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	s.said.WriteString(stdout.String() + stderr.String())
	if err == nil {
		return verdict{}
	}
	message, hint, found := strings.Cut(strings.TrimSpace(stderr.String()), "\nhint: ")
	if !found || hint == "" {
		t.Errorf("%q has no hint: %s", args, &stderr)
	}
	return verdict{"", strings.TrimPrefix(message, "pannier: ")}
}

// read asks for a file of a skill in every way, and returns what each says by its name.
func (s *surfaces) read(t *testing.T, slug, file string, expect verdict) map[string]verdict {
	t.Helper()
	return map[string]verdict{
		"GET files":       s.http(t, "GET", "skills/"+slug+"/files/"+file, ""),
		"resources/read":  s.resource(t, "skill://"+slug+"/"+file),
		"read_skill_file": s.tool(t, "read_skill_file", map[string]any{"skill": slug, "path": file}, expect),
	}
}

// instructions asks for the instructions of a skill in the ways that read no file.
func (s *surfaces) instructions(t *testing.T, slug string) map[string]verdict {
	t.Helper()
	return map[string]verdict{
		"GET content": s.http(t, "GET", "skills/"+slug+"/content", ""),
		"skills/read": s.rpc(t, "skills/read", map[string]any{"slug": slug}),
	}
}

// invoke has a person invoke a skill in every way.
func (s *surfaces) invoke(t *testing.T, slug string) map[string]verdict {
	t.Helper()
	return map[string]verdict{
		"POST commands":       s.http(t, "POST", "commands/"+url.PathEscape(slug), "{}"),
		"prompts/get":         s.prompt(t, slug),
		"pannier command run": s.command(t, "command", "run", slug),
	}
}
