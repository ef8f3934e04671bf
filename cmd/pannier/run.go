package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"pannier/admin/changes"
	"pannier/config"
	"pannier/sidecar"
)

func (p *program) runCommand() *cobra.Command {
	var tools bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the sidecar",
		Long: `Runs the sidecar until SIGTERM or SIGINT. SIGHUP rescans the workspace. If the sidecar runs on a
terminal, SIGHUP stops it, because the terminal was closed; use nohup or setsid to keep it running.

Without --platform-url, an embedded development platform gets the agent card; "off" pushes nothing.

--tools is for a laptop: it sets tools.enabled, tools.runner (self), tools.kinds (with script) and
tools.project_dirs (the current directory), if they are not given. Then run "pannier tool allow".

On a terminal, the log has short lines; elsewhere, and with --log-format=text or json, all fields.`,
		Example: `  pannier run --workspace ./agent --platform-url off --tools
  pannier run --workspace /configs --listen 127.0.0.1:9090 --platform-url https://platform.example`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// For the whole lifetime: an unhandled SIGHUP would end the process.
			hangups := make(chan os.Signal, 1)
			onTerminal := hasTerminal()
			signal.Notify(hangups, syscall.SIGHUP)
			// The sidecar outlives the reader of its log. Other commands end when their output is closed.
			signal.Ignore(syscall.SIGPIPE)
			var defaults config.Defaults
			if tools {
				defaults = config.ToolsHere(projectDir(p.environ))
			}
			s, counting, err := config.LoadOver(defaults, p.flags, withoutRemote(p.environ))
			switch {
			case err != nil:
				return fmt.Errorf("settings: %w", err)
			case tools && (!s.Tools.Enabled || s.Tools.Runner == config.RunnerNone):
				return failure("--tools turns tools on, and the settings turn them off (tools.enabled, tools.runner)",
					"leave --tools out, or remove these settings")
			case tools:
				var sets []any
				for _, key := range slices.Sorted(maps.Keys(counting)) {
					sets = append(sets, key, counting[key])
				}
				log := p.newLogger(s, p.err)
				log.Info("--tools lets tools of skills run here", sets...)
				if len(s.Tools.ProjectDirs) == 0 {
					log.Info("calls can name no project_dir: the home directory lies in the current directory",
						"hint", "start it in the directory of a project, or give --tools-project-dir")
				}
			}
			o := sidecar.Options{Settings: s, Environ: p.environ, Build: build(), LogTo: p.err, Changes: changes.Module, Modules: modules()}
			stops := []os.Signal{syscall.SIGTERM, syscall.SIGINT}
			if onTerminal {
				stops = append(stops, syscall.SIGHUP)
			} else {
				o.Hangups = hangups
			}
			o.NewLogger = func(to io.Writer) hclog.Logger { return p.newLogger(s, to) }
			// Before the socket is open: from then on a signal is a request to stop.
			ctx, stop := signal.NotifyContext(cmd.Context(), stops...)
			defer stop()
			// A second signal ends the process at once, but for SIGHUP: the kernel and the shell may both send it.
			context.AfterFunc(ctx, stop)
			daemon, err := sidecar.New(o)
			if err != nil {
				return err
			}
			return daemon.Run(ctx)
		},
	}
	cmd.Flags().BoolVar(&tools, "tools", false, "let tools of skills run here, scripts too")
	return p.shareSettings(cmd)
}

// projectDir returns the current directory, empty if tools should not be let write to all of it.
func projectDir(environ []string) string {
	dir, err := os.Getwd()
	home := filepath.Clean(variable(environ, "HOME"))
	if err != nil || strings.HasPrefix(home+"/", strings.TrimSuffix(dir, "/")+"/") {
		return ""
	}
	return dir
}

// hasTerminal reports whether a SIGHUP means that a terminal was closed: the terminal of stdin or stderr is that of the session, and
// the signal is not ignored, as under nohup.
func hasTerminal() bool {
	session, err := unix.Getsid(0)
	if err != nil || signal.Ignored(syscall.SIGHUP) {
		return false
	}
	return slices.ContainsFunc([]*os.File{os.Stdin, os.Stderr}, func(file *os.File) bool {
		of, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGSID)
		return err == nil && of == session
	})
}
