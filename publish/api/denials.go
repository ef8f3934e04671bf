package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
)

// denialReasons are the codes of requests that are refused because of who sends them, over HTTP with 401 or 403.
var denialReasons = []string{"token_missing", "token_unknown", "ticket_unknown", "forbidden", "browser_refused", "host_refused", "peer_unknown"}

// The bounds of what denials leave: lines of the log for each reason, and audit entries of all clients, of which one is for each
// client and request.
const (
	denialLogEvery   = time.Minute
	denialAuditEvery = time.Hour
	maxDenialAudits  = 20
)

// denials reports denied requests: in a metric each, in the log one line for each reason and minute, and denied changes in the audit
// log. It is for any number of callers.
type denials struct {
	total *prometheus.CounterVec
	log   hclog.Logger
	audit func(pannier.AuditEntry) (pannier.AuditEntry, error) // nil where nothing is audited

	mu        sync.Mutex
	logged    map[string]uint64 // by reason: how many were not logged since the line that began the minute
	begun     time.Time         // of the hour of audited
	audited   map[string]bool   // by client and request
	unaudited uint64            // since the last entry
}

func newDenials(o *Options) *denials {
	d := &denials{total: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pannier_api_denied_total", Help: "Requests that were denied because of who sent them, by the code of the error.",
	}, []string{"reason"}), log: o.Logger, audit: o.AuditDenied, logged: map[string]uint64{}}
	for _, reason := range denialReasons {
		d.total.WithLabelValues(reason)
	}
	if o.Registerer != nil {
		o.Registerer.MustRegister(d.total)
	}
	return d
}

// record reports a denied request. what names it, by its route or its method; change says that it could change something.
func (d *denials) record(r *http.Request, denied *statusError, what string, change bool) {
	d.total.WithLabelValues(denied.code).Inc()
	actor := ActorOf(r)
	if _, known := CallerFrom(r.Context()); !known {
		actor = pannier.Actor{Kind: "tcp"}
	}
	d.mu.Lock()
	_, counting := d.logged[denied.code]
	if counting {
		d.logged[denied.code]++
	} else {
		d.logged[denied.code] = 0
		time.AfterFunc(denialLogEvery, func() { d.endMinute(denied.code) })
	}
	d.mu.Unlock()
	if !counting {
		d.log.Info("request denied", "reason", denied.code, "request", what, "client", actor.Owner(), "detail", denied.detail)
	}
	if change && d.audit != nil {
		d.auditChange(actor, denied, what, r.PathValue("slug"))
	}
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

func (d *denials) auditChange(actor pannier.Actor, denied *statusError, what, slug string) {
	key, now := actor.Owner()+" "+what, time.Now()
	d.mu.Lock()
	if now.Sub(d.begun) >= denialAuditEvery {
		d.begun, d.audited = now, map[string]bool{}
	}
	if d.audited[key] || len(d.audited) >= maxDenialAudits {
		d.unaudited++
		d.mu.Unlock()
		return
	}
	d.audited[key] = true
	before := d.unaudited
	d.unaudited = 0
	d.mu.Unlock()
	if _, slug = pannier.SplitQualified(slug); len(slug) > maxDeniedSlug {
		slug = ""
	}
	_, err := d.audit(pannier.AuditEntry{
		Phase: pannier.AuditOutcome, Action: pannier.ActionDenied, Actor: actor, Slug: slug, Error: denied.detail,
		Detail: deniedRequest{what, denied.code, before},
	})
	if err != nil {
		d.log.Warn("a denied request was not audited", "request", what, "error", err)
	}
}

const maxDeniedSlug = 128

// deniedRequest is the detail of an audit entry of a denied request. Unaudited counts those since the entry before.
type deniedRequest struct {
	Request   string `json:"request"`
	Reason    string `json:"reason"`
	Unaudited uint64 `json:"unaudited,omitempty"`
}

// deny reports a request that is denied before its handler is called, and returns its error.
func (h *Handler) deny(r *http.Request, err error) error {
	if e, ok := errors.AsType[*statusError](err); ok && slices.Contains(denialReasons, e.code) {
		_, pattern := h.mux.Handler(r)
		h.denials.record(r, e, cmp.Or(pattern, "no route"), h.routes[pattern].scope != "")
	}
	return err
}
