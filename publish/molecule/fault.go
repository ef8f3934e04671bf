package molecule

import (
	"errors"
	"net/http"
	"time"

	"pannier"
)

// fault says why something beside the pushes does not work.
type fault struct {
	err   string // free of secrets
	hint  string
	since time.Time
	// severity is a warning where a person has to act, and info where nothing is lost but time.
	severity pannier.Severity
}

// The hints of what is beside the pushes.
const (
	hintNoStream = "nothing is lost: the card is checked and the peers are read every five minutes. If the platform has no event stream, set platform.events to false; a hosted one answers so when the header X-Molecule-Org-Id is missing"
	hintSize     = "the answer is larger than pannier reads: see which workspace publishes a card of many megabytes, and have it made smaller"
	hintNoPeers  = "the platform does not know the workspace, or has no list of peers; a hosted one answers so when the header X-Molecule-Org-Id is missing"
)

// faultOf turns an outcome into what health tells.
func faultOf(o outcome, notFound string) *fault {
	f := &fault{err: o.err.Error(), hint: o.hint, severity: pannier.SeverityInfo, since: time.Now()}
	switch o.reason {
	case reasonUnauthorized:
		f.severity = pannier.SeverityWarning
	case reasonNotFound:
		f.hint = notFound
	}
	return f
}

// blame notes a fault in its place, and reports whether it is another one than was there. What goes on keeps its time.
func (p *Publisher) blame(place **fault, f *fault) (news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := *place
	if before != nil {
		f.since = before.since
	}
	*place = f
	return before == nil || before.err != f.err
}

// acquit notes that all is well, and reports whether it was not.
func (p *Publisher) acquit(place **fault) (news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	news = *place != nil
	*place = nil
	return news
}

// besides makes the outcome of a request that is no push. It returns an error that is free of secrets.
func (p *Publisher) besides(what, token string, a answer, err error) outcome {
	o := p.classify(a, err)
	if o.plan == planStop || errors.Is(err, errNoStream) || errors.Is(err, errNoList) || errors.Is(err, errNoDescription) {
		o.plan, o.reason, o.hint = planSlow, reasonOther, hintOther
	}
	if errors.Is(err, errTooLarge) { // which only a list of peers and a description of a workspace are here
		o.plan, o.reason, o.hint = planSlow, reasonOther, hintSize
	}
	if o.plan != planDone {
		o.err = errors.New(what + ": " + secretsOf(token, p.header).complaint(a, err))
	}
	return o
}

// routeless reports whether an answer says that there is no such thing, which does not change within minutes.
func routeless(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented:
		return true
	}
	return false
}

// Conditions tells what is wrong beside the pushes: that the workspace was removed, that requests are refused for their rate, that the CA file can not be used, that something else keeps replacing
// the card, that it has no room for what others have written beside it, that what is registered is not known, that the event
// stream is not followed, that peers are not those of now. Those of severity info cost nothing but time.
func (p *Publisher) Conditions() []pannier.Condition {
	conditions := p.network.condition(p.name)
	p.mu.Lock()
	defer p.mu.Unlock()
	conditions = append(conditions, p.throttle.condition(p.name, time.Now())...)
	conditions = append(conditions, p.contest.condition(p.name, time.Now())...)
	conditions = append(conditions, p.unkept.condition(p.name)...)
	conditions = append(conditions, p.sightConditions()...)
	conditions = append(conditions, p.promotionConditionLocked()...)
	if f := p.removed; f != nil {
		conditions = append(conditions, f.condition("workspace_removed", p.name, "the platform does not have this workspace: "+f.err))
	}
	if f := p.deaf; f != nil {
		conditions = append(conditions, f.condition("platform_events_lost", p.name, "the platform's event stream is not followed: "+f.err))
	}
	if f := p.stale; f != nil {
		conditions = append(conditions, f.condition("peers_stale", p.name, p.peers.words()+": "+f.err))
	}
	return conditions
}

func (f *fault) condition(code, subject, message string) pannier.Condition {
	return pannier.Condition{Code: code, Severity: f.severity, Since: f.since, Subject: subject, Message: message, Hint: f.hint}
}
