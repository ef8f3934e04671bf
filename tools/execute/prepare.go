package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader/needs"
	"pannier/tools/output"
	"pannier/tools/sandbox"
)

// The bounds of an installation.
const (
	// installBytes bounds what an installer writes, with what it fetches, and each file.
	installBytes  = 1 << 30
	installMemory = 2 << 30
	installCPU    = 300 // seconds
	installOpen   = 1024
	installOutput = 64 << 10
)

// indexVariables are those of the runner that say where packages are fetched from. Tools never get them.
var indexVariables = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_TRUSTED_HOST",
	"UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS", "UV_NO_INDEX",
	"NPM_CONFIG_REGISTRY", "npm_config_registry",
}

// certificateVariables name a file with certificates of authorities, which can lie where tools do not get to.
var certificateVariables = []string{
	"SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE", "npm_config_cafile",
}

const maxCertificates = 4 << 20

// indexEnvironment returns the variables of an installer, and the values that must not be in its output.
func (c *call) indexEnvironment() (env, values []string) {
	env = []string{
		"PATH=" + c.e.path(), "HOME=" + c.path("scratch/home"), "TMPDIR=" + c.path("scratch/tmp"), "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1",
		"npm_config_cache=" + c.path("scratch/tmp/npm"), "npm_config_update_notifier=false", "UV_PYTHON_DOWNLOADS=never",
	}
	for _, name := range indexVariables {
		if value := lookEnv(c.e.Environ, name); value != "" {
			env, values = append(env, name+"="+value), append(values, value) // an address can hold a password
			c.readable = append(c.readable, localPaths(name, value)...)
		}
	}
	for _, name := range certificateVariables {
		text, _, err := fsx.ReadRegular(lookEnv(c.e.Environ, name), 0, maxCertificates)
		if copied := c.path(name + ".pem"); err == nil && c.write(copied, string(text)) == nil {
			env = append(env, name+"="+copied)
		}
	}
	return env, values
}

// installerFiles tell pip which system this is.
var installerFiles = []string{"/etc/debian_version", "/etc/lsb-release", "/etc/redhat-release"}

// prepare installs what some files of the skill declare to need, with the network, for calls that have none.
func (c *call) prepare(ctx context.Context, result *pannier.ToolResult) *pannier.ToolError {
	var said strings.Builder
	defer func() { result.Output = said.String() }()
	done := map[string]bool{}
	for _, file := range c.job.Command {
		n := c.needOf(ctx, file)
		switch {
		case !c.has(file, false), n == nil, done[n.file]:
			continue
		case n.fault != nil:
			return toolError(pannier.ToolDependencyMissing, fmt.Sprintf("what %.100s declares cannot be read: %v", n.file, n.fault),
				"fix "+n.file+", then run \"pannier tool allow "+c.job.Skill+" --prepare\"")
		}
		done[n.file] = true
		dir, release := c.e.prepared.use(n.key)
		if dir == "" {
			if failed := c.install(ctx, n, &said); failed != nil {
				return failed
			}
			dir, release = c.e.prepared.use(n.key)
		}
		files, size := sizeOf(dir)
		release()
		fmt.Fprintf(&said, "%s: ready (%d files, %.1f MB)\n", n.file, files, float64(size)/1e6)
	}
	if len(done) == 0 {
		said.WriteString("no script declares packages that it needs\n")
	}
	result.OK = true
	return nil
}

// install has uv, pip or npm install the packages of a declaration, and keeps them.
func (c *call) install(ctx context.Context, n *need, said *strings.Builder) *pannier.ToolError {
	from := c.path("scratch/packages")
	var argv []string
	var failed *pannier.ToolError
	dir := c.skill
	if n.node {
		dir = filepath.Join(c.path("scratch/work"), filepath.FromSlash(path.Dir(n.file)))
		from = filepath.Join(dir, nodePackages)
		argv, failed = c.npm(n)
	} else {
		argv, failed = c.pip(ctx, n, from)
	}
	if failed != nil {
		return failed
	}
	program := filepath.Base(argv[0])
	if slices.Contains(argv, "pip") {
		program = strings.TrimPrefix(program+" pip", "python3 ")
	}
	env, values := c.indexEnvironment()
	read := slices.Concat([]string{c.skill}, c.readable, c.e.Read)
	for _, file := range installerFiles {
		if _, err := os.Stat(file); err == nil {
			read = append(read, file)
		}
	}
	sink := output.NewSink(installOutput, output.NewMask(values...), nil)
	exit, err := sandbox.Run(ctx, sandbox.Spec{
		Argv: argv, Dir: dir, Env: env, Level: cmp.Or(c.job.Sandbox, pannier.SandboxRequired), Network: true, UID: c.e.UID, GID: c.e.GID,
		Read: read, Scratch: c.path("scratch"),
		Limits: sandbox.Limits{
			MemoryBytes: installMemory, CPUSeconds: installCPU, FileBytes: installBytes, ScratchBytes: installBytes,
			OpenFiles: installOpen, OutputBytes: installOutput + maxSplit,
		},
	}, sink)
	sink.Close()
	said.WriteString(sink.Text())
	switch {
	case err != nil:
		return c.startError(err)
	case exit.TimedOut, errors.Is(context.Cause(ctx), errTimedOut):
		return toolError(pannier.ToolTimedOut, fmt.Sprintf("%s was ended after %v", program, c.job.Timeout), "try again, or install the packages in the image of the runner")
	case exit.Canceled:
		return toolError(pannier.ToolCanceled, "the installation was canceled", "run it again if its result is needed")
	case exit.ScratchFull:
		return toolError(pannier.ToolOutputLimit, fmt.Sprintf("the packages of %.100s take more than %d MB, or have too many files", n.file, installBytes>>20),
			"install them in the image of the runner")
	case exit.Code != 0 || exit.Signal != 0:
		return toolError(pannier.ToolFailed, fmt.Sprintf("%s did not install the packages of %.100s (exit code %d)", program, n.file, exit.Code),
			"look at its output; the runner must reach the index of packages, or have them in its image")
	}
	if err := c.e.prepared.keep(n, from); err != nil {
		return toolError(pannier.ToolCopyFailed, "the packages were not kept: "+err.Error(), "free space for the runner, or name another directory with --dir")
	}
	return nil
}

// pip returns the command of uv, or of pip without it. Only wheels are installed: building a package would run it.
func (c *call) pip(ctx context.Context, n *need, target string) ([]string, *pannier.ToolError) {
	python, failed := c.program("python3")
	if failed != nil {
		return nil, failed
	}
	declared := strings.Join(n.requirements, "\n")
	if path.Base(n.file) == "requirements.txt" {
		text, err := c.read(n.file)
		if err != nil {
			return nil, toolError(pannier.ToolFailed, fmt.Sprintf("%.100s cannot be read: %v", n.file, err), "fix it")
		}
		declared = string(text)
	}
	wanted, err := needs.FromIndex(declared)
	if err != nil {
		return nil, toolError(pannier.ToolFailed, fmt.Sprintf("%.100s: %v", n.file, err), "name a package of an index, or install this one in the image of the runner")
	}
	list := c.path("requirements.in")
	if failed := c.write(list, strings.Join(wanted, "\n")); failed != nil {
		return nil, failed
	}
	argv := []string{"--target", target, "--requirement", list}
	if len(n.pins) > 0 {
		pins := c.path("constraints.txt")
		if failed := c.write(pins, strings.Join(n.pins, "\n")); failed != nil {
			return nil, failed
		}
		argv = append(argv, "--constraint", pins)
	}
	if uv, err := c.e.lookPath("uv"); err == nil {
		return append([]string{uv, "pip", "install", "--quiet", "--no-cache", "--no-build", "--python", python}, argv...), nil
	}
	if answer, err := c.e.ask(ctx, python, "-I", "-m", "pip", "--version"); err != nil || !strings.HasPrefix(answer, "pip ") {
		return nil, toolError(pannier.ToolDependencyMissing, "the runner has neither uv nor pip", "install one of them where the runner is")
	}
	return append([]string{
		python, "-I", "-m", "pip", "install", "--quiet", "--no-input", "--no-cache-dir", "--disable-pip-version-check", "--no-compile",
		"--only-binary", ":all:",
	}, argv...), nil
}

// localPaths returns the files and directories of packages that a variable names.
func localPaths(name, value string) (paths []string) {
	if !strings.HasSuffix(name, "_FIND_LINKS") {
		return nil
	}
	for word := range strings.FieldsSeq(strings.ReplaceAll(value, ",", " ")) {
		word = strings.TrimPrefix(word, "file://")
		if _, err := os.Stat(word); err == nil && filepath.IsAbs(word) {
			paths = append(paths, word)
		}
	}
	return paths
}

// write makes a file that an installer can read.
func (c *call) write(name, text string) *pannier.ToolError {
	c.readable = append(c.readable, name)
	_ = os.Remove(name) // that of the declaration before, which its owner cannot write to
	if err := os.WriteFile(name, []byte(text+"\n"), 0o444); err != nil {
		return toolError(pannier.ToolCopyFailed, "a file of the installation was not written: "+err.Error(), "free space for the runner, or name another directory with --dir")
	}
	return nil
}

// npm returns the command of npm, in a copy of the skill that it can write to. No script of a package is run, and no git:
// npm prepares packages of repositories by their own scripts, and a file .npmrc can name another program for git.
func (c *call) npm(n *need) ([]string, *pannier.ToolError) {
	npm, failed := c.program("npm")
	if failed != nil {
		return nil, failed
	}
	if err := c.copyTo(c.path("scratch/work")); err != nil {
		return nil, toolError(pannier.ToolCopyFailed, "the skill was not copied: "+err.Error(), "free space for the runner, or name another directory with --dir")
	}
	command := "install"
	if c.has(path.Join(path.Dir(n.file), "package-lock.json"), false) {
		command = "ci"
	}
	return []string{npm, command, "--omit=dev", "--ignore-scripts", "--git=/nonexistent/git", "--install-links", "--no-audit", "--no-fund", "--loglevel=error"}, nil
}

// copyTo copies the skill for the user of the tools.
func (c *call) copyTo(dir string) error {
	root := os.Geteuid() == 0
	made := map[string]bool{".": true}
	own := func(name string) error {
		if !root {
			return nil
		}
		return os.Lchown(name, c.e.UID, c.e.GID)
	}
	var makeDir func(name string) error
	makeDir = func(name string) error {
		if made[name] {
			return nil
		}
		if err := makeDir(path.Dir(name)); err != nil {
			return err
		}
		made[name] = true
		return errors.Join(os.Mkdir(filepath.Join(dir, name), 0o755), own(filepath.Join(dir, name)))
	}
	for i := range c.job.Files {
		name := c.job.Files[i].Path
		if err := makeDir(path.Dir(name)); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(c.skill, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err := errors.Join(err, own(filepath.Join(dir, name))); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf counts the files below a directory and their bytes.
func sizeOf(dir string) (files int, size int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // what cannot be read is not counted
		}
		if info, err := e.Info(); err == nil {
			files, size = files+1, size+info.Size()
		}
		return nil
	})
	return files, size
}
