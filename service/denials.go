package service

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
)

// denialReasons are the codes of what is refused because of who asks.
var denialReasons = []string{
	"token_missing", "token_unknown", "ticket_unknown", CodeForbidden, "browser_refused", "host_refused",
	"peer_unknown",
}

// The bounds of what denials leave: lines of the log for each reason, and audit entries of all clients, of which one
// is for each client and request.
const (
	denialLogEvery   = time.Minute
	denialAuditEvery = time.Hour
	maxDenialAudits  = 20
	maxDeniedSlug    = 128
)

// denials counts denied requests: in a metric each, in the log one line for each reason and minute, and denied
// changes in the audit log. It is for any number of callers.
type denials struct {
	total *prometheus.CounterVec
	log   hclog.Logger

	mu        sync.Mutex
	logged    map[string]uint64 // by reason: how many were not logged since the line that began the minute
	begun     time.Time         // of the hour of audited
	audited   map[string]bool   // by client and request
	unaudited uint64            // since the last entry
}

func newDenials(o *Options) *denials {
	d := &denials{total: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pannier_api_denied_total",
		Help: "Requests that were denied because of who sent them, by the code of the error.",
	}, []string{"reason"}), log: o.Logger, logged: map[string]uint64{}}
	for _, reason := range denialReasons {
		d.total.WithLabelValues(reason)
	}
	if o.Registerer != nil {
		o.Registerer.MustRegister(d.total)
	}
	return d
}

// Request is what a caller asks for, as records of denials name it.
type Request struct {
	// Name is that of its route or method, Slug that of the skill that it is about, empty for none.
	Name, Slug string
	// Changes says that it could change something, so that its denial is audited.
	Changes bool
}

// Deny records that a request is denied because of who asks, and returns why.
func (s *Service) Deny(ctx context.Context, r Request, why *pannier.Refusal) error {
	d, actor := s.denials, ActorFrom(ctx)
	if _, known := CallerFrom(ctx); !known {
		actor = pannier.Actor{Kind: "tcp"}
	}
	d.total.WithLabelValues(why.Code).Inc()
	d.mu.Lock()
	_, counting := d.logged[why.Code]
	if counting {
		d.logged[why.Code]++
	} else {
		d.logged[why.Code] = 0
		time.AfterFunc(denialLogEvery, func() { d.endMinute(why.Code) })
	}
	d.mu.Unlock()
	if !counting {
		d.log.Info(
			"request denied", "reason", why.Code, "request", r.Name, "client", actor.Owner(), "detail", why.Message,
		)
	}
	if !r.Changes || s.Audit == nil {
		return why
	}
	due, unaudited := d.auditDue(actor.Owner() + " " + r.Name)
	if !due {
		return why
	}
	entry := pannier.AuditEntry{
		Phase: pannier.AuditOutcome, Action: pannier.ActionDenied, Actor: actor, Error: why.Message,
		Detail: deniedRequest{r.Name, why.Code, unaudited},
	}
	if _, slug := pannier.SplitQualified(r.Slug); len(slug) <= maxDeniedSlug {
		entry.Slug = slug
	}
	if _, err := s.Audit.Append(entry); err != nil {
		d.log.Warn("a denied request was not audited", "request", r.Name, "error", err)
	}
	return why
}

// deniedRequest is the detail of an audit entry of a denied request. Unaudited counts those since the entry before.
type deniedRequest struct {
	Request   string `json:"request"`
	Reason    string `json:"reason"`
	Unaudited uint64 `json:"unaudited,omitempty"`
}

// endMinute logs how many requests were denied since the line that began the minute.
func (d *denials) endMinute(reason string) {
	d.mu.Lock()
	count := d.logged[reason]
	delete(d.logged, reason)
	d.mu.Unlock()
	if count > 0 {
		d.log.Info("more requests denied", "reason", reason, "count", count)
	}
}

// auditDue reports whether a denied request of a client is audited, and how many were not since the last one.
func (d *denials) auditDue(key string) (due bool, unaudited uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); now.Sub(d.begun) >= denialAuditEvery {
		d.begun, d.audited = now, map[string]bool{}
	}
	if d.audited[key] || len(d.audited) >= maxDenialAudits {
		d.unaudited++
		return false, 0
	}
	d.audited[key] = true
	unaudited, d.unaudited = d.unaudited, 0
	return true, unaudited
}
