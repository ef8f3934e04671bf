package molecule

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pannier"
	"pannier/internal/fsx"
)

const (
	// maxPromotions bounds the promotions that wait for a platform; the oldest is dropped for a new one.
	maxPromotions = 32
	// promotionLasts is how long one is tried.
	promotionLasts = 7 * 24 * time.Hour
	// maxPromotionBytes bounds the file of one.
	maxPromotionBytes = 4 << 20
	// A promotion that was not taken is tried again after promotionLeast, doubled up to promotionMost.
	promotionLeast = 15 * time.Second
	promotionMost  = 15 * time.Minute
	promotionInfix = "-promotion-"
)

// pendingPromotion is one that the platform has not taken.
type pendingPromotion struct {
	Platform    string          `json:"platform"`
	WorkspaceID string          `json:"workspace_id"`
	At          time.Time       `json:"at"`
	Summary     string          `json:"summary"`
	Repetition  json.RawMessage `json:"repetition_signal"`
	Packet      json.RawMessage `json:"packet"`
	Heartbeat   bool            `json:"heartbeat"`
	// failed is why the newest try failed.
	failed string
}

func (q pendingPromotion) promotion() pannier.Promotion {
	return pannier.Promotion{Packet: q.Packet, Summary: q.Summary, Repetition: q.Repetition}
}

// path names the file of a promotion by the digest of its packet, so that the same packet waits once. It is empty where
// there is no outbox.
func (q pendingPromotion) path(b *outbox) string {
	if b.dir == "" {
		return ""
	}
	sum := pannier.DigestOf(q.Packet)
	return strings.TrimSuffix(b.path(), ".json") + promotionInfix + hex.EncodeToString(sum[:8]) + ".json"
}

// Promote tells the platform that a packet asks for a workflow to become a skill: as an activity, and with heartbeat as what
// the agent is at. It tries once, and with a token that was replaced meanwhile once more. A promotion that the platform does
// not take is kept in the outbox, and sent again until it is taken or a week has passed; kept reports that. Errors are free
// of secrets.
func (p *Publisher) Promote(ctx context.Context, promotion pannier.Promotion, heartbeat bool) (kept bool, err error) {
	if err = p.announce(ctx, promotion, heartbeat); err == nil {
		return false, nil
	}
	q := pendingPromotion{
		Platform: p.outbox.platform, WorkspaceID: p.workspaceID, At: time.Now().UTC(), Summary: promotion.Summary, Repetition: promotion.Repetition,
		Packet: promotion.Packet, Heartbeat: heartbeat, failed: err.Error(),
	}
	if unkept := p.keepPromotion(q); unkept != nil {
		return false, fmt.Errorf("%w; nor could it be kept: %w", err, unkept)
	}
	return true, err
}

// keepPromotion puts a promotion at the end of those that wait, on disk first. Without an outbox it waits in memory.
func (p *Publisher) keepPromotion(q pendingPromotion) error {
	if path := q.path(&p.outbox); path != "" {
		text, err := json.Marshal(q)
		if err == nil {
			err = p.outbox.write(path, text)
		}
		if err != nil {
			return err
		}
	}
	p.mu.Lock()
	p.removeLocked(q)
	p.promotions = append(p.promotions, q)
	var surplus []pendingPromotion
	if n := len(p.promotions) - maxPromotions; n > 0 {
		surplus = slices.Clone(p.promotions[:n])
		p.promotions = slices.Delete(p.promotions, 0, n)
	}
	p.mu.Unlock()
	for _, old := range surplus {
		p.log.Warn("promotion given up, because too many wait", "summary", old.Summary, "error", old.failed)
		p.removeFile(old)
	}
	ring(p.promoted)
	return nil
}

func (p *Publisher) removeLocked(q pendingPromotion) {
	p.promotions = slices.DeleteFunc(p.promotions, func(other pendingPromotion) bool { return bytes.Equal(other.Packet, q.Packet) })
}

// removeFile removes a promotion from the disk. Where that fails it is sent once more after the next start, which does no harm.
func (p *Publisher) removeFile(q pendingPromotion) {
	if path := q.path(&p.outbox); path != "" {
		_ = os.Remove(path)
	}
}

// restorePromotions takes up those that waited when the process before ended.
func (p *Publisher) restorePromotions() {
	if p.outbox.dir == "" {
		return
	}
	paths, _ := filepath.Glob(strings.TrimSuffix(p.outbox.path(), ".json") + promotionInfix + "*.json")
	for _, path := range paths[:min(len(paths), maxPromotions)] {
		q, err := readPromotion(path)
		if err == nil && (q.Platform != p.outbox.platform || q.WorkspaceID != p.workspaceID || len(q.Packet) == 0) {
			err = errors.New("it belongs to another platform or workspace")
		}
		if err != nil {
			p.log.Warn("promotion in the outbox not read", "file", path, "error", err)
			continue
		}
		p.promotions = append(p.promotions, q)
	}
	slices.SortFunc(p.promotions, func(a, b pendingPromotion) int { return a.At.Compare(b.At) })
}

func readPromotion(path string) (q pendingPromotion, err error) {
	text, _, err := fsx.ReadRegular(path, 0, maxPromotionBytes)
	if err == nil {
		err = json.Unmarshal(text, &q)
	}
	q.failed = "not sent since the restart"
	return q, err
}

// sendPromotions sends those that wait, the oldest first, until ctx is done.
func (p *Publisher) sendPromotions(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		q, ok := p.oldestPromotion()
		if !ok {
			failures = 0
			select {
			case <-ctx.Done():
				return
			case <-p.promoted:
			}
			continue
		}
		wait(ctx, max(promotionDelay(failures), p.throttle.left(time.Now())), nil)
		if ctx.Err() != nil {
			return
		}
		timed, cancel := context.WithTimeout(ctx, activityTimeout)
		err := p.announce(timed, q.promotion(), q.Heartbeat)
		cancel()
		if ctx.Err() != nil {
			return
		}
		p.settlePromotion(q, err)
		if failures++; err == nil {
			failures = 0
		}
	}
}

func promotionDelay(failures int) time.Duration {
	delay := promotionLeast
	for range failures {
		delay = min(2*delay, promotionMost)
	}
	return delay
}

func (p *Publisher) oldestPromotion() (pendingPromotion, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.promotions) == 0 {
		return pendingPromotion{}, false
	}
	return p.promotions[0], true
}

// settlePromotion takes in how a try went. One that failed goes behind the others, so that it holds up none.
func (p *Publisher) settlePromotion(q pendingPromotion, err error) {
	over := time.Since(q.At) > promotionLasts
	p.mu.Lock()
	p.removeLocked(q)
	if err != nil && !over {
		q.failed = err.Error()
		p.promotions = append(p.promotions, q)
	}
	p.mu.Unlock()
	switch {
	case err == nil:
		p.log.Info("promotion taken by the platform", "summary", q.Summary)
		p.removeFile(q)
	case over:
		p.log.Warn("promotion given up, because it was not taken for a week", "summary", q.Summary, "error", err)
		p.removeFile(q)
	}
}

// promotionConditionLocked says that promotions wait.
func (p *Publisher) promotionConditionLocked() []pannier.Condition {
	if len(p.promotions) == 0 {
		return nil
	}
	oldest := slices.MinFunc(p.promotions, func(a, b pendingPromotion) int { return a.At.Compare(b.At) })
	return []pannier.Condition{{
		Code: "promotion_pending", Severity: pannier.SeverityWarning, Since: oldest.At, Subject: p.name,
		Message: fmt.Sprintf("the platform has not taken %d promotions, the oldest %q: %s", len(p.promotions), oldest.Summary, oldest.failed),
		Hint:    "see the error; each is sent again until the platform takes it, for a week",
	}}
}
