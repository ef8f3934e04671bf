package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pannier/internal/plain"
	"pannier/publish/client"
)

func (p *program) acknowledgeCommand() *cobra.Command {
	return p.share(p.jsonFlag(&cobra.Command{
		Use:   "acknowledge CONDITION",
		Short: "End a condition that lasts until an operator acknowledges it",
		Long: `Ends a condition of health that lasts until an operator acknowledges it. The acknowledgement is
recorded in the audit log.

  state_lost       policy and scan results were lost, and every skill is blocked until you end this.
                   Check "pannier policy list" and scan the skills first
  policy_restored  the policy file was damaged and has been restored completely
  audit_broken     entries of the audit log were changed or removed`,
		Example: "  pannier health acknowledge state_lost",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				h, err := c.Acknowledge(ctx, args[0])
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(h)
				}
				fmt.Fprintf(p.out, "acknowledged %s; health is %s\n", plain.Text(args[0]), plain.Text(string(h.Status)))
				return nil
			})
		},
	}), asksSidecar...)
}
