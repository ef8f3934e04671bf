package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"pannier"
	"pannier/admin/audit"
	"pannier/internal/state"
)

// auditDir is the directory of the audit log below that of the state.
const auditDir = "audit"

// auditLog is the audit log of a sidecar. That it can not be opened or written is no reason not to serve skills: then
// nothing is changed, health says why, and the next change tries again. It is for any number of callers.
type auditLog struct {
	options audit.Options

	mu     sync.Mutex
	log    *audit.Log // nil until it could be opened
	failed error      // of the last attempt; nil after one that did not fail
}

// newAuditLog opens the log, if it can be.
func newAuditLog(o audit.Options) *auditLog {
	l := &auditLog{options: o}
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

// Append implements [pannier/admin.Auditor].
func (l *auditLog) Append(e pannier.AuditEntry) (pannier.AuditEntry, error) {
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

// store is the state store, and remembers whether it can be written.
type store struct {
	*state.Store
	failed atomic.Pointer[error] // of the last write; nil after one that did not fail
}

// Put keeps a value.
func (s *store) Put(bucket, key string, value any) error {
	return s.note(s.Store.Put(bucket, key, value))
}

// Delete removes a value.
func (s *store) Delete(bucket, key string) error { return s.note(s.Store.Delete(bucket, key)) }

func (s *store) note(err error) error {
	if err == nil {
		s.failed.Store(nil)
	} else if !errors.Is(err, state.ErrClosed) {
		s.failed.Store(&err)
	}
	return err
}

func (s *store) conditions() []pannier.Condition {
	err := s.failed.Load()
	if err == nil {
		return nil
	}
	return []pannier.Condition{{
		Code: "state_unwritable", Severity: pannier.SeverityError, Subject: "state", Message: "what must outlive the sidecar can not be kept: " + (*err).Error(),
		Hint: "make room in the state directory, and make it writable; the next change tries again",
	}}
}
