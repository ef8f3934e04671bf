package execute

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"pannier"
)

// maxMessageTail bounds the end of an output in which the message of an interpreter is searched.
const maxMessageTail = 8 << 10

// notFound matches what Python and Node.js write before they end because a module is not there. Relative paths are
// files that the skill lacks, and no modules.
var notFound = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^ModuleNotFoundError: No module named '([^'\n]{1,100})'`),
	regexp.MustCompile(`(?m)^(?:\w+ \[ERR_MODULE_NOT_FOUND\]: |Error: )Cannot find (?:package|module) '([^'./\n][^'\n]{0,99})'`),
}

// missingModule says which module a program lacked when it failed, by its output; nil if it failed otherwise.
func (c *call) missingModule(output string) *pannier.ToolError {
	if c.job.Kind == pannier.RuntimeShell {
		return nil // its output can be that of any program
	}
	tail := output[max(0, len(output)-maxMessageTail):]
	for _, pattern := range notFound {
		found := pattern.FindAllStringSubmatch(tail, -1)
		if len(found) == 0 {
			continue
		}
		module := found[len(found)-1][1]
		if strings.HasPrefix(found[0][0], "ModuleNotFoundError") {
			module, _, _ = strings.Cut(module, ".")
		} else if parts := strings.Split(module, "/"); module[0] == '@' {
			module = path.Join(parts[:min(2, len(parts))]...)
		} else {
			module = parts[0]
		}
		if !c.hasModule(module) {
			file := c.job.Script + c.job.PythonFile
			return toolError(pannier.ToolDependencyMissing,
				fmt.Sprintf("%.100s needs the module %s, which the runner does not have", file, module),
				c.declareHint(file))
		}
	}
	return nil
}

// declareHint says how a module gets to a script that failed without it.
func (c *call) declareHint(file string) string {
	where := "in a header `# /// script` of " + file
	if slices.Contains(interpreters[path.Ext(file)], "node") {
		where = "in dependencies of a package.json beside it"
	}
	switch {
	case c.need != nil && c.need.fault != nil:
		return fmt.Sprintf("fix %s (%v), then %s", c.need.file, c.need.fault, c.prepareHint())
	case c.need != nil && c.packages == "":
		return c.prepareHint()
	}
	return "declare it " + where + ", then " + c.prepareHint()
}

// hasModule reports whether a module is one of the skill's own. A script that fails to import it is at fault itself.
func (c *call) hasModule(name string) bool {
	for i := range c.job.Files {
		for at := c.job.Files[i].Path; at != "."; at = path.Dir(at) {
			if base := path.Base(at); base == name || base == name+".py" {
				return true
			}
		}
	}
	return false
}
