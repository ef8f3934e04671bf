package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/creachadair/jrpc2"

	"pannier"
	"pannier/internal/testbench/fixture"
	"pannier/tools"
)

// proxyTools has a function_proxy for the tool read_file of the agent.
func proxyTools(timeout time.Duration) *tools.Service {
	skill := &pannier.Skill{Slug: "a", Path: "skills/a", File: "SKILL.md", TrustLevel: pannier.TrustVerified}
	entry := &pannier.Entry{Skill: skill, State: pannier.StateEligible, Usable: true}
	snapshot := &pannier.Snapshot{Version: 1, Entries: []*pannier.Entry{entry}}
	tool := pannier.RuntimeTool{
		Name: "skill.a.read", Kind: pannier.RuntimeProxy, Skill: "a", ExecutionClass: "shared", Parameters: json.RawMessage(`{"type":"object"}`),
		Config: json.RawMessage(`{"target_tool":"read_file"}`), OutputPolicy: pannier.OutputPolicy{LLM: pannier.OutputPart{Mode: "full"}},
	}
	return tools.New(tools.Options{
		Snapshot: func() *pannier.Snapshot { return snapshot },
		Plan: func(*pannier.Snapshot) ([]pannier.RuntimeTool, []pannier.ExcludedTool) {
			return []pannier.RuntimeTool{tool}, nil
		},
		Contents: tools.Contents{
			Read: func(context.Context, *pannier.Skill) (tools.Files, error) {
				return tools.Files{Fingerprint: pannier.DigestOf(nil), Manifest: []pannier.ToolFile{{Path: "SKILL.md"}}}, nil
			},
			Known: func(*pannier.Skill) tools.Files { return tools.Files{} },
			Scanned: func(*pannier.Skill, pannier.Digest) *pannier.ScanSummary {
				return &pannier.ScanSummary{Decision: pannier.ScanAllow}
			},
		},
		Audit: unaudited{}, Enabled: true, MaxCalls: 64, Limits: tools.Limits{Timeout: timeout, Bounds: pannier.ToolBounds{OutputBytes: 1 << 16}},
	})
}

type unaudited struct{}

func (unaudited) Append(e pannier.AuditEntry) (pannier.AuditEntry, error) { return e, nil }

// agentConn is a WebSocket of another author's client that carries out read_file, and calls tools.
type agentConn struct {
	*jrpc2.Client
	t   *testing.T
	ctx context.Context
}

func newAgentConn(t *testing.T, path string, invoked func(context.Context, *jrpc2.Request) (any, error)) agentConn {
	t.Helper()
	conn, _, err := dialRPC(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	client := jrpc2.NewClient(frames{ctx, conn}, &jrpc2.ClientOptions{OnCallback: invoked})
	t.Cleanup(func() {
		client.Close()
		cancel()
	})
	return agentConn{client, t, ctx}
}

func (a agentConn) register(name string) error {
	a.t.Helper()
	var answer struct{ Registered bool }
	err := a.CallResult(a.ctx, "skills/tools/register", map[string]string{"name": name}, &answer)
	if err == nil && !answer.Registered {
		a.t.Errorf("%s is not registered", name)
	}
	return err
}

func (a agentConn) callTool(arguments string) (r pannier.ToolResult, err error) {
	err = a.CallResult(a.ctx, "skills/tools/call", map[string]any{"name": "skill.a.read", "arguments": json.RawMessage(arguments)}, &r)
	return r, err
}

func servedTools(t *testing.T, timeout time.Duration) string {
	t.Helper()
	c, s := newCallable(catalog()), proxyTools(timeout)
	c.content.Tools = s
	path, _ := serve(t, c.handler())
	return path
}

// TestRegisteredTool is carried out over the WebSocket that registered it, also for another connection of the same user, and no
// longer once that has ended.
func TestRegisteredTool(t *testing.T) {
	path := servedTools(t, deadline)
	agent := newAgentConn(t, path, func(_ context.Context, r *jrpc2.Request) (any, error) {
		switch text := r.Method() + " " + r.ParamString(); {
		case strings.Contains(text, "fail"):
			return map[string]any{"output": "no such file", "ok": false}, nil
		case strings.Contains(text, "error"):
			return nil, errors.New("it is broken")
		case strings.Contains(text, "odd"):
			return 5, nil
		default:
			return map[string]string{"output": text}, nil
		}
	})
	other := newAgentConn(t, path, nil)
	if result, err := other.callTool(`{"path":"a"}`); err != nil || result.Proxy == nil || result.Proxy.Tool != "read_file" {
		t.Errorf("before it is registered: %+v, %v", result, err)
	}
	if err := agent.register("skill.a.read"); err == nil {
		t.Error("a tool of a skill is registered as one of the agent")
	}
	if err := agent.register("read_file"); err != nil {
		t.Fatal(err)
	}
	if err := other.register("read_file"); err == nil || !strings.Contains(err.Error(), "another client") {
		t.Errorf("a second client: %v", err)
	}
	for name, caller := range map[string]agentConn{"itself": agent, "another connection": other} {
		result, err := caller.callTool(`{"path":"a"}`)
		if want := `skills/tools/invoke {"name":"read_file","arguments":{"path":"a"}}`; err != nil || !result.OK || result.Proxy != nil || result.Output != want {
			t.Errorf("called by %s: %+v, %v", name, result, err)
		}
	}
	for arguments, want := range map[string]string{`{"path":"fail"}`: "the tool of the agent failed", `{"path":"error"}`: "it is broken", `{"path":"odd"}`: "something else"} {
		if result, err := other.callTool(arguments); err != nil || result.OK || result.Error == nil || !strings.Contains(result.Error.Message, want) {
			t.Errorf("%s: %+v, %v", arguments, result, err)
		}
	}
	agent.Close()
	fixture.Eventually(t, "the registration has ended", func() error {
		result, err := other.callTool(`{}`)
		if err == nil && result.Proxy == nil {
			err = fmt.Errorf("%+v", result)
		}
		return err
	})
}

// TestRegisteredToolIsSilent: a call that the agent does not answer ends by its timeout or with the connection, and a cycle at its
// bound. By POST nothing is registered.
func TestRegisteredToolIsSilent(t *testing.T) {
	t.Run("it never answers", func(t *testing.T) {
		path := servedTools(t, 50*time.Millisecond)
		agent := newAgentConn(t, path, func(ctx context.Context, _ *jrpc2.Request) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if err := agent.register("read_file"); err != nil {
			t.Fatal(err)
		}
		if result, err := agent.callTool(`{}`); err != nil || !result.TimedOut || result.Error == nil || result.Error.Code != pannier.ToolTimedOut {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("it leaves", func(t *testing.T) {
		path := servedTools(t, deadline)
		conn, _, err := dialRPC(t, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		if err := conn.Write(ctx, websocket.MessageText, []byte(rpcRequest("1", "skills/tools/register", `{"name":"read_file"}`))); err != nil {
			t.Fatal(err)
		}
		schemas := newMethodSchemas(t)
		_, answer, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		schemas.exchange(t, rpcRequest("1", "skills/tools/register", `{"name":"read_file"}`), string(answer))
		other, ended := newAgentConn(t, path, nil), make(chan pannier.ToolResult, 1)
		go func() {
			result, _ := other.callTool(`{}`)
			ended <- result
		}()
		_, asked, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		schemas.check(t, "skills/tools/invoke.params.json", schemas.read(t, string(asked))["params"])
		conn.CloseNow()
		if result := <-ended; result.Error == nil || result.Error.Code != pannier.ToolRunnerGone {
			t.Errorf("%+v", result)
		}
	})
	t.Run("it calls itself", func(t *testing.T) {
		path := servedTools(t, deadline)
		agent := newAgentConn(t, path, func(context.Context, *jrpc2.Request) (any, error) {
			inner := newAgentConn(t, path, nil)
			result, err := inner.callTool(`{}`)
			if err == nil && result.Error != nil {
				err = errors.New(result.Error.Code + ": " + result.Error.Message)
			}
			return map[string]string{"output": result.Output}, err
		})
		if err := agent.register("read_file"); err != nil {
			t.Fatal(err)
		}
		if result, err := agent.callTool(`{}`); err != nil || result.OK || result.Error == nil || !strings.Contains(result.Error.Message, pannier.ToolBusy) {
			t.Errorf("%+v, %v", result, err)
		}
	})
	c := newCallable(catalog())
	c.content.Tools = toldTools
	if got := post(t, c.handler(), rpcRequest("1", "skills/tools/register", `{"name":"read_file"}`)); !strings.Contains(got, "a tool belongs to a WebSocket") {
		t.Errorf("by POST: %s", got)
	}
}
