package molecule

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"pannier"
	"pannier/publish/push"
)

const activityTimeout = 5 * time.Second

// announce reports a promotion once.
func (p *Promoter) announce(ctx context.Context, promotion pannier.Promotion) error {
	ctx, cancel := context.WithTimeout(ctx, activityTimeout)
	defer cancel()
	var fields struct {
		Scope    any `json:"scope"`
		MemoryID any `json:"memory_id"`
	}
	_ = json.Unmarshal(promotion.Packet, &fields) // a packet is an object, and these may be anything
	return p.report(ctx, p.activity, ActivityRequest{
		Type: ActivityPromotion, Method: MethodPromotion, Summary: promotion.Summary, Status: "ok", SourceID: p.workspaceID,
		RequestBody: promotion.Packet, Metadata: PromotionMetadata{
			Source: "memory-curation", Scope: fields.Scope, MemoryID: fields.MemoryID, PromoteToSkill: true,
			RepetitionSignal: promotion.Repetition, MemoryPacket: promotion.Packet,
		},
	})
}

func (p *Promoter) report(ctx context.Context, target *url.URL, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	r := Call{Method: http.MethodPost, Target: target, Body: body, Limit: maxAnswerBytes}
	a, token, err := p.do(ctx, r)
	if err == nil && a.Status == http.StatusUnauthorized {
		if again, failed := p.readToken(); failed == nil && again != token {
			a, token, err = p.do(ctx, r)
		}
	}
	if p.classify(a, err).Plan == push.Done {
		return nil
	}
	return errors.New(p.complaint(token, a, err))
}
