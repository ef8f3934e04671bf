// Package prompt renders the skills section of a system prompt. It is pure: the bodies that a format shows are handed in.
//
// Everything that comes from a skill is untrusted: it is escaped for the format and stripped of what a terminal, a
// bidirectional layout or a chat template would take for more than text; names and descriptions are folded to one line.
// The one exception is [AvailableSkillsReference], which is there to be compared with. Each format is declared in a file of
// its own and listed in formats.go. The files of the prompt are the owner's own, and stay as they are.
package prompt

import (
	"cmp"
	"path"
	"strings"

	"pannier"
)

// Location returns where the SKILL.md of a skill is for an agent that sees the workspace at that path.
func Location(s *pannier.Skill, workspace string) string {
	if path.IsAbs(s.Path) {
		return s.FilePath()
	}
	return path.Join(workspace, s.FilePath())
}

func displayName(e *pannier.Entry) string { return cmp.Or(fold(e.Name), e.Slug) }

// fold cleans a text and drops blanks that repeat or stand at an end. Those of a path are kept: they are part of it.
func fold(text string) string { return strings.Join(strings.Fields(pannier.CleanLine(text)), " ") }

// toolNames lists the functions and scripts of a skill that has tools only, or their directory until its files were read.
func toolNames(e *pannier.Entry) string {
	var names []string
	for _, t := range e.FileTools {
		name := t.Name
		if t.Kind == pannier.RuntimeScript {
			name = t.Path
		}
		if name = strings.ReplaceAll(fold(name), "`", "'"); name != "" {
			names = append(names, "`"+name+"`")
		}
	}
	if len(names) == 0 {
		return "see the files in `tools/`"
	}
	return strings.Join(names, ", ")
}
