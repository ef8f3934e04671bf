package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pannier/internal/plain"
	"pannier/publish/client"
)

func (p *program) acknowledgeCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use:   "acknowledge CONDITION",
		Short: "End a condition of health that lasts until an operator has looked at it",
		Long: `Ends a condition that health keeps until an operator has looked at it. The acknowledgement is audited.

  state_lost       policy and scan results were lost. Every skill can be used again, by what is known of policy and scans;
                   check "pannier policy" and scan the skills first
  policy_restored  the policy file was damaged and restored without a loss
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
	})
}
