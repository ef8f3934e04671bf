package molecule

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"pannier"
)

// activityTimeout bounds what telling of a promotion takes: activity and heartbeat together.
const activityTimeout = 5 * time.Second

// announce tells the platform of a promotion once. A heartbeat replaces all that the one before said, so this one repeats what
// the platform shows of it.
func (p *Publisher) announce(ctx context.Context, promotion pannier.Promotion, heartbeat bool) error {
	ctx, cancel := context.WithTimeout(ctx, activityTimeout)
	defer cancel()
	err := p.tell(ctx, p.activity, ActivityRequest{
		Type: ActivityPromotion, Method: MethodPromotion, Summary: promotion.Summary, Status: "ok", SourceID: p.workspaceID,
		RequestBody: promotion.Packet, Metadata: promotionMetadata(promotion),
	})
	if err != nil || !heartbeat {
		return err
	}
	beat := p.lastHeartbeat(ctx)
	beat.WorkspaceID, beat.ActiveTasks, beat.CurrentTask = p.workspaceID, max(1, beat.ActiveTasks), promotionTask+promotion.Summary
	return p.tell(ctx, p.heartbeat, beat)
}

// lastHeartbeat returns what the platform shows of the agent's newest heartbeat; what it does not show is zero.
func (p *Publisher) lastHeartbeat(ctx context.Context) (beat HeartbeatRequest) {
	token, err := p.readToken()
	if err != nil {
		return beat
	}
	_, _ = p.exchange(ctx, call{method: http.MethodGet, target: p.workspace, token: token, most: maxDescriptionBytes, take: func(body io.Reader) error {
		s := newSkim(body)
		if ok, err := s.enter('{'); !ok {
			return err
		}
		shown, err := s.members(func(string) int { return maxKeyBytes })
		for _, field := range []struct {
			into  any
			names [2]string
		}{
			{&beat.ActiveTasks, [2]string{"active_tasks"}},
			{&beat.UptimeSeconds, [2]string{"uptime_seconds"}},
			{&beat.ErrorRate, [2]string{"error_rate", "last_error_rate"}},
			{&beat.SampleError, [2]string{"sample_error", "last_sample_error"}},
		} {
			for _, name := range field.names {
				_ = json.Unmarshal(shown[name], field.into) // an absent one stays zero
			}
		}
		return err
	}})
	return beat
}

// Name returns what health and events call the platform.
func (p *Publisher) Name() string { return p.name }

// LacksURL reports whether the newest card that was pushed has no url: neither the settings nor the platform has one.
func (p *Publisher) LacksURL() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lacksURL
}

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
