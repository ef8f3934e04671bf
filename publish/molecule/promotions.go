package molecule

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/fsx"
	"pannier/publish/push"
)

const (
	// maxPromotions bounds the promotions that wait; the oldest is dropped for a new one.
	maxPromotions = 32
	// promotionLasts is how long a promotion is sent.
	promotionLasts = 7 * 24 * time.Hour
	// maxPromotionBytes bounds the file of one.
	maxPromotionBytes = 4 << 20
	// A promotion that failed is sent again after promotionLeast, doubled up to promotionMost.
	promotionLeast = 15 * time.Second
	promotionMost  = 15 * time.Minute
	promotionInfix = "-promotion-"
)

// Promoter reports promotions to the platform of a target. Its methods may be called from any goroutine, Run once.
type Promoter struct {
	*Client
	activity         *url.URL
	endpoint, outbox string
	name             string
	log              hclog.Logger
	added            chan struct{} // has room for one signal

	mu      sync.Mutex
	waiting []pendingPromotion
}

// NewPromoter returns a promoter that keeps promotions in the directory of an outbox; empty keeps them in memory. name
// is that of the target in health. It reads those that wait there.
func NewPromoter(t *Target, outbox, name string, log hclog.Logger) *Promoter {
	p := &Promoter{
		Client: t.Client, activity: t.workspace.JoinPath("activity"),
		endpoint: t.Endpoint(), outbox: outbox, name: cmp.Or(name, t.Endpoint()), log: cmp.Or(log, hclog.NewNullLogger()), added: make(chan struct{}, 1),
	}
	p.restore()
	return p
}

type pendingPromotion struct {
	Platform    string          `json:"platform"`
	WorkspaceID string          `json:"workspace_id"`
	At          time.Time       `json:"at"`
	Summary     string          `json:"summary"`
	Repetition  json.RawMessage `json:"repetition_signal"`
	Packet      json.RawMessage `json:"packet"`
	// failed is why the newest attempt failed.
	failed string
}

// path names the file of a promotion by the digest of its packet, so that the same packet waits once. It is empty if
// there is no outbox.
func (p *Promoter) path(q pendingPromotion) string {
	if p.outbox == "" {
		return ""
	}
	sum := pannier.DigestOf(q.Packet)
	return push.OutboxPath(p.outbox, p.endpoint, p.workspaceID) + promotionInfix + hex.EncodeToString(sum[:8]) + ".json"
}

// Promote reports that a packet asks for a workflow to become a skill: as an activity. A promotion that
// fails is kept in the outbox and sent again until the platform accepts it or a week has passed; kept reports that. Errors
// hold no secret.
func (p *Promoter) Promote(ctx context.Context, promotion pannier.Promotion) (kept bool, err error) {
	if err = p.announce(ctx, promotion); err == nil {
		return false, nil
	}
	q := pendingPromotion{
		Platform: p.endpoint, WorkspaceID: p.workspaceID, At: time.Now().UTC(), Summary: promotion.Summary, Repetition: promotion.Repetition,
		Packet: promotion.Packet, failed: err.Error(),
	}
	if unkept := p.keep(q); unkept != nil {
		return false, fmt.Errorf("%w; nor could it be kept: %w", err, unkept)
	}
	return true, err
}

// keep adds a promotion to those that wait, on disk first. Without an outbox it waits in memory.
func (p *Promoter) keep(q pendingPromotion) error {
	if path := p.path(q); path != "" {
		text, err := json.Marshal(q)
		if err != nil {
			return err
		}
		if err := push.WriteOutbox(path, text, nil); err != nil {
			return err
		}
	}
	p.mu.Lock()
	p.removeLocked(q)
	p.waiting = append(p.waiting, q)
	var surplus []pendingPromotion
	if n := len(p.waiting) - maxPromotions; n > 0 {
		surplus = slices.Clone(p.waiting[:n])
		p.waiting = slices.Delete(p.waiting, 0, n)
	}
	p.mu.Unlock()
	for _, old := range surplus {
		p.log.Warn("promotion given up, because too many wait", "summary", old.Summary, "error", old.failed)
		p.removeFile(old)
	}
	select {
	case p.added <- struct{}{}:
	default:
	}
	return nil
}

func (p *Promoter) removeLocked(q pendingPromotion) {
	p.waiting = slices.DeleteFunc(p.waiting, func(other pendingPromotion) bool { return bytes.Equal(other.Packet, q.Packet) })
}

// removeFile removes a promotion from the disk. If that fails it is sent again after the next start, which does no
// harm.
func (p *Promoter) removeFile(q pendingPromotion) {
	if path := p.path(q); path != "" {
		_ = os.Remove(path)
	}
}

func (p *Promoter) restore() {
	if p.outbox == "" {
		return
	}
	paths, _ := filepath.Glob(push.OutboxPath(p.outbox, p.endpoint, p.workspaceID) + promotionInfix + "*.json")
	for _, path := range paths[:min(len(paths), maxPromotions)] {
		q := pendingPromotion{failed: "not sent since the restart"}
		text, _, err := fsx.ReadRegular(path, 0, maxPromotionBytes)
		if err == nil {
			err = json.Unmarshal(text, &q)
		}
		if err == nil && (q.Platform != p.endpoint || q.WorkspaceID != p.workspaceID || len(q.Packet) == 0) {
			err = errors.New("it belongs to another platform or workspace")
		}
		if err != nil {
			p.log.Warn("promotion in the outbox not read", "file", path, "error", err)
			continue
		}
		p.waiting = append(p.waiting, q)
	}
	slices.SortFunc(p.waiting, func(a, b pendingPromotion) int { return a.At.Compare(b.At) })
}

// Run sends promotions that wait, the oldest first, until ctx is done.
func (p *Promoter) Run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		var q pendingPromotion
		p.mu.Lock()
		waits := len(p.waiting) > 0
		if waits {
			q = p.waiting[0]
		}
		p.mu.Unlock()
		if !waits {
			failures = 0
			select {
			case <-ctx.Done():
			case <-p.added:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(min(promotionLeast<<min(failures, 16), promotionMost), p.Wait())):
		}
		err := p.announce(ctx, pannier.Promotion{Packet: q.Packet, Summary: q.Summary, Repetition: q.Repetition})
		if ctx.Err() != nil {
			return
		}
		p.record(q, err)
		if failures++; err == nil {
			failures = 0
		}
	}
}

// record records an attempt. A promotion that failed goes to the end, so that it delays no other one.
func (p *Promoter) record(q pendingPromotion, err error) {
	over := time.Since(q.At) > promotionLasts
	p.mu.Lock()
	p.removeLocked(q)
	if err != nil && !over {
		q.failed = err.Error()
		p.waiting = append(p.waiting, q)
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

// Conditions says that promotions wait.
func (p *Promoter) Conditions() []pannier.Condition {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return nil
	}
	oldest := slices.MinFunc(p.waiting, func(a, b pendingPromotion) int { return a.At.Compare(b.At) })
	return []pannier.Condition{{
		Code: "promotion_pending", Severity: pannier.SeverityWarning, Since: oldest.At, Subject: p.name,
		Message: fmt.Sprintf("the platform has not taken %d promotions, the oldest %q: %s", len(p.waiting), oldest.Summary, oldest.failed),
		Hint:    "see the error; each is sent again until the platform takes it, for a week",
	}}
}
