package execute

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"pannier"
)

// maxFirstLine bounds the first line of a script that is read.
const maxFirstLine = 512

// interpreters start scripts by extension; the first one that the runner has is used.
var interpreters = map[string][]string{
	".py": {"python3"}, ".sh": {"bash", "sh"}, ".bash": {"bash"}, ".js": {"node"}, ".mjs": {"node"},
	".ts": {"node", "tsx", "bun"}, ".rb": {"ruby"}, ".pl": {"perl"}, ".ps1": {"pwsh"},
}

// startOf returns the program and the first arguments that start a script of the skill. The kernel starts an
// executable file whose first line it can read. Others are started by the program that their first line names, or by
// that of their extension.
func (c *call) startOf(script string) ([]string, *pannier.ToolError) {
	names := interpreters[path.Ext(script)]
	file := filepath.Join(c.skill, filepath.FromSlash(script))
	executable := c.has(script, true)
	missing := toolError(pannier.ToolChanged, fmt.Sprintf("the skill has no executable %.100q", script),
		"call again after the sidecar has read the skill again")
	if !c.has(script, false) {
		return nil, missing
	}
	line, hashBang := firstLine(file)
	kernel := executable && (hashBang && !strings.HasSuffix(line, "\r") || !hashBang && names == nil)
	if kernel {
		return []string{file}, nil
	}
	if !hashBang && names == nil {
		return nil, missing
	}
	if hashBang {
		if program, arguments := interpreterIn(line); program != "" {
			if found, err := c.e.lookPath(program); err == nil {
				return append(append([]string{found}, arguments...), file), nil
			}
			if len(names) == 0 {
				names = []string{program}
			}
		}
	}
	for _, name := range names {
		if program, err := c.e.lookPath(name); err == nil {
			return []string{program, file}, nil
		}
	}
	return nil, toolError(pannier.ToolDependencyMissing,
		fmt.Sprintf("the runner has no program that starts %.100q: %s", script, strings.Join(names, ", ")),
		"install one in a directory of the system in the container of the runner")
}

// firstLine returns the first line of a file after `#!`, with a CR that ends it.
func firstLine(file string) (line string, hashBang bool) {
	f, err := os.Open(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFirstLine))
	if err != nil {
		return "", false
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	rest, hashBang := bytes.CutPrefix(text, []byte("#!"))
	return string(rest), hashBang
}

// interpreterIn returns the name of the program in a first line, and its arguments. `env` and its options are
// skipped. A program without a script of its own, such as `uv run`, is not used.
func interpreterIn(line string) (program string, arguments []string) {
	words := strings.Fields(line)
	if len(words) > 0 && path.Base(words[0]) == "env" {
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
	}
	if len(words) == 0 || path.Base(words[0]) == "uv" {
		return "", nil
	}
	return path.Base(words[0]), words[1:]
}
