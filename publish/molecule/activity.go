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
	"pannier/publish/push"
)

const activityTimeout = 5 * time.Second

// announce reports a promotion once. A heartbeat replaces every field of the one before, so this one repeats what the
// platform shows of it.
func (p *Promoter) announce(ctx context.Context, promotion pannier.Promotion, heartbeat bool) error {
	ctx, cancel := context.WithTimeout(ctx, activityTimeout)
	defer cancel()
	err := p.report(ctx, p.activity, ActivityRequest{
		Type: ActivityPromotion, Method: MethodPromotion, Summary: promotion.Summary, Status: "ok", SourceID: p.workspaceID,
		RequestBody: promotion.Packet, Metadata: promotionMetadata(promotion),
	})
	if err != nil || !heartbeat {
		return err
	}
	beat := p.lastHeartbeat(ctx)
	beat.WorkspaceID, beat.ActiveTasks, beat.CurrentTask = p.workspaceID, max(1, beat.ActiveTasks), promotionTask+promotion.Summary
	return p.report(ctx, p.heartbeat, beat)
}

// lastHeartbeat returns what the platform shows of the agent's newest heartbeat; other fields are zero.
func (p *Promoter) lastHeartbeat(ctx context.Context) (beat HeartbeatRequest) {
	_, _, _ = p.do(ctx, Call{Method: http.MethodGet, Target: p.workspace, Limit: maxDescriptionBytes, take: func(body io.Reader) error {
		d := newBoundedDecoder(body)
		if ok, err := d.enter('{'); !ok {
			return err
		}
		shown, err := d.members(func(string) int { return maxKeyBytes })
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

// promotionTask is the prefix by which the canvas recognizes a promotion.
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
