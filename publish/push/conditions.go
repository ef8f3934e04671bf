package push

import (
	"sync"
	"time"

	"pannier"
)

type fault struct {
	err, hint string // without secrets
	since     time.Time
	// severity is a warning if an operator has to act, and info if nothing is lost but time.
	severity pannier.Severity
}

// faultSlot holds the fault of one thing, or none. It is safe for concurrent use.
type faultSlot struct {
	mu    sync.Mutex
	fault *fault
}

// set records a fault and reports whether its error is new. A fault that goes on keeps its time.
func (s *faultSlot) set(f *fault) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.fault
	f.since = time.Now()
	if before != nil {
		f.since = before.since
	}
	s.fault = f
	return before == nil || before.err != f.err
}

func (s *faultSlot) clear() (was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = s.fault != nil
	s.fault = nil
	return was
}

func (s *faultSlot) conditions(code, subject, message string) []pannier.Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.fault
	if f == nil {
		return nil
	}
	return []pannier.Condition{{
		Code: code, Severity: f.severity, Since: f.since, Subject: subject, Message: message + ": " + f.err, Hint: f.hint,
	}}
}

func faultOf(a attempt) *fault {
	f := &fault{err: a.err.Error(), hint: a.Hint, severity: pannier.SeverityInfo}
	if a.Reason == Unauthorized {
		f.severity = pannier.SeverityWarning
	}
	return f
}

// Name is the target's name in health and events.
func (p *Publisher) Name() string { return p.name }

// Health reports how far the target is behind. Since is when the failures in a row began.
func (p *Publisher) Health() pannier.PushHealth {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	return p.state.slot.health(p.name)
}

// Conditions returns what is wrong besides the pushes: those of the target, and that another writer keeps replacing the
// card, that the target does not show what it holds, that it has removed the workspace, that events are not followed,
// and that the peers are outdated. Those of severity info cost nothing but time.
func (p *Publisher) Conditions() []pannier.Condition {
	var all []pannier.Condition
	if t, ok := p.target.(Conditioner); ok {
		all = t.Conditions(p.name)
	}
	p.state.mu.Lock()
	rivals := p.state.rivals
	p.state.mu.Unlock()
	all = append(all, rivals.conditions(p.name, time.Now())...)
	all = append(all, p.readFault.conditions("read_back_unavailable", p.name, "the platform does not show what it holds")...)
	all = append(all, p.missingFault.conditions("workspace_removed", p.name, "the platform does not have this workspace")...)
	all = append(all, p.streamFault.conditions("platform_events_lost", p.name, "the platform's event stream is not followed")...)
	return append(all, p.peersFault.conditions("peers_stale", p.name, p.peers.age())...)
}
