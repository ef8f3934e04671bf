package prompt

import (
	"strings"

	"pannier"
)

// toolNames lists the functions and scripts of a skill that has tools only, or where they are until they were looked at.
func toolNames(e *pannier.Entry) string {
	var names []string
	for _, t := range e.FileTools {
		name := t.Name
		if t.Kind == pannier.ToolScript {
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
