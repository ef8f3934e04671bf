package audit

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pannier"
)

// Dir is the directory of a log in that of a state.
const Dir = "audit"

// CodeBroken is the condition of a log whose entries were changed or removed.
const CodeBroken = "audit_broken"

// Trail is a [Log] that is opened when it can be. A log that cannot be opened or written does not keep skills from being served:
// changes are refused, health says why, and the next change tries again. It is safe for concurrent use. Readers never wait for a
// writer.
type Trail struct {
	options Options
	// checkPlace fails where an entry would be lost with this process.
	checkPlace func() error

	log    atomic.Pointer[Log]   // nil until it could be opened
	failed atomic.Pointer[error] // of the last attempt; nil after a success

	opening sync.Mutex // held over disk I/O, by writers alone

	verifying chan struct{} // a semaphore
}

// NewTrail opens the log, if it can be. checkPlace fails where an entry would be lost with this process.
func NewTrail(o Options, checkPlace func() error) *Trail {
	t := &Trail{options: o, checkPlace: checkPlace, verifying: make(chan struct{}, 1)}
	if _, err := t.open(); err != nil {
		o.Logger.Error("changes are refused, because they cannot be audited", "error", err)
	}
	return t
}

func (t *Trail) open() (*Log, error) {
	t.opening.Lock()
	defer t.opening.Unlock()
	if log := t.log.Load(); log != nil {
		return log, nil
	}
	log, err := Open(t.options)
	t.record(err)
	if err == nil {
		t.log.Store(log)
	}
	return log, err
}

// record keeps the result of an attempt for health.
func (t *Trail) record(err error) {
	if err == nil {
		t.failed.Store(nil)
	} else {
		t.failed.Store(&err)
	}
}

// Append implements [pannier/admin.Auditor]. If the state directory was removed, none is created for the log alone.
func (t *Trail) Append(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	if err := t.checkPlace(); err != nil {
		return pannier.AuditEntry{}, fmt.Errorf("%w: %w", pannier.ErrNotAudited, err)
	}
	log, err := t.open()
	if err != nil {
		return pannier.AuditEntry{}, fmt.Errorf("%w: %w", pannier.ErrNotAudited, err)
	}
	e, err = log.Append(e)
	t.record(err)
	return e, err
}

// Newest returns the newest entries of the log before a number, newest first; 0 is all. It opens no log that could not be opened before: the next
// change does.
func (t *Trail) Newest(slug string, before uint64, limit int) ([]pannier.AuditEntry, error) {
	log, failed := t.log.Load(), t.failed.Load()
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

// Verify follows the chain of the log, which must have the entry of expect, SEQ:DIGEST, if that is not empty.
func (t *Trail) Verify(ctx context.Context, expect string) (pannier.AuditCheck, error) {
	var point *Point
	if expect != "" {
		parsed, err := ParsePoint(expect)
		if err != nil {
			return pannier.AuditCheck{}, &pannier.Refusal{Code: "audit.expect", Message: err.Error(), Hint: "give what `pannier audit-log verify` printed before"}
		}
		point = &parsed
	}
	ctx, cancel := context.WithTimeoutCause(ctx, verifyTimeout, fmt.Errorf("the log was not verified within %s", verifyTimeout))
	defer cancel()
	select {
	case t.verifying <- struct{}{}:
		defer func() { <-t.verifying }()
	case <-ctx.Done():
		return pannier.AuditCheck{Error: context.Cause(ctx).Error()}, nil
	}
	if t.options.Dir == "" {
		last, _ := t.Last() // nothing else can write to memory
		return pannier.AuditCheck{OK: true, Entries: int(last)}, nil
	}
	check := Check(ctx, t.options.Dir, point)
	if ctx.Err() != nil {
		check.Error = context.Cause(ctx).Error()
	}
	return check, nil
}

// Last returns the number of the newest entry, and false where the log cannot be used.
func (t *Trail) Last() (seq uint64, known bool) {
	if log := t.log.Load(); log != nil {
		return log.Last(), true
	}
	return 0, false
}

// After returns the wanted entries after a number, oldest first; none where the log cannot be read.
func (t *Trail) After(seq uint64, wanted func(pannier.AuditEntry) bool) []pannier.AuditEntry {
	log := t.log.Load()
	if log == nil {
		return nil
	}
	entries, err := log.After(seq, wanted)
	if err != nil {
		t.options.Logger.Warn("the newest audit entries cannot be compared with the policy file", "error", err)
	}
	return entries
}

// Conditions returns what health says of the log.
func (t *Trail) Conditions() (conditions []pannier.Condition) {
	if failed := t.failed.Load(); failed != nil {
		conditions = append(conditions, pannier.Condition{
			Code: "audit_unusable", Severity: pannier.SeverityError, Subject: Dir, Message: "changes are refused, because they cannot be audited: " + (*failed).Error(),
			Hint: "make the directory readable and writable, and make room; the next change tries again",
		})
	}
	if log := t.log.Load(); log != nil && log.Broken() != "" {
		conditions = append(conditions, pannier.Condition{
			Code: CodeBroken, Severity: pannier.SeverityError, Subject: Dir, Message: "the audit log is not what was written: " + log.Broken(),
			Hint: "keep a copy of the directory, compare it with what was shipped elsewhere, then run \"pannier health acknowledge audit_broken\"",
		})
	}
	return conditions
}

// Retry opens a log that failed for a reason that has ended, so that health does not report it until the next change.
func (t *Trail) Retry(ended func(reason error) bool) {
	if failed := t.failed.Load(); failed != nil && ended(*failed) {
		if _, err := t.open(); err == nil {
			t.record(nil)
		}
	}
}

// Acknowledge ends the condition of a broken log with the next entry, and reports whether there is one.
func (t *Trail) Acknowledge() bool {
	log := t.log.Load()
	if log == nil || log.Broken() == "" {
		return false
	}
	log.Acknowledge()
	return true
}

// Close closes the log.
func (t *Trail) Close() error {
	if log := t.log.Load(); log != nil {
		return log.Close()
	}
	return nil
}
