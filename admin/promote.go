package admin

import (
	"context"
	"fmt"

	"pannier"
)

// promotionDetail is the audited detail of a promotion: what identifies the packet, without its content.
type promotionDetail struct {
	Summary   string                   `json:"summary"`
	Digest    pannier.Digest           `json:"digest"`
	Platforms []pannier.ActivityResult `json:"platforms,omitempty"`
}

// Promote records a packet that asks for a workflow to become a skill, and reports it to the platforms. It creates no
// skill. The result lists the platforms that rejected the report; the packet is recorded anyway.
func (s *Service) Promote(ctx context.Context, actor pannier.Actor, p pannier.Promotion) (pannier.SkillPromotion, error) {
	recorded := pannier.SkillPromotion{Summary: p.Summary, Digest: pannier.DigestOf(p.Packet), Repetition: p.Repetition, Packet: p.Packet}
	detail := promotionDetail{Summary: p.Summary, Digest: recorded.Digest}
	_, err := s.audited(pannier.AuditEntry{Action: pannier.ActionPromote, Actor: actor, Detail: detail}, func() (outcome, error) {
		if s.o.Activity != nil {
			recorded.Platforms = s.o.Activity(context.WithoutCancel(ctx), p)
		}
		detail.Platforms = recorded.Platforms
		return outcome{detail: detail, event: pannier.EventSkillPromotion, data: recorded}, nil
	})
	if err != nil {
		return pannier.SkillPromotion{}, fmt.Errorf("promote: %w", err)
	}
	return recorded, nil
}
