package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"pannier"
)

// maxNested bounds the calls of one tool of the agent that go on at a time, also those that lead to one another.
const maxNested = 8

// agentTool is a tool of the agent that a client carries out.
type agentTool struct {
	owner   string
	call    func(context.Context, json.RawMessage) (pannier.ToolResult, error)
	running int
}

// Register has calls of a tool of the agent by its owner carried out by a client, until remove is called. One client has a name at a time.
func (s *Service) Register(owner, name string, call func(context.Context, json.RawMessage) (pannier.ToolResult, error)) (remove func(), err error) {
	if name == "" || len(name) > maxCallID || pannier.NamesSkillTool(name) {
		return nil, refuse(pannier.ToolArgumentsInvalid, "the name is not one of a tool of the agent", "name one that begins with neither \"skill.\" nor \"skill__\"")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.agents[name]; taken {
		return nil, refuse(pannier.ToolBusy, fmt.Sprintf("another client has registered %q", name), "close the connection that has it")
	}
	if len(s.agents) >= pannier.MaxTurnTools {
		return nil, refuse(pannier.ToolBusy, "too many tools are registered", "close connections that are not used")
	}
	tool := &agentTool{owner: owner, call: call}
	s.agents[name] = tool
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.agents[name] == tool {
			delete(s.agents, name)
		}
	}, nil
}

// proxy hands the call to the tool of the agent that the tool stands for, or tells the client to call it.
func (c *call) proxy(ctx context.Context) (pannier.ToolResult, error) {
	var cfg config
	if err := json.Unmarshal(c.tool.Config, &cfg); err != nil || strings.TrimSpace(cfg.Target) == "" {
		return pannier.ToolResult{}, &pannier.ToolError{Code: pannier.ToolFailed, Message: "the declaration of the tool has no target_tool", Hint: "ask the author of the skill to fix it"}
	}
	arguments := c.arguments
	var nested struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(arguments, &nested); err == nil && len(nested.Arguments) > 0 && nested.Arguments[0] == '{' {
		arguments = nested.Arguments
	}
	tool, leave, err := c.s.enterAgent(c.Owner, cfg.Target)
	if err != nil {
		return pannier.ToolResult{}, err
	}
	if tool == nil {
		return pannier.ToolResult{OK: true, Proxy: &pannier.ToolProxy{Tool: cfg.Target, Arguments: arguments}}, nil
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, c.s.Timeout)
	defer cancel()
	result, err := tool.call(ctx, arguments)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return pannier.ToolResult{TimedOut: true, Error: &pannier.ToolError{Code: pannier.ToolTimedOut, Message: "the agent did not answer within " + c.s.Timeout.String(), Hint: "raise tools.timeout, or ask for less"}}, nil
	}
	return result, err
}

// enterAgent returns the tool of the agent with that name, nil where the owner has not registered it: a client neither sees the
// arguments of other clients nor answers them.
func (s *Service) enterAgent(owner, name string) (*agentTool, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tool := s.agents[name]
	if tool == nil || tool.owner != owner {
		return nil, nil, nil
	}
	if tool.running >= maxNested {
		return nil, nil, refuse(pannier.ToolBusy, fmt.Sprintf("%d calls of %q go on", maxNested, name), "retry when one has ended; a tool must not call itself")
	}
	tool.running++
	return tool, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		tool.running--
	}, nil
}
