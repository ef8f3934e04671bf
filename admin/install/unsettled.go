package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pannier"
)

// Unsettled returns a condition for each interrupted change that could neither be finished nor undone, by subject: the
// path of the root and the slug. Other changes of the root are refused meanwhile, because a root has one intent.
func (s *Store) Unsettled() []pannier.Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.unsettled), func(a, b pannier.Condition) int { return strings.Compare(a.Subject, b.Subject) })
}

// recordUnsettled records why an intent can neither be finished nor undone, and returns the refusal.
func (p *place) recordUnsettled(ctx context.Context, in *intent, cause error) error {
	if ctx.Err() != nil {
		return cause
	}
	cause = explain(p.root, cause)
	hint := "fix the cause in the message; each change of the root and each start retries"
	if r, ok := errors.AsType[*pannier.Refusal](cause); ok {
		hint = r.Hint + "; each change of the root retries"
	}
	message := fmt.Sprintf("the %s of %s was interrupted, and can neither be finished nor undone: %v", strings.TrimPrefix(in.Action, "skill."), in.Slug, cause)
	c := pannier.Condition{
		Code: "install_unsettled", Severity: pannier.SeverityError, Since: time.Now().UTC(), Subject: p.root.Path + "/" + in.Slug, Message: message, Hint: hint,
	}
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	if before, known := p.store.unsettled[p.root.Path]; known && before.Subject == c.Subject {
		c.Since = before.Since // the first occurrence
	}
	p.store.unsettled[p.root.Path] = c
	return fmt.Errorf("%w: %w", refuse("install.unsettled", message, hint), cause)
}
