package config

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
)

// workspaceParser puts together what a config.yaml says, field by field.
type workspaceParser struct {
	workspaceReading
	refused *pannier.Problem // for which the file says nothing; nil for none
}

// text reads a text as it is written: `1.0` is "1.0" and `yes` is "yes".
func (p *workspaceParser) text(field *string, key string, doc yamldoc.Value) {
	v := doc.Get(key)
	switch v.Kind() {
	case yamldoc.Text:
		*field, _ = v.Text()
	case yamldoc.List, yamldoc.Map:
		p.warn(codeType, key, v, "this is "+v.Kind().String()+", not a text", "write the text on the line of the key")
	}
}

// truth reads a truth value, also in the words that the agent's YAML 1.1 takes for one (YAML 1.1, "bool").
func (p *workspaceParser) truth(field *bool, key string, v yamldoc.Value) {
	if value, ok := v.Bool(); ok {
		*field = value
		return
	}
	if v.Kind() == yamldoc.Missing || v.Kind() == yamldoc.Null {
		return
	}
	text, _ := v.Text()
	switch strings.ToLower(text) {
	case "yes", "on", "true":
		*field = true
	case "no", "off", "false":
		*field = false
	default:
		p.warn(codeType, key, v, "not a boolean", "write true or false")
		return
	}
	p.warn(codeBool, key, v, shown(text)+" is a text to some readers and a truth value to others", "write true or false, without quotes")
}

const maxKeyDepth = 8

func appendKeys(keys []string, prefix string, m yamldoc.Value, depth int) []string {
	for pair := range m.Pairs() {
		if strings.Contains(pair.Key, ".") || !something(pair.Value) {
			continue
		}
		key := prefix + pair.Key
		keys = append(keys, key)
		if depth < maxKeyDepth {
			keys = appendKeys(keys, key+".", pair.Value, depth+1)
		}
	}
	return keys
}

// something reports whether a value is what a program would take for true.
func something(v yamldoc.Value) bool {
	switch v.Kind() {
	case yamldoc.List:
		for range v.Items() {
			return true
		}
		return false
	case yamldoc.Map:
		for range v.Pairs() {
			return true
		}
		return false
	case yamldoc.Text:
		text, _ := v.Text()
		if v.Quoted() {
			return text != ""
		}
		switch strings.ToLower(text) {
		case "false", "no", "off":
			return false
		}
		number, err := strconv.ParseFloat(text, 64)
		return err != nil || number != 0
	}
	return false
}

const keySkills = "skills"

// skills reads the list of skills. A mapping or a text was meant as a list, so it is read as one; `all` and `*` stand for no list.
// Any other value could only empty the card, so the file is refused. What an entry says is off is left out.
func (p *workspaceParser) skills(v yamldoc.Value) {
	switch v.Kind() {
	case yamldoc.List:
		i := 0
		for item := range v.Items() {
			field := fmt.Sprintf("%s[%d]", keySkills, i)
			name := item
			if item.Kind() == yamldoc.Map {
				name = item.Get("name")
			}
			if entry, ok := name.Text(); ok && !isOff(item.Get("enabled")) {
				p.addSkill(field, item, entry)
			} else if !ok {
				p.warn(codeSkillsEntry, field, item, "this is "+item.Kind().String()+", not the folder of a skill; it is left out", "write the name of a folder")
			}
			i++
		}
	case yamldoc.Map:
		p.warn(codeSkillsShape, keySkills, v, "this is a mapping, not a list: its keys are taken, without those that are false", "write each skill on a line that begins with a dash")
		for pair := range v.Pairs() {
			if !isOff(pair.Value) && !isOff(pair.Value.Get("enabled")) {
				p.addSkill(keySkills+"."+pair.Key, pair.Value, pair.Key)
			}
		}
	case yamldoc.Text:
		if yamldoc.MeansAll(v) {
			return
		}
		p.skillText(v)
	default:
		return
	}
	p.w.Listed = true
}

// isOff reports whether a value is false, also in the words that the agent's YAML 1.1 takes for it.
func isOff(v yamldoc.Value) bool {
	text, _ := v.Text()
	return slices.Contains([]string{"false", "no", "off"}, strings.ToLower(text))
}

// skillText reads a text in place of a list: the canvas writes lists as texts in brackets. One without brackets has to be the
// folder of a skill.
func (p *workspaceParser) skillText(v yamldoc.Value) {
	text, _ := v.Text()
	if _, isFolder := cleanSkill(text); !isFolder || v.JSON()[0] != '"' {
		refused := fileProblem(codeSkillsShape, pannier.SeverityError, keySkills, shown(text)+" is neither a list of skills nor the folder of one",
			"write each skill on a line that begins with a dash, or `all` for all skills")
		refused.Line, refused.Column = v.Line(), v.Column()
		p.refused = &refused
		return
	}
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
