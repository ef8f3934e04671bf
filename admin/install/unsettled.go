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

// Unsettled returns a condition for each change that was cut off and could neither be finished nor undone when that was tried
// last, ordered by subject, which is the path of its root and its slug. Until it can be, nothing else is changed in that
// root: there is one intent for a root, and that of another change would take the place of the only record of this one.
func (s *Store) Unsettled() []pannier.Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.unsettled), func(a, b pannier.Condition) int { return strings.Compare(a.Subject, b.Subject) })
}

// cannotSettle keeps the cause for which an intent is neither finished nor undone, and refuses the change that needs it.
func (p *place) cannotSettle(ctx context.Context, in *intent, cause error) error {
	if ctx.Err() != nil {
		return cause
	}
	cause = explain(p.root, cause)
	hint := "mend what the message names, and try again: each change of the root, and each start, tries to settle it first"
	if r, ok := errors.AsType[*pannier.Refusal](cause); ok {
		hint = r.Hint + "; each change of the root tries to settle it first"
	}
	message := fmt.Sprintf("the %s of %s was cut off, and can neither be finished nor undone: %v", strings.TrimPrefix(in.Action, "skill."), in.Slug, cause)
	p.store.unsettle(p.root, pannier.Condition{
		Code: "install.unsettled", Severity: pannier.SeverityError, Since: time.Now().UTC(), Subject: p.root.Path + "/" + in.Slug, Message: message, Hint: hint,
	})
	return fmt.Errorf("%w: %w", refuse("install.unsettled", message, hint), cause)
}

// unsettle keeps the condition of a root, since when it first was so.
func (s *Store) unsettle(root pannier.Root, c pannier.Condition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, known := s.unsettled[root.Path]; known && before.Subject == c.Subject {
		c.Since = before.Since
	}
	s.unsettled[root.Path] = c
}

func (s *Store) settled(root pannier.Root) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unsettled, root.Path)
}
