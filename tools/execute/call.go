package execute

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/tools/egress"
	"pannier/tools/output"
	"pannier/tools/sandbox"
)

// call is one call of a tool, with a directory of its own.
type call struct {
	*callDir
	e     *Executor
	job   *pannier.ToolJob
	skill string // directory of the copy
	mask  *output.Mask
	proxy *egress.Proxy // nil where the tool has the whole network, or no loopback interface

	need     *need    // of the script or the function; nil for none
	packages string   // the directory of its prepared packages; empty for none
	release  func()   // ends the use of packages
	readable []string // what an installer can read besides
}

// resultFile is where the driver writes what a function returns.
func (c *call) resultFile() string { return c.path("scratch/result.json") }

// spec returns how the sandbox runs the tool.
func (c *call) spec(ctx context.Context) (sandbox.Spec, *pannier.ToolError) {
	var argv []string // the program of the tool, as an absolute path, and its arguments
	project, failed := c.project()
	if failed != nil {
		return sandbox.Spec{}, failed
	}
	dir := cmp.Or(project, c.skill)
	switch c.job.Kind {
	case pannier.RuntimeShell:
		argv, failed = c.shell()
	case pannier.RuntimePython:
		argv, failed = c.function()
	case pannier.RuntimeScript:
		dir = cmp.Or(project, c.path("scratch/work"))
		argv, failed = c.script(ctx, dir)
	default:
		failed = toolError(pannier.ToolFailed, fmt.Sprintf("a runner does not carry out tools of kind %.40q", c.job.Kind), "update pannier on both sides")
	}
	if failed != nil {
		return sandbox.Spec{}, failed
	}
	if c.proxy == nil && len(c.job.Hosts) > 0 && !c.job.Network {
		return sandbox.Spec{}, toolError(pannier.ToolSandboxUnavailable, "a network by hosts (tools.network) takes network namespaces, which the kernel of the runner refuses", "run \"pannier runner --check\" there to see what is missing")
	}
	job := c.job
	s := sandbox.Spec{
		Argv: argv, Dir: dir, Env: c.environment(), Level: cmp.Or(job.Sandbox, pannier.SandboxRequired), Network: job.Network,
		Read: slices.Concat([]string{c.skill, c.path("arguments.json"), c.e.driver}, c.e.Read), UID: c.e.UID, GID: c.e.GID,
		Scratch: c.path("scratch"),
		Limits: sandbox.Limits{
			MemoryBytes: job.Bounds.MemoryBytes, Processes: job.Bounds.Processes, CPUSeconds: job.Bounds.CPUSeconds, FileBytes: job.Bounds.FileBytes,
			OutputBytes: c.outputBytes() + maxSplit,
		},
	}
	if c.packages != "" {
		s.Read = append(s.Read, c.packages)
	}
	if project != "" {
		s.Write = append(s.Write, project)
	}
	if c.proxy != nil {
		s.Serve = c.proxy.Start
	}
	switch job.Kind {
	case pannier.RuntimeShell:
		s.Stdin = job.Arguments
	case pannier.RuntimeScript:
		var arguments scriptArguments
		_ = json.Unmarshal(job.Arguments, &arguments) // script has read them
		s.Stdin = []byte(arguments.Stdin)
	}
	return s, nil
}

// maxSplit is how much more output the sandbox hands over than is kept, so that what is dropped is dropped by the sink, which sees
// all of a secret.
const maxSplit = 4 << 10

func (c *call) outputBytes() int64 { return cmp.Or(c.job.Bounds.OutputBytes, defaultOutputBytes) }

// project returns the project directory of the call, without links. It must be below one that the runner allows.
func (c *call) project() (string, *pannier.ToolError) {
	if c.job.ProjectDir == "" {
		return "", nil
	}
	dir, err := filepath.EvalSymlinks(c.job.ProjectDir)
	if err == nil && filepath.IsAbs(dir) {
		for _, parent := range c.e.Projects {
			if parent, err = filepath.EvalSymlinks(parent); err != nil {
				continue
			}
			if rel, err := filepath.Rel(parent, dir); err == nil && filepath.IsLocal(rel) {
				return dir, nil
			}
		}
	}
	return "", toolError(pannier.ToolNotAllowed, fmt.Sprintf("the runner does not let tools write in the project directory %.200q", c.job.ProjectDir),
		"leave project_dir out, or name the directory with --project of pannier runner")
}

// environment returns the variables of the tool: a fixed list, and those of the runner that the job names.
func (c *call) environment() []string {
	env := []string{
		"PATH=" + c.e.path(), "HOME=" + c.path("scratch/home"), "TMPDIR=" + c.path("scratch/tmp"), "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1",
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "PANNIER_ARGUMENTS=" + c.path("arguments.json"), "PANNIER_SKILL_DIR=" + c.skill,
		"PANNIER_CALL_ID=" + c.job.ID, "PANNIER_ARTIFACTS=" + c.path("scratch/work"),
	}
	switch c.job.Kind {
	case pannier.RuntimePython:
		env = append(env, "PANNIER_RESULT="+c.resultFile())
	case pannier.RuntimeScript:
		env = append(env, c.searchPaths()...)
	}
	if c.proxy != nil {
		env = append(env, proxyVariables...)
	}
	var secrets []string
	for _, name := range c.job.Env {
		isOurs := c.proxy != nil && lookEnv(proxyVariables, name) != ""
		if value := lookEnv(c.e.Environ, name); value != "" && !isReserved(name) && !isOurs {
			env = append(env, name+"="+value)
			secrets = append(secrets, value)
		}
	}
	c.mask = output.NewMask(secrets...)
	return env
}

// isReserved reports whether a variable would change how the tool is run, or is pannier's own.
func isReserved(name string) bool {
	switch name {
	case "PATH", "HOME", "TMPDIR", "LANG", "TERM", "BASH_ENV", "ENV", "IFS", "NODE_PATH":
		return true
	}
	return strings.HasPrefix(name, "PANNIER_") || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "PYTHON")
}

// finish tells how the tool ended.
func (c *call) finish(ctx context.Context, exit sandbox.Exit, result *pannier.ToolResult) *pannier.ToolError {
	switch {
	case exit.ScratchFull:
		return toolError(pannier.ToolOutputLimit, "the tool wrote more files than it may, and was ended", "make the tool write less below HOME, TMPDIR and PANNIER_ARTIFACTS")
	case exit.Exceeded == sandbox.BoundMemory:
		return toolError(pannier.ToolSignal, fmt.Sprintf("the processes of the call took more than %d bytes of memory together, and were ended", c.job.Bounds.MemoryBytes), "make the tool use less, or raise tools.max_memory_bytes")
	case exit.Exceeded == sandbox.BoundProcessor:
		return toolError(pannier.ToolSignal, "the processes of the call took more processor time together than they may, and were ended", "make the tool compute less in one call")
	case exit.TimedOut, errors.Is(context.Cause(ctx), errTimedOut) && exit.Canceled:
		result.TimedOut = true
		return toolError(pannier.ToolTimedOut, fmt.Sprintf("the tool was ended after %v", cmp.Or(c.job.Timeout, defaultTimeout)), "make the tool do less in one call, or raise tools.timeout")
	case exit.Canceled:
		return toolError(pannier.ToolCanceled, "the call was canceled", "call it again if its result is needed")
	case exit.Signal != 0:
		return toolError(pannier.ToolSignal, "the tool was ended by "+unix.SignalName(unix.Signal(exit.Signal)), "look at its output; the bounds of a call are in tools.max_memory_bytes and beside it")
	}
	result.ExitCode = &exit.Code
	if exit.Code != 0 {
		if missing := c.missingModule(result.Output); missing != nil {
			return missing
		}
		hint := "look at its output"
		if c.job.ProjectDir == "" {
			hint += "; it sees files outside of the skill only if the call names their directory as project_dir"
		} else if os.Geteuid() == 0 && denied.MatchString(result.Output) {
			hint += fmt.Sprintf("; if it may not write in project_dir, let the user %d do so", c.e.UID)
		}
		return toolError(pannier.ToolFailed, fmt.Sprintf("the tool exited with code %d", exit.Code), hint)
	}
	result.OK = true
	if c.job.Kind == pannier.RuntimePython {
		return c.functionResult(result)
	}
	if !result.Truncated && json.Valid([]byte(result.Output)) {
		result.Structured = json.RawMessage(strings.TrimSpace(result.Output))
	}
	return nil
}

// denied matches what programs print when a file may not be read or written.
var denied = regexp.MustCompile(`[Pp]ermission denied|EACCES`)

// functionResult reads what a Python function has returned. The file is the tool's own, so it can be anything.
func (c *call) functionResult(result *pannier.ToolResult) *pannier.ToolError {
	bound := c.outputBytes()
	raw, _, err := fsx.ReadRegular(c.resultFile(), unix.O_NOFOLLOW, bound)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return toolError(pannier.ToolFailed, "the program ended before the function returned", "do not end the process in a tool")
	case err != nil || !json.Valid(raw):
		if int64(len(raw)) > bound {
			result.Truncated = true
			return toolError(pannier.ToolOutputLimit, fmt.Sprintf("the function returned more than %d bytes", bound), "return less, or write a file below PANNIER_ARTIFACTS")
		}
		return toolError(pannier.ToolFailed, "the result of the function cannot be read", "return values of JSON")
	}
	text := c.mask.String(output.Clean(raw))
	if json.Valid([]byte(text)) {
		result.Structured = json.RawMessage(text)
	}
	var plain string
	if json.Unmarshal([]byte(text), &plain) == nil {
		text = output.Clean([]byte(plain)) // escapes of JSON can hold what a terminal acts on
	}
	if room := bound - int64(len(result.Output)); int64(len(text)) > room {
		result.Truncated = true
		return nil
	}
	if result.Output != "" && !strings.HasSuffix(result.Output, "\n") {
		result.Output += "\n"
	}
	result.Output += text
	return nil
}
