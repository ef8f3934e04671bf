package execute

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pannier"
)

// The bounds of the arguments of a script.
const (
	maxScriptArguments = 256
	maxScriptBytes     = 64 << 10
)

// scriptArguments are the arguments of a job whose kind is script.
type scriptArguments struct {
	Argv  []string `json:"argv"`
	Stdin string   `json:"stdin"`
}

// script returns the program of a script and its arguments, for a working directory.
func (c *call) script(ctx context.Context, dir string) ([]string, *pannier.ToolError) {
	start, failed := c.startOf(ctx, c.job.Script)
	if failed != nil {
		return nil, failed
	}
	var arguments scriptArguments
	if err := json.Unmarshal(c.job.Arguments, &arguments); err != nil {
		return nil, toolError(pannier.ToolArgumentsInvalid, "argv is not a list of texts", "give argv as a list of texts")
	}
	size := 0
	for i, a := range arguments.Argv {
		arguments.Argv[i] = c.argument(a, dir)
		size += len(arguments.Argv[i]) + 1
	}
	if len(arguments.Argv) > maxScriptArguments || size > maxScriptBytes {
		return nil, toolError(pannier.ToolArgumentsInvalid,
			fmt.Sprintf("argv has more than %d texts or %d bytes", maxScriptArguments, maxScriptBytes), "give less")
	}
	if slices.ContainsFunc(arguments.Argv, hasNUL) {
		return nil, toolError(pannier.ToolArgumentsInvalid, "argv has a NUL character, which no program can get", "leave it out")
	}
	return append(start, arguments.Argv...), nil
}

// argument returns a text of argv as the script gets it. Documents of a skill name its files as if the skill were the
// working directory, so a relative path that leads to a file of the skill and to nothing in the working directory is
// replaced by the path in the copy. The path may follow the `=` of a flag.
func (c *call) argument(text, dir string) string {
	text = strings.ReplaceAll(text, "${skill_dir}", c.skill)
	flag, name := "", text
	if before, after, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "-") {
		flag, name = before+"=", after
	}
	if !c.mayBePath(name) {
		return text
	}
	if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
		return text
	}
	return flag + filepath.Join(c.skill, name)
}

// mayBePath reports whether a text is the path of a file or a directory of the skill. A single word that could also be
// the name of a subcommand is none.
func (c *call) mayBePath(text string) bool {
	name := path.Clean(text)
	if !filepath.IsLocal(name) || name == "." || !strings.Contains(text, "/") && path.Ext(text) == "" {
		return false
	}
	return slices.ContainsFunc(c.job.Files, func(f pannier.ToolFile) bool {
		return f.Path == name || strings.Contains(text, "/") && strings.HasPrefix(f.Path, name+"/")
	})
}
