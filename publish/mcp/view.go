package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
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
		v.tools = s.toolsOf(v)
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

// The instructions, with tools and without. Hosts read them once, so that they have nothing that changes; without tools
// nothing else lists the skills to a model.
const (
	instructionsHead  = "This server provides the skills of a project: instructions and files for particular tasks. "
	instructionsTools = instructionsHead + "The description of the tool " + toolActivate + " lists them, and changes with " +
		"them. Look there before you start a task: if a skill is for it, call " + toolActivate + " with its name and follow " +
		"the instructions that it returns; " + toolReadFile + " returns the files that they mention."
	instructionsEmpty = instructionsHead + "It has tools for them as soon as there is a skill."
	lookResources     = "Look here first: before you start a task, read the resource skill://NAME/SKILL.md of the skill that is " +
		"for it, and follow its instructions.\n"
)

// heading begins the line that names the skills.
const heading = "Skills of this project: "

func (s *Server) writeInstructions(v *view) string {
	switch {
	case !s.Tools:
		head := instructionsHead + "\n\n"
		catalog := prompt.Catalog(v.snapshot, v.offered, instructionsMaxBytes-len(head), heading, lookResources)
		return strings.TrimSpace(head + cmp.Or(catalog, lookResources))
	case len(v.offered) == 0:
		return instructionsEmpty
	}
	return instructionsTools
}

// instructionsMaxBytes bounds the instructions.
const instructionsMaxBytes = 4000

// The description of the tool that returns skills, without their names. A model reads it before it has chosen anything, so
// that it says when to look, and hosts that show its beginning alone show names.
const (
	lookTools = "Look here first: before any task, check these skills. If one fits, you MUST call this tool with its name before " +
		"you do anything else, and follow the instructions that it returns.\n"
	lookFind = "There are %d skills, and not all are described here: if none fits, call " + toolFind + " with the task.\n"
)

// describeActivate returns the description of the tool that returns skills: the catalog.
func (s *Server) describeActivate(v *view) string {
	more := lookTools
	if len(v.offered) >= findFrom {
		more += fmt.Sprintf(lookFind, len(v.offered))
	}
	return strings.TrimSpace(cmp.Or(prompt.Catalog(v.snapshot, v.offered, s.CatalogMaxBytes, heading, more), more))
}
