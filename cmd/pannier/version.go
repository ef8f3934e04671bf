package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"pannier/sidecar"

	"github.com/spf13/cobra"
)

// These are set by the linker in a release and in an image: -X main.linkedVersion=v1.2.3 -X main.linkedCommit=0a1b2c.
var linkedVersion, linkedCommit string

// version returns the version of this build, "devel" without one.
func version() string {
	if linkedVersion != "" {
		return linkedVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func build() sidecar.Build { return sidecar.Build{Version: version(), Commit: commit()} }

// versionLine returns what the command and the flag print: the version, the commit where the build knows it, and the toolchain.
func versionLine() string {
	return fmt.Sprintf("pannier %s%s %s %s/%s", version(), commitWords(commit()), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// commit returns the commit of this build, empty where the build does not know it.
func commit() string {
	if linkedCommit != "" {
		return linkedCommit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return commitOf(info.Settings)
}

func commitOf(settings []debug.BuildSetting) string {
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
	return commit + modified
}

// commitWords returns a commit in brackets with a blank before it, and nothing for an empty one.
func commitWords(commit string) string {
	if commit == "" {
		return ""
	}
	return " (commit " + commit + ")"
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  pannier version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.out, versionLine())
			return err
		},
	}
}
