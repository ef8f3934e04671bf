package execute

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/tools/sandbox"
)

// shell returns the declared command. Arguments of the call never become part of it.
func (c *call) shell() ([]string, *pannier.ToolError) {
	dirs := strings.NewReplacer("${skill_dir}", c.skill, "${skill_asset_root}", c.skill)
	argv := make([]string, len(c.job.Command))
	for i, item := range c.job.Command {
		argv[i] = dirs.Replace(item)
	}
	if len(argv) == 0 || argv[0] == "" || slices.ContainsFunc(argv, hasNUL) {
		return nil, toolError(pannier.ToolFailed, "the tool has no command", "write config.command as a list of texts")
	}
	program, failed := c.program(argv[0])
	argv[0] = program
	return argv, failed
}

// program returns the path of a program: one with a slash is below the skill, unless it is absolute; others are searched in PATH.
func (c *call) program(name string) (string, *pannier.ToolError) {
	switch {
	case filepath.IsAbs(name):
		return name, nil
	case strings.Contains(name, "/"):
		if !filepath.IsLocal(name) {
			return "", toolError(pannier.ToolFailed, fmt.Sprintf("the command %.100q leads out of the skill", name), "name a program of the skill")
		}
		return filepath.Join(c.skill, name), nil
	}
	path, err := c.e.lookPath(name)
	if err != nil {
		return "", toolError(pannier.ToolDependencyMissing, fmt.Sprintf("the runner has no program %.100q that tools can execute", name), "install it in a directory of the system in the container of the runner, or name its directory with --read of pannier runner")
	}
	return path, nil
}

func (c *call) function() ([]string, *pannier.ToolError) {
	file := c.job.PythonFile
	if !c.has(file, false) {
		return nil, toolError(pannier.ToolChanged, fmt.Sprintf("the skill has no file %.100q", file), "call again after the sidecar has read the skill again")
	}
	python, failed := c.program("python3")
	// -I: neither variables nor the directories of the user change what is imported. -B: the copy cannot be written.
	return []string{python, "-I", "-B", c.e.driver, filepath.Join(c.skill, filepath.FromSlash(file)), c.job.Function, c.skill, c.sitePackages()}, failed
}

// has reports whether the manifest has a file.
func (c *call) has(name string, executable bool) bool {
	return slices.ContainsFunc(c.job.Files, func(f pannier.ToolFile) bool { return f.Path == name && (f.Executable || !executable) })
}

func hasNUL(text string) bool { return strings.ContainsRune(text, 0) }

// startError says why a tool did not start.
func (c *call) startError(err error) *pannier.ToolError {
	if errors.Is(err, sandbox.ErrUnavailable) {
		return toolError(pannier.ToolSandboxUnavailable, err.Error(), "run \"pannier runner --check\" there to see what is missing")
	}
	hint := "look at the log of the runner"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint = "check that the program exists, and the interpreter in its first line, which must end with LF and not with CRLF"
	case errors.Is(err, fs.ErrPermission):
		hint = "make the program executable (chmod +x), and what its first line names readable for the user of tools"
		if c.job.ProjectDir != "" {
			hint = fmt.Sprintf("let the user %d, as which tools run here, enter and write to project_dir; else make the program executable (chmod +x)", c.e.UID)
		}
	case errors.Is(err, unix.ENOEXEC):
		hint = "begin the script with a line such as #!/bin/sh, or name the interpreter in config.command"
	}
	message := strings.ReplaceAll(err.Error(), c.skill+"/", "") // the path of the copy tells an author nothing
	return toolError(pannier.ToolFailed, "the tool did not start: "+message, hint)
}

// usualPath is the PATH of tools if the runner has none.
const usualPath = "/usr/local/bin:/usr/bin:/bin"

// pathOf returns the absolute directories of PATH.
func pathOf(environ []string) string {
	var dirs []string
	for _, dir := range filepath.SplitList(lookEnv(environ, "PATH")) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return usualPath
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

func lookEnv(environ []string, name string) (value string) {
	for _, variable := range environ {
		if v, ok := strings.CutPrefix(variable, name+"="); ok {
			value = v // as for the kernel's readers, the last one counts
		}
	}
	return value
}
