package admin

import (
	"context"
	"fmt"

	"pannier"
)

// acknowledgeDetail is the audited detail of an acknowledgement.
type acknowledgeDetail struct {
	Condition string `json:"condition"`
}

// Acknowledge ends a health condition that lasts until an operator acknowledges it.
func (s *Service) Acknowledge(ctx context.Context, actor pannier.Actor, condition string) (*pannier.Snapshot, error) {
	if len(condition) > maxSlugBytes {
		return nil, &pannier.Refusal{Code: "health.condition", Message: "the code of the condition is too long", Hint: "give a code that health shows"}
	}
	detail := acknowledgeDetail{condition}
	entry := pannier.AuditEntry{Action: pannier.ActionAcknowledge, Actor: actor, Detail: detail}
	snapshot, err := s.mutate(ctx, entry, func() (outcome, error) {
		snapshot, err := s.o.Acknowledge(condition)
		return outcome{snapshot: snapshot, detail: detail}, err
	})
	if err != nil {
		return nil, fmt.Errorf("acknowledge %s: %w", condition, err)
	}
	return snapshot, nil
}
