package audit

import (
	"context"
	"fmt"
	"time"

	"pannier"
)

// Dir is the directory of a log in that of a state.
const Dir = "audit"

// CodeBroken is the condition of a log whose entries were changed or removed.
const CodeBroken = "audit_broken"

// Broken returns what did not match the head when the log was opened, by this or an earlier process, and was not
// acknowledged; empty if everything matched.
func (l *Log) Broken() string {
	if broken := l.broken.Load(); broken != nil {
		return *broken
	}
	return ""
}

// Acknowledge clears [Log.Broken] from the next entry on, and reports whether there was something to clear. The entry
// that records the break stays.
func (l *Log) Acknowledge() bool {
	broken := l.broken.Swap(nil)
	return broken != nil && *broken != ""
}

// Conditions returns what health says of the log.
func (l *Log) Conditions() (conditions []pannier.Condition) {
	add := func(code, message, hint string) {
		conditions = append(conditions, pannier.Condition{Code: code, Severity: pannier.SeverityError, Subject: Dir, Message: message, Hint: hint})
	}
	if failed := l.failed.Load(); failed != nil {
		add("audit_unusable", "changes are refused, because they cannot be audited: "+(*failed).Error(),
			"make the directory readable and writable, and make room; the next change tries again")
	}
	if broken := l.Broken(); broken != "" {
		add(CodeBroken, "the audit log is not what was written: "+broken,
			"keep a copy of the directory, compare it with what was shipped elsewhere, then run \"pannier health acknowledge audit_broken\"")
	}
	return conditions
}

// Retry opens a log that failed for a reason that has ended, so that health does not report it until the next change.
func (l *Log) Retry(ended func(reason error) bool) {
	if failed := l.failed.Load(); failed != nil && ended(*failed) {
		l.mu.Lock()
		defer l.mu.Unlock()
		_ = l.record(l.openLocked())
	}
}

// verifyTimeout bounds a verification that a client asks for. At most one is made at a time.
const verifyTimeout = 10 * time.Second

// Verify follows the chain of the log, which must have the entry of expect, SEQ:DIGEST, if that is not empty.
func (l *Log) Verify(ctx context.Context, expect string) (pannier.AuditCheck, error) {
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
	case l.verifying <- struct{}{}:
		defer func() { <-l.verifying }()
	case <-ctx.Done():
		return pannier.AuditCheck{Error: context.Cause(ctx).Error()}, nil
	}
	if l.o.Dir == "" {
		last, _ := l.Last() // nothing else can write to memory
		return pannier.AuditCheck{OK: true, Entries: int(last)}, nil
	}
	check := Check(ctx, l.o.Dir, point)
	if ctx.Err() != nil {
		check.Error = context.Cause(ctx).Error()
	}
	return check, nil
}
