package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/publish/prompt"
	"pannier/service"
)

// The tools.
const (
	toolActivate = "activate_skill"
	toolReadFile = "read_skill_file"
	toolFind     = "find_skills"
)

// findFrom is the number of skills from which a search is offered.
const findFrom = 10

// maxFound bounds what find_skills returns.
const maxFound = 20

type object = map[string]any

func text(description string) object { return object{"type": "string", "description": description} }

func schemaOf(properties object, required ...string) object {
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

var (
	readOnly = &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)}
	// always has hosts that let a model search for tools show these from the start.
	always = sdk.Meta{"anthropic/alwaysLoad": true}
)

// toolsOf returns the tools by name. There are none without skills.
func (s *Server) toolsOf(v *view) []json.RawMessage {
	if len(v.offered) == 0 {
		return nil
	}
	names := make([]string, len(v.offered))
	for i, e := range v.offered {
		names[i] = e.Slug
	}
	name := text("The name of the skill.")
	name["enum"] = names
	tools := []json.RawMessage{encode(&sdk.Tool{
		Name: toolActivate, Title: "Activate a skill", Annotations: readOnly, Meta: always,
		Description: s.describeActivate(v), InputSchema: schemaOf(object{"name": name}, "name"),
	})}
	if len(v.offered) >= findFrom {
		tools = append(tools, encode(&sdk.Tool{
			Name: toolFind, Title: "Find skills", Annotations: readOnly, Meta: always,
			Description: fmt.Sprintf("Finds the skills for a task among all %d skills of this project, ", len(v.offered)) +
				"the most relevant first. Call " + toolActivate + " with the name of one that fits.",
			InputSchema: schemaOf(object{"query": text("The task in your own words, or a name.")}, "query"),
		}))
	}
	return append(tools, encode(&sdk.Tool{
		Name: toolReadFile, Title: "Read a file of a skill", Annotations: readOnly, Meta: always,
		Description: "Returns a file that the instructions of a skill mention.",
		InputSchema: schemaOf(object{
			"skill": text("The name of the skill."),
			"path":  text("The path of the file below the directory of the skill, such as references/forms.md."),
		}, "skill", "path"),
	}))
}

type toolArguments struct {
	Name  string `json:"name"`
	Skill string `json:"skill"`
	Path  string `json:"path"`
	Query string `json:"query"`
}

// callTool answers a call. What a model can correct is a result with an error, not an error of the protocol.
func (s *Server) callTool(ctx context.Context, req sdk.Request, params *sdk.CallToolParamsRaw) (sdk.Result, error) {
	v, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	const shortened = 64 // a model_name that is cut off may have no separator after the slug
	parts := strings.Count(strings.ReplaceAll(params.Name, "__", "."), ".")
	if s.SkillTools && s.Tools && pannier.NamesSkillTool(params.Name) &&
		(parts >= 2 || len(params.Name) == shortened) {
		// The service says which tool it is, or why it is none.
		return complete(ctx, s.callSkillTool(ctx, req, params)), nil
	}
	call := map[string]func(context.Context, *view, toolArguments) (*callResult, error){
		toolActivate: s.activate, toolReadFile: s.readToolFile, toolFind: s.find,
	}[params.Name]
	if call == nil || !s.Tools {
		return nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidParams,
			Message: fmt.Sprintf("unknown tool %.100q: tools/list lists all tools", params.Name),
		}
	}
	var arguments toolArguments
	if len(params.Arguments) > 0 {
		dec := json.NewDecoder(bytes.NewReader(params.Arguments))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&arguments); err != nil {
			call = func(context.Context, *view, toolArguments) (*callResult, error) {
				return nil, refuse("arguments_invalid", "invalid arguments: "+strings.TrimPrefix(err.Error(), "json: "),
					"give those of the schema of the tool")
			}
		}
	}
	result, err := call(ctx, v, arguments)
	if refusal, ok := asRefusal(err); ok {
		result = refusedTool(refusal)
	} else if err != nil {
		return nil, err
	}
	return complete(ctx, result), nil
}

// callResult is the result of a tool. That of the SDK keeps the type of the result to itself.
type callResult struct {
	page
	Content           []sdk.Content   `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`
}

func textResult(text string) *callResult {
	return &callResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

func complete(ctx context.Context, result *callResult) *callResult {
	result.ResultType = resultType(ctx)
	return result
}

// toolSkill returns the skill that a tool names.
func (s *Server) toolSkill(v *view, argument, name string) (*pannier.Entry, error) {
	if name == "" {
		return nil, refuse("argument_missing", "the argument "+argument+" is missing", "give the name of a skill")
	}
	e, err := service.Find(v.snapshot, name, "")
	if refusal, ok := asRefusal(err); ok {
		hint := "use one of the names of " + toolActivate
		if len(v.offered) >= findFrom {
			hint = "call " + toolFind + " with the task"
		}
		if found, err := s.search(v, name, 3); err == nil && len(found) > 0 {
			names := make([]string, len(found))
			for i, f := range found {
				names[i] = f.Slug
			}
			hint = "use one of the names of " + toolActivate + ", such as " + strings.Join(names, ", ")
		}
		return nil, refuse(refusal.Code, refusal.Message, hint)
	}
	return e, err
}

// search returns the offered skills that a text is about, the most relevant first.
func (s *Server) search(v *view, text string, limit int) ([]pannier.FoundSkill, error) {
	list, err := s.Service.FindByText(v.snapshot, pannier.FindRequest{Text: text, Limit: limit},
		func(e *pannier.Entry) bool {
			return e.Automatic() && !e.ToolsOnly
		})
	return list.Skills, err
}

func (s *Server) activate(ctx context.Context, v *view, a toolArguments) (*callResult, error) {
	e, err := s.toolSkill(v, "name", a.Name)
	if err != nil {
		return nil, err
	}
	content, err := s.Service.Activate(ctx, e.Slug)
	if err != nil {
		return nil, err
	}
	// There is no structured content: some hosts hand on both, others the structured content alone.
	return textResult(prompt.Activation(content)), nil
}

func (s *Server) readToolFile(ctx context.Context, v *view, a toolArguments) (*callResult, error) {
	if a.Path == "" {
		return nil, refuse("argument_missing", "the argument path is missing",
			"give the path of a file below the directory of the skill")
	}
	name := strings.TrimPrefix(a.Path, "./")
	var content sdk.Content
	err := s.fresh(ctx, func(now *view) error {
		e, err := s.toolSkill(now, "skill", a.Skill)
		if err != nil {
			return err
		}
		text, err := s.readFile(ctx, e, name, maxToolBytes, service.Model)
		if err != nil {
			return err
		}
		if utf8.Valid(text) {
			content = &sdk.TextContent{Text: string(text)}
			return nil
		}
		content = &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{
			URI:      fileURI(e, name),
			MIMEType: cmp.Or(pannier.MediaType(name), bytesType), Blob: text,
		}}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &callResult{Content: []sdk.Content{content}}, nil
}

func (s *Server) find(_ context.Context, v *view, a toolArguments) (*callResult, error) {
	if strings.TrimSpace(a.Query) == "" {
		return nil, refuse("argument_missing", "the argument query is missing", "give words that describe the task")
	}
	found, err := s.search(v, a.Query, maxFound)
	if err != nil {
		return nil, err
	}
	var shown strings.Builder
	for _, f := range found {
		shown.WriteString("- `" + f.Slug + "`: " + f.Description + "\n")
	}
	if len(found) == 0 {
		shown.WriteString("No skill matches. Other words may.")
	}
	return textResult(shown.String()), nil
}
