package admin

import (
	"context"
	"fmt"

	"pannier"
)

// promotionDetail is what the audit log says of a packet: which it was, without all of it.
type promotionDetail struct {
	Summary   string                   `json:"summary"`
	Digest    pannier.Digest           `json:"digest"`
	Platforms []pannier.ActivityResult `json:"platforms,omitempty"`
}

// Promote records a packet that asks for a workflow to become a skill, and tells the platforms. It makes no skill. A platform
// that does not take the activity is told of in the answer, and keeps nothing from being recorded.
func (d *Service) Promote(ctx context.Context, actor pannier.Actor, p pannier.Promotion) (pannier.SkillPromotion, error) {
	recorded := pannier.SkillPromotion{Summary: p.Summary, Digest: pannier.DigestOf(p.Packet), Repetition: p.Repetition, Packet: p.Packet}
	detail := promotionDetail{Summary: p.Summary, Digest: recorded.Digest}
	intent, err := d.o.Audit.Append(pannier.AuditEntry{Phase: pannier.AuditIntent, Action: pannier.ActionPromote, Actor: actor, Detail: detail})
	if err != nil {
		return pannier.SkillPromotion{}, fmt.Errorf("promote: %w", err)
	}
	if d.o.Activity != nil {
		recorded.Platforms = d.o.Activity(context.WithoutCancel(ctx), p)
	}
	detail.Platforms = recorded.Platforms
	d.conclude(intent, done{detail: detail}, nil)
	d.o.Emit(pannier.EventSkillPromotion, recorded)
	return recorded, nil
}
