package main

import (
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/config"
	toolexec "pannier/tools/execute"
	"pannier/tools/runner"
)

func (p *program) runnerCommand() *cobra.Command {
	var check bool
	var dir string
	var read, projects []string
	cmd := &cobra.Command{
		Use:   "runner",
		Short: "Carry out tools of skills in the agent's container",
		Long: `Connects to the socket of the sidecar and carries out the tools of skills that run as programs,
until SIGTERM or SIGINT. The sidecar decides which calls there are; it needs tools.runner: agent,
and the uid of this process in tools.runner_uids. A workspace has one runner.

Each tool runs in a sandbox, from a private copy of its skill whose files are those that the sidecar
has checked. With --check, the command prints what the sandbox of this container offers, and exits
with 1 if that is less than tools.sandbox: required needs.

Started by root, tools run as the user --tools-uid; otherwise as the user of the runner.`,
		Example: `  pannier runner --check
  pannier runner --socket /run/pannier/pannier.sock --workspace /configs --read /opt/venv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.settings()
			if err != nil {
				return err
			}
			var private []string
			if s.Given.Workspace {
				private = s.PrivatePaths()
			}
			carrier, err := toolexec.New(toolexec.Options{
				Dir: dir, UID: int(s.Tools.UID), Environ: p.environ, Read: read, Projects: projects, Private: private, Version: build().Version,
			})
			if err != nil {
				return &exitError{code: exitUnknown, message: err.Error(), hint: "name a directory that is writable and may hold executables with --dir"}
			}
			defer carrier.Close()
			if check {
				return p.checkSandbox(carrier.Report())
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			p.newRunner(s, carrier).Run(ctx)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&check, "check", false, "print what the sandbox offers here, and exit")
	flags.StringVar(&dir, "dir", "", "`directory` for copies of skills, whose file system allows executables (default: $TMPDIR or /tmp)")
	flags.StringArrayVar(&read, "read", nil, "`directory` that tools may read, besides those of the system; repeatable")
	flags.StringArrayVar(&projects, "project", nil, "`directory` in which a call may name a project_dir to write in; repeatable")
	return p.jsonFlag(p.share(cmd, "workspace", "socket", "config", "tools-uid"))
}

func (p *program) newRunner(s config.Settings, carrier *toolexec.Executor) *runner.Runner {
	r := &runner.Runner{
		Socket: s.Socket.Path, Executor: carrier, Idle: runner.ReleaseMemory,
		Log: func(text string) { _ = sayf(p.err, "%s", text) },
	}
	if s.Given.Workspace {
		r.Workspace = s.Workspace
	}
	return r
}

// checkSandbox prints what a runner offers here.
func (p *program) checkSandbox(r pannier.RunnerReport) error {
	r.Connected = false
	if p.json {
		if err := p.printJSON(r); err != nil {
			return err
		}
	} else if err := p.printSandbox(r); err != nil {
		return err
	}
	if r.Level != pannier.SandboxRequired || r.Exposed != "" {
		return &exitError{code: exitNo}
	}
	return nil
}

func (p *program) printSandbox(r pannier.RunnerReport) error {
	landlock := "none"
	if r.Landlock > 0 {
		landlock = "ABI " + strconv.Itoa(r.Landlock)
	}
	rows := [][]string{
		{"LAYER", "HERE"},
		{"landlock", landlock},
		{"seccomp", yesOrNone(r.Seccomp)},
		{"namespaces", orNone(strings.Join(r.Namespaces, ", "))},
		{"own loopback", yesOrNone(r.Loopback)},
		{"bounds of a call", strings.ReplaceAll(orNone(strings.Join(r.Cgroup, ", ")), "_", " ")},
		{"tools run as", strconv.Itoa(r.ToolUID)},
		{"python3", orNone(r.Python)},
		{"sandbox", orNone(r.Level)},
	}
	if err := p.table(rows); err != nil {
		return err
	}
	if r.Exposed != "" {
		if err := sayf(p.out, "exposed: %s", r.Exposed); err != nil {
			return err
		}
	}
	if r.NoCgroup != "" {
		if err := sayf(p.out, "bounds: %s; what is not listed is bounded for each process", r.NoCgroup); err != nil {
			return err
		}
	}
	for _, missing := range r.Missing {
		if err := sayf(p.out, "missing: %s", missing); err != nil {
			return err
		}
	}
	return nil
}

func yesOrNone(there bool) string {
	if there {
		return "yes"
	}
	return "none"
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
