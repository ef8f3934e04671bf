package sidecar

import (
	"fmt"

	"pannier"
	"pannier/internal/policyfile"
	"pannier/registry"
)

// acknowledge ends a condition that lasts until an operator has looked at it.
func (c *core) acknowledge(condition string) (*pannier.Snapshot, error) {
	r := c.state.refusals
	switch condition {
	case registry.CodeStateLost:
		if r.lost.Load() == nil {
			break
		}
		if err := r.checkEnd(c.state.dir); err != nil {
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
		if !c.state.audit.acknowledge() {
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
func (c *core) showRefusals() *pannier.Snapshot {
	set := c.state.refusals.policies.All()
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
