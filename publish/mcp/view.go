package mcp

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/publish/prompt"
)

// view is what hosts see of one snapshot. It is never changed.
type view struct {
	snapshot *pannier.Snapshot
	// served are the usable skills of the extension, by slug; offered those that the model may choose by itself.
	served, offered []*pannier.Entry
	promptNames     []string                        // sorted
	commands        map[string]pannier.SkillCommand // by name
	tools           []json.RawMessage
	instructions    func() string

	lists announcements
}

func (s *Server) newView(snapshot *pannier.Snapshot) *view {
	v := &view{snapshot: snapshot, commands: map[string]pannier.SkillCommand{}}
	resources := &strings.Builder{}
	for _, e := range snapshot.Entries {
		if !e.Usable || e.ToolsOnly {
			continue
		}
		if e.Automatic() {
			v.offered = append(v.offered, e)
		}
		if nameFault(e) == "" {
			v.served = append(v.served, e)
			digest := e.Digest
			resources.WriteString(e.Slug + "\x00" + e.Name + "\x00" + e.Description + "\x00")
			resources.Write(digest[:])
		}
	}
	v.lists.resources = pannier.DigestOf([]byte(resources.String()))
	for _, c := range s.Commands(snapshot) {
		v.commands[c.Name] = c
	}
	v.promptNames = slices.Sorted(maps.Keys(v.commands))
	prompts := make([]json.RawMessage, len(v.promptNames))
	for i, name := range v.promptNames {
		prompts[i] = encodePrompt(v.commands[name])
	}
	v.lists.prompts = digestOf(prompts)
	if s.Tools {
		v.tools = toolsOf(v.offered)
	}
	v.lists.tools = digestOf(v.tools)
	v.instructions = sync.OnceValue(func() string { return s.writeInstructions(v) })
	return v
}

func digestOf(items []json.RawMessage) pannier.Digest {
	var all []byte
	for _, item := range items {
		all = append(append(all, item...), '\n')
	}
	return pannier.DigestOf(all)
}

// maxName is the longest name of the Agent Skills specification.
const maxName = 64

// nameFault says why a usable skill is not part of the extension; empty for those that are.
func nameFault(e *pannier.Entry) string {
	switch {
	case e.ToolsOnly:
		return "it has tools and no instructions"
	case e.Description == "":
		return "it has no description"
	case len(e.Name) > maxName:
		return "its name is longer than 64 characters"
	case e.Name == "" || strings.Trim(e.Name, "-") != e.Name || strings.Contains(e.Name, "--") || strings.ContainsFunc(e.Name, func(r rune) bool {
		return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}):
		return "its name is not made of lower-case ASCII letters, digits and single hyphens"
	}
	return ""
}

// Unnamed returns the usable skills of a snapshot that are not part of the extension because of their names, by slug.
func Unnamed(snapshot *pannier.Snapshot) (slugs []string) {
	for _, e := range snapshot.Entries {
		if e.Usable && !e.ToolsOnly && e.Description != "" && nameFault(e) != "" {
			slugs = append(slugs, e.Slug)
		}
	}
	return slugs
}

func encodePrompt(c pannier.SkillCommand) json.RawMessage {
	about := "what the skill is to work on"
	if c.Args != "" {
		about = c.Args
	}
	return encode(&sdk.Prompt{
		Name: c.Name, Title: cmp.Or(c.Command, c.Slug), Description: pannier.CleanLine(c.Description),
		Arguments: []*sdk.PromptArgument{{Name: argsName, Description: pannier.CleanLine(about)}},
	})
}

// encode encodes a value that is made of texts and numbers.
func encode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// The beginning of the instructions, with tools and without.
const (
	useTools     = "This server provides the skills of a workspace: instructions and files for particular tasks. Before you do a task that one of them is for, call activate_skill with its name and follow the instructions that it returns; read_skill_file returns the files that they mention.\n"
	useResources = "This server provides the skills of a workspace: instructions and files for particular tasks. Before you do a task that one of them is for, read the resource skill://NAME/SKILL.md and follow its instructions.\n"
)

func (s *Server) writeInstructions(v *view) string {
	head := useResources
	if s.Tools {
		head = useTools
	}
	room := s.InstructionsMaxChars - len(head)
	if room <= 0 || len(v.offered) == 0 {
		return strings.TrimSpace(head)
	}
	return strings.TrimSpace(head + "\n" + prompt.Catalog(v.offered, room))
}
