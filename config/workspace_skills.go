package config

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pannier/internal/yamldoc"
)

// keySkills is the field that selects skills.
const keySkills = "skills"

// skills reads the list of skills. What is not a list was meant as one, so it is read as one.
func (p *workspaceParser) skills(v yamldoc.Value) {
	switch v.Kind() {
	case yamldoc.List:
		p.skillItems(v)
	case yamldoc.Map:
		p.warn(codeSkillsShape, keySkills, v, "this is a mapping, not a list: its keys are taken", "write each skill on a line that begins with a dash")
		for pair := range v.Pairs() {
			p.addSkill(keySkills+"."+pair.Key, pair.Value, pair.Key)
		}
	case yamldoc.Text:
		p.skillText(v)
	default:
		return
	}
	p.w.Listed = true
}

func (p *workspaceParser) skillItems(v yamldoc.Value) {
	i := 0
	for item := range v.Items() {
		field := fmt.Sprintf("%s[%d]", keySkills, i)
		if entry, ok := skillEntry(item); ok {
			p.addSkill(field, item, entry)
		} else {
			p.warn(codeSkillsEntry, field, item, "this is "+item.Kind().String()+", not the folder of a skill; it is left out", "write the name of a folder")
		}
		i++
	}
}

// skillEntry returns the text of an item, which a mapping has under `name`.
func skillEntry(item yamldoc.Value) (string, bool) {
	if item.Kind() == yamldoc.Map {
		return item.Get("name").Text()
	}
	return item.Text()
}

// skillText reads a text in place of a list: the canvas writes lists as texts in brackets.
func (p *workspaceParser) skillText(v yamldoc.Value) {
	text, _ := v.Text()
	p.warn(codeSkillsShape, keySkills, v, "this is a text, not a list: it is read as one", "write each skill on a line that begins with a dash")
	entries := inBrackets(text)
	if len(entries) > yamldoc.MaxNodes { // a real list could not have more either
		entries = entries[:yamldoc.MaxNodes]
		p.warn(codeSkillsEntry, keySkills, v, fmt.Sprintf("there are more than %d entries; the rest is left out", yamldoc.MaxNodes), "remove some")
	}
	for _, entry := range entries {
		p.addSkill(keySkills, v, entry)
	}
}

// inBrackets returns the entries of a list that was written as a text, of which there are few more than a real list could
// have. A text without brackets is the one entry.
func inBrackets(text string) []string {
	inner, list := strings.CutPrefix(strings.TrimSpace(text), "[")
	inner, closed := strings.CutSuffix(inner, "]")
	switch {
	case !list || !closed:
		return []string{text}
	case strings.TrimSpace(inner) == "":
		return nil
	}
	entries := strings.SplitN(inner, ",", yamldoc.MaxNodes+1)
	for i, entry := range entries {
		entries[i] = strings.Trim(strings.TrimSpace(entry), `"'`)
	}
	return entries
}

// addSkill takes an entry unless it is there already, or could lead out of a root.
func (p *workspaceParser) addSkill(field string, v yamldoc.Value, entry string) {
	cleaned, ok := cleanSkill(entry)
	switch {
	case !ok:
		p.warn(codeSkillsEntry, field, v, shown(entry)+" is not a folder below a root; it is left out", "write the name of a folder, or its path below a root")
	case slices.Contains(p.w.Skills, cleaned):
		p.warn(codeSkillsRepeated, field, v, shown(cleaned)+" stands here again; the first counts", "remove one of the two")
	default:
		p.w.Skills = append(p.w.Skills, cleaned)
	}
}

// cleanSkill returns an entry as a path below a root, without the ornaments of a shell.
func cleanSkill(entry string) (string, bool) {
	entry = strings.TrimSpace(entry)
	if entry == "" || path.IsAbs(entry) || slices.Contains(strings.Split(entry, "/"), "..") {
		return "", false
	}
	entry = path.Clean(entry)
	return entry, entry != "."
}
