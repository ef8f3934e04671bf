package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func (p *program) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages into a directory",
		Example: "  pannier man ./man1",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("make directory: %w", err)
			}
			p.root.DisableAutoGenTag = true
			if err := doc.GenManTree(p.root, &doc.GenManHeader{Section: "1", Source: "pannier " + version(), Manual: "pannier"}, args[0]); err != nil {
				return fmt.Errorf("write manual: %w", err)
			}
			return nil
		},
	}
}
