package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// argsName is the argument of every prompt.
const argsName = "args"

// getPrompt answers with the text of a command.
func (s *Server) getPrompt(ctx context.Context, params *sdk.GetPromptParams) (sdk.Result, error) {
	v, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	for name := range params.Arguments {
		if name != argsName {
			return nil, refuse("argument_unknown", fmt.Sprintf("unknown argument %.100q", name), "the only argument is args")
		}
	}
	run, err := s.Service.RunCommand(ctx, params.Name, params.Arguments[argsName])
	if err != nil {
		return nil, err
	}
	return &promptResult{
		page:        page{ResultType: resultType(ctx)},
		Description: v.commands[run.Name].Description,
		Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: run.Text}}},
	}, nil
}

// promptResult is the result of a prompt. That of the SDK keeps the type of the result to itself.
type promptResult struct {
	page
	Description string               `json:"description,omitempty"`
	Messages    []*sdk.PromptMessage `json:"messages"`
}

// maxChoices is how many values one answer of completion may have.
const maxChoices = 100

// complete completes the last word of the arguments of a command from the choices that its usage declares, such as
// `<on|off>`.
func (s *Server) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	result := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	if req.Params.Ref.Type != "ref/prompt" {
		return result, nil
	}
	v, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	command, ok := v.commands[req.Params.Ref.Name]
	if !ok {
		return nil, refuse("prompt_not_found", fmt.Sprintf("prompt %.100q not found", req.Params.Ref.Name),
			"prompts/list lists all prompts")
	}
	if req.Params.Argument.Name != argsName {
		return nil, refuse("argument_unknown", fmt.Sprintf("unknown argument %.100q", req.Params.Argument.Name),
			"the only argument is args")
	}
	value := req.Params.Argument.Value
	done, last := "", value
	if i := strings.LastIndexByte(value, ' '); i >= 0 {
		done, last = value[:i+1], value[i+1:]
	}
	for _, choice := range choicesOf(command.Args, len(strings.Fields(done))) {
		if strings.HasPrefix(choice, last) && len(result.Completion.Values) < maxChoices {
			result.Completion.Values = append(result.Completion.Values, done+choice)
		}
	}
	result.Completion.Total = len(result.Completion.Values)
	return result, nil
}

// choicesOf returns the choices for an argument by its place in the usage; nil where there are none.
func choicesOf(usage string, place int) []string {
	words := strings.Fields(usage)
	if place >= len(words) {
		return nil
	}
	word := strings.Trim(words[place], "<>[]()")
	if !strings.Contains(word, "|") {
		return nil
	}
	var choices []string
	for choice := range strings.SplitSeq(word, "|") {
		if choice != "" {
			choices = append(choices, choice)
		}
	}
	return choices
}
