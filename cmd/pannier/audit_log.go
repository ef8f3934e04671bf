package main

import (
	"fmt"
	"sync"

	"pannier"
	"pannier/admin/audit"
)

// auditDir is the directory of the audit log below that of the state.
const auditDir = "audit"

// auditLog is the audit log of a sidecar. That it can not be opened or written is no reason not to serve skills: then
// nothing is changed, health says why, and the next change tries again. It is for any number of callers.
type auditLog struct {
	options audit.Options
	// checkPlace fails where an entry would be lost with this process.
	checkPlace func() error

	mu     sync.Mutex
	log    *audit.Log // nil until it could be opened
	failed error      // of the last attempt; nil after one that did not fail
}

// newAuditLog opens the log, if it can be.
func newAuditLog(o audit.Options, checkPlace func() error) *auditLog {
	l := &auditLog{options: o, checkPlace: checkPlace}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openLocked(); err != nil {
		o.Logger.Error("changes are refused, because they can not be audited", "error", err)
	}
	return l
}

func (l *auditLog) openLocked() error {
	if l.log != nil {
		return nil
	}
	l.log, l.failed = audit.Open(l.options)
	return l.failed
}

// Append implements [pannier/admin.Auditor]. Where the state directory is gone, none is made anew for the log alone.
func (l *auditLog) Append(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	if err := l.checkPlace(); err != nil {
		return pannier.AuditEntry{}, fmt.Errorf("%w: %w", pannier.ErrNotAudited, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openLocked(); err != nil {
		return pannier.AuditEntry{}, fmt.Errorf("%w: %w", pannier.ErrNotAudited, err)
	}
	e, l.failed = l.log.Append(e)
	return e, l.failed
}

// Newest returns the newest entries of the log, newest first.
func (l *auditLog) Newest(slug string, limit int) ([]pannier.AuditEntry, error) {
	l.mu.Lock()
	err := l.openLocked()
	log := l.log
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return log.Newest(slug, limit)
}

// conditions tells what is wrong with the log.
func (l *auditLog) conditions() []pannier.Condition {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		return nil
	}
	return []pannier.Condition{{
		Code: "audit_unusable", Severity: pannier.SeverityError, Subject: auditDir, Message: "changes are refused, because they can not be audited: " + l.failed.Error(),
		Hint: "make the directory readable and writable, and make room; the next change tries again",
	}}
}

func (l *auditLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		return nil
	}
	return l.log.Close()
}
