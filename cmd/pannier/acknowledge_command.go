package main

import (
	"context"

	"github.com/spf13/cobra"

	"pannier"
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
				show := func(h pannier.Health) error {
					return sayf(p.out, "acknowledged %s; health is %s", args[0], h.Status)
				}
				return output(p, show)(c.Acknowledge(ctx, args[0]))
			})
		},
	}), asksSidecar...)
}
