package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
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
	texts          = object{"type": "array", "items": object{"type": "string"}}
	readOnly       = &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)}
	activateOutput = object{
		"type": "object", "required": []string{"name", "instructions", "directory", "files"},
		"properties": object{
			"name": text("The name that was asked for."), "instructions": text("The text of the skill."),
			"directory": text("The directory of the skill."), "files": texts,
			"files_truncated": object{"type": "boolean"}, "warnings": texts,
		},
	}
	findOutput = object{
		"type": "object", "required": []string{"skills"},
		"properties": object{"skills": object{"type": "array", "items": object{
			"type": "object", "required": []string{"name", "description", "relevance"}, "properties": object{
				"name": text("What activate_skill takes."), "description": object{"type": "string"},
				"relevance": object{
					"type": "object", "required": []string{"score", "matched"},
					"properties": object{"score": object{"type": "number"}, "matched": texts},
				},
			},
		}}},
	}
)

// toolsOf returns the tools by name. There are none without skills.
func toolsOf(offered []*pannier.Entry) []json.RawMessage {
	if len(offered) == 0 {
		return nil
	}
	names := make([]string, len(offered))
	for i, e := range offered {
		names[i] = e.Slug
	}
	name := text("The name of the skill.")
	name["enum"] = names
	tools := []json.RawMessage{encode(&sdk.Tool{
		Name: toolActivate, Title: "Activate a skill", Annotations: readOnly,
		Description: "Returns the instructions of a skill. Call it before you do a task that the skill is for, " +
			"and follow what it returns.",
		InputSchema: schemaOf(object{"name": name}, "name"), OutputSchema: activateOutput,
	})}
	if len(offered) >= findFrom {
		tools = append(tools, encode(&sdk.Tool{
			Name: toolFind, Title: "Find skills", Annotations: readOnly,
			Description: "Finds the skills for a task, the most relevant first. " +
				fmt.Sprintf("There are %d skills.", len(offered)),
			InputSchema:  schemaOf(object{"query": text("The task in your own words, or a name.")}, "query"),
			OutputSchema: findOutput,
		}))
	}
	return append(tools, encode(&sdk.Tool{
		Name: toolReadFile, Title: "Read a file of a skill", Annotations: readOnly,
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
					"tools/list has their schema")
			}
		}
	}
	result, err := call(ctx, v, arguments)
	if refusal, ok := asRefusal(err); ok {
		result = &callResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: textOf(refusal)}}}
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
		hint := "tools/list lists the names of all skills"
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

type activation struct {
	Name           string   `json:"name"`
	Instructions   string   `json:"instructions"`
	Directory      string   `json:"directory"`
	Files          []string `json:"files"`
	FilesTruncated bool     `json:"files_truncated,omitempty"`
	Warnings       []string `json:"warnings,omitempty"`
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
	shown, structured := prompt.Activation(content)
	return &callResult{
		Content: []sdk.Content{&sdk.TextContent{Text: shown}},
		StructuredContent: encode(activation{
			Name: e.Slug, Instructions: structured.Body, Directory: structured.Directory, Files: structured.Resources,
			FilesTruncated: structured.ResourcesTruncated, Warnings: structured.Warnings,
		}),
	}, nil
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
			MIMEType: cmp.Or(mimeTypes[strings.ToLower(path.Ext(name))], bytesType), Blob: text,
		}}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &callResult{Content: []sdk.Content{content}}, nil
}

type foundSkill struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Relevance   pannier.Relevance `json:"relevance"`
}

func (s *Server) find(_ context.Context, v *view, a toolArguments) (*callResult, error) {
	if strings.TrimSpace(a.Query) == "" {
		return nil, refuse("argument_missing", "the argument query is missing", "give words that describe the task")
	}
	found, err := s.search(v, a.Query, maxFound)
	if err != nil {
		return nil, err
	}
	result := struct {
		Skills []foundSkill `json:"skills"`
	}{Skills: []foundSkill{}}
	var shown strings.Builder
	for _, f := range found {
		result.Skills = append(result.Skills, foundSkill{f.Slug, f.Description, f.Relevance})
		shown.WriteString("- `" + f.Slug + "`: " + f.Description + "\n")
	}
	if len(found) == 0 {
		shown.WriteString("No skill matches. Other words may.")
	}
	return &callResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: shown.String()}},
		StructuredContent: encode(result),
	}, nil
}
