package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/policyfile"
	"pannier/publish/client"
	"pannier/registry"
)

// acknowledge ends a condition that lasts until an operator has looked at it.
func (c *sidecar) acknowledge(condition string) (*pannier.Snapshot, error) {
	r := c.memory.refusals
	switch condition {
	case registry.CodeStateLost:
		if r.lost.Load() == nil {
			break
		}
		if err := r.checkEnd(c.memory.dir); err != nil {
			return nil, err
		}
		if err := r.end(); err != nil {
			return nil, err
		}
		return c.showRefusals(), nil
	case codePolicyRestored:
		if r.problems.Swap(nil) == nil {
			break
		}
		return c.registry.Current(), nil
	case codeAuditBroken:
		if !c.memory.audit.acknowledge() {
			break
		}
		return c.registry.Current(), nil
	}
	return nil, &pannier.Refusal{
		Code: "health.condition", Message: fmt.Sprintf("health has no condition %.80q that can be acknowledged", condition),
		Hint: fmt.Sprintf("run \"pannier health\"; the conditions that can be acknowledged are %s, %s and %s", registry.CodeStateLost, codePolicyRestored, codeAuditBroken),
	}
}

// showRefusals hands policy and blocks to the registry once they are known.
func (c *sidecar) showRefusals() *pannier.Snapshot {
	set := c.memory.refusals.policies.All()
	return c.registry.Update(func(in *registry.Inputs) {
		in.Policies.Workspace, in.Lost = set, nil
	})
}

// checkEnd refuses to end a loss where a policy file cannot be written, or need not be: one that is intact again is read by the
// next start.
func (r *refusals) checkEnd(dir string) error {
	if dir == "" {
		return &pannier.Refusal{
			Code: "state.unwritable", Message: "the state directory cannot be used, so a new policy file would not outlive this process",
			Hint: "repair the state directory or choose another with --state-dir, and restart",
		}
	}
	if _, from, _ := policyfile.Load(dir); from == policyfile.Current {
		return &pannier.Refusal{
			Code: "state.intact", Message: "the policy file can be read again, so nothing is lost",
			Hint: "restart the sidecar, which reads it",
		}
	}
	return nil
}

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
				fmt.Fprintf(p.out, "acknowledged %s; health is %s\n", printable(args[0]), printable(string(h.Status)))
				return nil
			})
		},
	})
}
