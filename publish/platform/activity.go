package platform

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"pannier"
)

// activityTimeout bounds what telling of a promotion takes: activity and heartbeat together.
const activityTimeout = 5 * time.Second

// Promote tells the platform that a packet asks for a workflow to become a skill: as an activity, and with heartbeat as what
// the agent is at, which zeroes whatever else a heartbeat tells. It tries once, and with a token that was replaced meanwhile
// once more. Errors are free of secrets.
func (p *Publisher) Promote(ctx context.Context, promotion pannier.Promotion, heartbeat bool) error {
	ctx, cancel := context.WithTimeout(ctx, activityTimeout)
	defer cancel()
	err := p.tell(ctx, p.activity, ActivityRequest{
		Type: ActivityPromotion, Method: MethodPromotion, Summary: promotion.Summary, Status: "ok", SourceID: p.workspaceID,
		RequestBody: promotion.Packet, Metadata: promotionMetadata(promotion),
	})
	if err != nil || !heartbeat {
		return err
	}
	return p.tell(ctx, p.heartbeat, HeartbeatRequest{
		WorkspaceID: p.workspaceID, ActiveTasks: 1, CurrentTask: promotionTask + promotion.Summary,
	})
}

// Name returns what health and events call the platform.
func (p *Publisher) Name() string { return p.name }

// promotionTask is what the canvas knows a promotion under way by.
const promotionTask = "Skill promotion: "

func promotionMetadata(promotion pannier.Promotion) PromotionMetadata {
	var fields struct {
		Scope    any `json:"scope"`
		MemoryID any `json:"memory_id"`
	}
	_ = json.Unmarshal(promotion.Packet, &fields) // a packet is an object, and these may be anything
	return PromotionMetadata{
		Source: "memory-curation", Scope: fields.Scope, MemoryID: fields.MemoryID, PromoteToSkill: true,
		RepetitionSignal: promotion.Repetition, MemoryPacket: promotion.Packet,
	}
}

// tell posts a value to the platform. A token that is refused is read again, and counts where it is another one.
func (p *Publisher) tell(ctx context.Context, target *url.URL, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	token, err := p.readToken()
	if err != nil {
		return errors.New(secretsOf("", p.header).complaint(answer{}, err))
	}
	a, err := p.post(ctx, target, body, token)
	if err == nil && a.status == http.StatusUnauthorized {
		if again, failed := p.readToken(); failed == nil && again != token {
			token = again
			a, err = p.post(ctx, target, body, token)
		}
	}
	if p.classify(a, err).plan == planDone {
		return nil
	}
	return errors.New(secretsOf(token, p.header).complaint(a, err))
}

func (p *Publisher) post(ctx context.Context, target *url.URL, body []byte, token string) (answer, error) {
	return p.exchange(ctx, call{method: http.MethodPost, target: target, body: body, token: token, most: maxAnswerBytes})
}
