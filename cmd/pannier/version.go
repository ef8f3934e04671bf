package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// linkedVersion is set by the linker in a release: -X main.linkedVersion=v1.2.3.
var linkedVersion string

// version returns the version of this build, "devel" where nobody gave it one.
func version() string {
	if linkedVersion != "" {
		return linkedVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// versionLine returns what the command and the flag print: the version, the commit where the build knows it, and the toolchain.
func versionLine() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return fmt.Sprintf("pannier %s%s %s %s/%s", version(), commitWords(info.Settings), goVersion(), runtime.GOOS, runtime.GOARCH)
}

// commitWords returns the commit of a build, with a blank before it, and nothing where the build does not know it.
func commitWords(settings []debug.BuildSetting) string {
	var commit, modified string
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	if commit == "" {
		return ""
	}
	return " (commit " + commit + modified + ")"
}

func goVersion() string { return runtime.Version() }

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.out, versionLine())
			return err
		},
	}
}
