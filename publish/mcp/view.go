package mcp

import (
	"bytes"
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
	// served are the usable skills of the extension with a text on disk, by slug; offered those that the model may choose
	// by itself.
	served, offered []*pannier.Entry
	prompts         []*sdk.Prompt                   // by name
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
		if nameFault(e) == "" && !e.LastGood && !e.Deleting {
			v.served = append(v.served, e)
			digest := e.Digest
			resources.WriteString(e.Slug + "\x00" + e.Name + "\x00" + e.Description + "\x00")
			resources.Write(digest[:])
		}
	}
	v.lists.resources = pannier.DigestOf([]byte(resources.String()))
	for _, c := range s.Service.Commands.List(snapshot) {
		v.commands[c.Name] = c
	}
	for _, name := range slices.Sorted(maps.Keys(v.commands)) {
		c := v.commands[name]
		v.prompts = append(v.prompts, &sdk.Prompt{
			Name: c.Name, Title: cmp.Or(c.Command, c.Slug), Description: pannier.CleanLine(c.Description),
			Arguments: []*sdk.PromptArgument{{
				Name: argsName, Description: pannier.CleanLine(cmp.Or(c.Args, "what the skill is to work on")),
			}},
		})
	}
	v.lists.prompts = pannier.DigestOf(encode(v.prompts))
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

// nameFault says why a usable skill is not part of the extension; empty for those that are.
func nameFault(e *pannier.Entry) string {
	switch {
	case e.ToolsOnly:
		return "it has tools and no instructions"
	case e.Description == "":
		return "it has no description"
	case !pannier.IsMCPName(e.Name):
		return "its name is not made of lower-case ASCII letters, digits and single hyphens, 64 at most"
	}
	return ""
}

// encode encodes a value that is made of texts and numbers.
func encode(value any) json.RawMessage {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// The beginning of the instructions, with tools and without.
const (
	useTools = "This server provides the skills of a workspace: instructions and files for particular tasks. " +
		"Before you do a task that one of them is for, call activate_skill with its name and follow the instructions " +
		"that it returns; read_skill_file returns the files that they mention.\n"
	useResources = "This server provides the skills of a workspace: instructions and files for particular tasks. " +
		"Before you do a task that one of them is for, read the resource skill://NAME/SKILL.md and follow its " +
		"instructions.\n"
)

func (s *Server) writeInstructions(v *view) string {
	head := useResources
	if s.Tools {
		head = useTools
	}
	room := s.InstructionsMaxChars - len(head) - len("\n")
	if room <= 0 || len(v.offered) == 0 {
		return strings.TrimSpace(head)
	}
	more := "Not all are described in full here: read skill://NAME/SKILL.md to see more.\n"
	if s.Tools && len(v.offered) >= findFrom {
		more = "Not all are described in full here: find the one for a task with find_skills.\n"
	} else if s.Tools {
		more = "Not all are described in full here: activate_skill returns all of one.\n"
	}
	return strings.TrimSpace(head + "\n" + prompt.Catalog(v.snapshot, v.offered, room, more))
}
