package config

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
)

const keyPrompts = "prompt_files"

// maxPromptFiles bounds the list: far more than anybody keeps apart.
const maxPromptFiles = 64

// maxPromptDepth bounds the directories on the way to a file: each is watched, whether it is there or not.
const maxPromptDepth = 32

// listedPrompt is a file that the agent's system prompt is made of.
type listedPrompt struct {
	path         string // below the workspace, clean, with slashes
	field        string // where config.yaml lists it; empty where it does not
	line, column int
}

// defaultPrompts are read where config.yaml lists nothing, as by the agent's own loader.
func defaultPrompts() []listedPrompt { return []listedPrompt{{path: pannier.DefaultPromptFile}} }

// withMemory adds the files that the agent keeps for itself and reads whether they are listed or not.
func withMemory(listed []listedPrompt) []listedPrompt {
	all := slices.Clip(listed)
	for _, name := range []string{pannier.MemoryFile, pannier.UserFile} {
		if !lists(listed, name) {
			all = append(all, listedPrompt{path: name})
		}
	}
	return all
}

func lists(listed []listedPrompt, path string) bool {
	return slices.ContainsFunc(listed, func(p listedPrompt) bool { return p.path == path })
}

// promptFiles reads the list of prompt files. An empty one is none.
func (p *workspaceParser) promptFiles(v yamldoc.Value) {
	written := 0
	switch v.Kind() {
	case yamldoc.List:
		for item := range v.Items() {
			field := fmt.Sprintf("%s[%d]", keyPrompts, written)
			if entry, ok := item.Text(); ok {
				p.addPrompt(field, item, entry)
			} else {
				p.warn(
					codePromptEntry, field, item, "this is "+item.Kind().String()+", not the name of a file; it is left out",
					"write the path of a file below the workspace",
				)
			}
			written++
		}
	case yamldoc.Text:
		text, _ := v.Text()
		if text == "" {
			break
		}
		p.warn(
			codePromptShape, keyPrompts, v, "this is a text, not a list: it is read as one",
			"write each file on a line that begins with a dash",
		)
		entries := inBrackets(text)
		for _, entry := range entries[:min(len(entries), yamldoc.MaxNodes)] {
			p.addPrompt(keyPrompts, v, entry)
		}
		written = len(entries)
	case yamldoc.Map:
		p.warn(codePromptShape, keyPrompts, v, "this is a mapping, not a list: its default counts", "write each file on a line that begins with a dash")
	}
	if written == 0 {
		p.prompts = defaultPrompts()
	}
}

// addPrompt takes an entry unless it is there already, or leads out of the workspace.
func (p *workspaceParser) addPrompt(field string, v yamldoc.Value, entry string) {
	name := path.Clean(entry)
	switch {
	case entry == "":
		p.warn(codePromptEntry, field, v, "this is empty; it is left out", "write the path of a file below the workspace")
	case !filepath.IsLocal(entry) || name == ".":
		p.warn(codePromptPrefix+refusedOutside, field, v, shown(entry)+" is not a path below the workspace; it is left out", "copy the file into the workspace and write its path from there")
	case lists(p.prompts, name):
		p.warn(codePromptRepeated, field, v, shown(name)+" stands here again; the first counts", "remove one of the two")
	case strings.Count(name, "/") > maxPromptDepth:
		p.warn(codePromptPrefix+"too_deep", field, v, fmt.Sprintf("%s lies more than %d directories below the workspace; it is left out", shown(name), maxPromptDepth), "move it up")
	case len(p.prompts) == maxPromptFiles:
		p.warn(codePromptTooMany, field, v, fmt.Sprintf("%s is left out: there are more than %d files", shown(name), maxPromptFiles), "join some of them")
	default:
		p.prompts = append(p.prompts, listedPrompt{path: name, field: field, line: v.Line(), column: v.Column()})
	}
}
