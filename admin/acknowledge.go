package admin

import (
	"context"
	"fmt"

	"pannier"
)

// acknowledgeIntent is what the audit log says of a condition that a client acknowledges.
type acknowledgeIntent struct {
	Condition string `json:"condition"`
}

// Acknowledge ends a condition of health that lasts until an operator has looked at it.
func (d *Service) Acknowledge(ctx context.Context, actor pannier.Actor, condition string) (*pannier.Snapshot, error) {
	if len(condition) > maxSlugBytes {
		return nil, &pannier.Refusal{Code: "health.condition", Message: "the code of the condition is too long", Hint: "give a code that health shows"}
	}
	entry := pannier.AuditEntry{Action: pannier.ActionAcknowledge, Actor: actor, Detail: acknowledgeIntent{condition}}
	snapshot, err := d.mutate(ctx, entry, func() (done, error) {
		s, err := d.o.Acknowledge(condition)
		return done{snapshot: s, detail: acknowledgeIntent{condition}}, err
	})
	if err != nil {
		return nil, fmt.Errorf("acknowledge %s: %w", condition, err)
	}
	return snapshot, nil
}
