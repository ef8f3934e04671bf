package execute

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"pannier"
)

// maxFirstLine bounds the first line of a script that is read.
const maxFirstLine = 512

// typescript are the programs that start TypeScript. Node.js does if its version can.
var typescript = []string{"node", "tsx", "bun", "deno"}

// interpreters start scripts by extension; the first one that the runner has is used.
var interpreters = map[string][]string{
	".py": {"python3"}, ".sh": {"bash", "sh"}, ".bash": {"bash"}, ".js": {"node", "bun"}, ".mjs": {"node", "bun"},
	".cjs": {"node", "bun"}, ".ts": typescript, ".mts": typescript, ".cts": typescript, ".rb": {"ruby"}, ".pl": {"perl"},
	".ps1": {"pwsh"},
}

// wrappers fetch what they start, so their first lines name no program that is there.
var wrappers = []string{"uv", "uvx", "npx", "bunx", "pipx", "pnpm", "yarn"}

// startOf returns the program and the first arguments that start a script of the skill. The kernel starts an
// executable file whose first line names a program that is there. Others are started by the program that their first
// line names, or by that of their extension.
func (c *call) startOf(ctx context.Context, script string) ([]string, *pannier.ToolError) {
	names := interpreters[path.Ext(script)]
	file := filepath.Join(c.skill, filepath.FromSlash(script))
	executable := c.has(script, true)
	missing := toolError(pannier.ToolChanged, fmt.Sprintf("the skill has no executable %.100q", script),
		"call again after the sidecar has read the skill again")
	if !c.has(script, false) {
		return nil, missing
	}
	line, hashBang := firstLine(file)
	if !hashBang && names == nil {
		if executable {
			return []string{file}, nil
		}
		return nil, missing
	}
	if hashBang {
		program, arguments := interpreterIn(line)
		if executable && c.kernelStarts(line, program, path.Ext(script)) {
			return []string{file}, nil
		}
		if program != "" {
			if start := c.startBy(ctx, program, arguments, file); start != nil {
				return start, nil
			}
			if len(names) == 0 {
				names = []string{program}
			}
		}
	}
	for _, name := range names {
		if start := c.startBy(ctx, name, nil, file); start != nil {
			return start, nil
		}
	}
	return nil, toolError(pannier.ToolDependencyMissing,
		fmt.Sprintf("the runner has no program that starts %.100q: %s", script, strings.Join(names, ", ")),
		startHint(names))
}

func startHint(names []string) string {
	hint := "install one in a directory of the system in the container of the runner"
	if slices.Contains(names, "tsx") {
		hint += "; Node.js starts TypeScript from version 22.6 on"
	}
	return hint
}

// kernelStarts reports whether the kernel can start an executable file by its first line, which names a program.
func (c *call) kernelStarts(line, program, extension string) bool {
	words := strings.Fields(line)
	if program == "" || strings.HasSuffix(line, "\r") || !c.e.canExecute(words[0]) {
		return false
	}
	return program != "node" || !slices.Equal(interpreters[extension], typescript)
}

// startBy returns how a program starts a file; nil if the program is not there, or too old.
func (c *call) startBy(ctx context.Context, name string, arguments []string, file string) []string {
	program, err := c.e.lookPath(name)
	if err != nil {
		return nil
	}
	start := append([]string{program}, arguments...)
	if slices.Equal(interpreters[path.Ext(file)], typescript) {
		switch name {
		case "node":
			flags, ok := typeFlags(c.e.versionOf(ctx, program))
			if !ok {
				return nil
			}
			start = append(start, flags...)
		case "deno":
			start = append(start, "run", "--allow-all", "--no-prompt") // the sandbox confines it
		}
	}
	return append(start, file)
}

// typeFlags returns the flags with which a version of Node.js, such as v22.18.0, starts TypeScript, and whether it can.
func typeFlags(version string) (flags []string, ok bool) {
	flags = []string{"--disable-warning=ExperimentalWarning"} // the warning would become output of the script
	switch {
	case semver.Compare(version, "v22.6.0") < 0: // as every invalid version
		return nil, false
	case semver.Compare(version, "v22.18.0") < 0,
		semver.Major(version) == "v23" && semver.Compare(version, "v23.6.0") < 0:
		flags = append(flags, "--experimental-strip-types")
	}
	return flags, true
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
// skipped. There is none if the line names a program that would fetch the interpreter, such as `uv run`.
func interpreterIn(line string) (program string, arguments []string) {
	words := strings.Fields(line)
	if len(words) > 0 && path.Base(words[0]) == "env" {
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
	}
	if len(words) == 0 || slices.Contains(wrappers, path.Base(words[0])) {
		return "", nil
	}
	return path.Base(words[0]), words[1:]
}
