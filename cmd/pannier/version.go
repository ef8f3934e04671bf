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

func goVersion() string { return runtime.Version() }

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(p.out, "pannier %s %s %s/%s\n", version(), goVersion(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
