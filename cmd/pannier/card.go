package main

import (
	"context"

	"github.com/spf13/cobra"

	"pannier/publish/client"
)

func (p *program) cardCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "card",
		Short:   "Print the agent card as it is pushed",
		Example: "  pannier card --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.reading(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				card, err := c.Card(ctx)
				if err != nil {
					return err
				}
				if p.json {
					return p.printLine(card)
				}
				return p.printJSON(card)
			})
		},
	}
	cmd.Flags().BoolVar(&p.json, "json", false, "print the card as the exact bytes, on one line")
	return p.share(cmd, readsSkills...)
}
