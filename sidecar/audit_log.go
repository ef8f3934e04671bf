package sidecar

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pannier"
	"pannier/admin"
	"pannier/admin/audit"
)

const auditDir = "audit"

// auditLog is the audit log of a sidecar. A log that cannot be opened or written does not keep skills from being served:
// changes are refused, health says why, and the next change tries again. It is for any number of callers. Readers never
// wait for a writer.
type auditLog struct {
	options audit.Options
	// checkPlace fails where an entry would be lost with this process.
	checkPlace func() error

	log    atomic.Pointer[audit.Log] // nil until it could be opened
	failed atomic.Pointer[error]     // of the last attempt; nil after a success

	opening sync.Mutex // held over disk I/O, by writers alone

	verifying chan struct{} // a semaphore
}

// newAuditLog opens the log, if it can be.
func newAuditLog(o audit.Options, checkPlace func() error) *auditLog {
	l := &auditLog{options: o, checkPlace: checkPlace, verifying: make(chan struct{}, 1)}
	if _, err := l.open(); err != nil {
		o.Logger.Error("changes are refused, because they cannot be audited", "error", err)
	}
	return l
}

func (l *auditLog) open() (*audit.Log, error) {
	l.opening.Lock()
	defer l.opening.Unlock()
	if log := l.log.Load(); log != nil {
		return log, nil
	}
	log, err := audit.Open(l.options)
	l.record(err)
	if err == nil {
		l.log.Store(log)
	}
	return log, err
}

// record keeps the result of an attempt for health.
func (l *auditLog) record(err error) {
	if err == nil {
		l.failed.Store(nil)
	} else {
		l.failed.Store(&err)
	}
}

// Append implements [pannier/admin.Auditor]. If the state directory was removed, none is created for the log alone.
func (l *auditLog) Append(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	if err := l.checkPlace(); err != nil {
		return pannier.AuditEntry{}, fmt.Errorf("%w: %w", pannier.ErrNotAudited, err)
	}
	log, err := l.open()
	if err != nil {
		return pannier.AuditEntry{}, fmt.Errorf("%w: %w", pannier.ErrNotAudited, err)
	}
	e, err = log.Append(e)
	l.record(err)
	return e, err
}

// Newest returns the newest entries of the log before a number, newest first; 0 is all. It opens no log that could not be opened before: the next
// change does.
func (l *auditLog) Newest(slug string, before uint64, limit int) ([]pannier.AuditEntry, error) {
	log, failed := l.log.Load(), l.failed.Load()
	if log == nil && failed != nil {
		return nil, *failed
	}
	if log == nil {
		return nil, nil
	}
	return log.Before(slug, before, limit)
}

// verifyTimeout bounds a verification that a client asks for. At most one is made at a time.
const verifyTimeout = 10 * time.Second

// verify follows the chain of the log, which must have the entry of expect, SEQ:DIGEST, if that is not empty.
func (l *auditLog) verify(ctx context.Context, expect string) (pannier.AuditCheck, error) {
	var point *audit.Point
	if expect != "" {
		parsed, err := audit.ParsePoint(expect)
		if err != nil {
			return pannier.AuditCheck{}, &pannier.Refusal{Code: "audit.expect", Message: err.Error(), Hint: "give what `pannier audit-log verify` printed before"}
		}
		point = &parsed
	}
	ctx, cancel := context.WithTimeoutCause(ctx, verifyTimeout, fmt.Errorf("the log was not verified within %s", verifyTimeout))
	defer cancel()
	select {
	case l.verifying <- struct{}{}:
		defer func() { <-l.verifying }()
	case <-ctx.Done():
		return pannier.AuditCheck{Error: context.Cause(ctx).Error()}, nil
	}
	if l.options.Dir == "" {
		last, _ := l.last() // nothing else can write to memory
		return pannier.AuditCheck{OK: true, Entries: int(last)}, nil
	}
	check := audit.Check(ctx, l.options.Dir, point)
	if ctx.Err() != nil {
		check.Error = context.Cause(ctx).Error()
	}
	return check, nil
}

// last returns the number of the newest entry, and false where the log cannot be used.
func (l *auditLog) last() (seq uint64, known bool) {
	if log := l.log.Load(); log != nil {
		return log.Last(), true
	}
	return 0, false
}

// after returns the entries about policy and scans after a number, oldest first; none where the log cannot be read.
func (l *auditLog) after(seq uint64) []pannier.AuditEntry {
	log := l.log.Load()
	if log == nil {
		return nil
	}
	entries, err := log.After(seq, admin.Relevant)
	if err != nil {
		l.options.Logger.Warn("the newest audit entries cannot be compared with the policy file", "error", err)
	}
	return entries
}

func (l *auditLog) conditions() (conditions []pannier.Condition) {
	if failed := l.failed.Load(); failed != nil {
		conditions = append(conditions, condition("audit_unusable", pannier.SeverityError, auditDir,
			"changes are refused, because they cannot be audited: "+(*failed).Error(),
			"make the directory readable and writable, and make room; the next change tries again"))
	}
	if log := l.log.Load(); log != nil && log.Broken() != "" {
		conditions = append(conditions, condition(codeAuditBroken, pannier.SeverityError, auditDir,
			"the audit log is not what was written: "+log.Broken(),
			"keep a copy of the directory, compare it with what was shipped elsewhere, then run \"pannier health acknowledge audit_broken\""))
	}
	return conditions
}

// codeAuditBroken is the condition of a log whose entries were changed or removed.
const codeAuditBroken = "audit_broken"

// acknowledge ends the condition of a broken log with the next entry, and reports whether there is one.
func (l *auditLog) acknowledge() bool {
	log := l.log.Load()
	if log == nil || log.Broken() == "" {
		return false
	}
	log.Acknowledge()
	return true
}

func (l *auditLog) close() error {
	if log := l.log.Load(); log != nil {
		return log.Close()
	}
	return nil
}
