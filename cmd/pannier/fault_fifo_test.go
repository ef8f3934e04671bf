package main

import (
	"context"
	"testing"
)

// TestFaultFIFOInThePlaceOfADirectory puts a FIFO where a skill was, and then where the root was. Whoever opened it as a
// directory would wait for a writer for ever, and so would everybody behind.
func TestFaultFIFOInThePlaceOfADirectory(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	s := startFault(t, w, "--delete-grace", "1h")
	answers := func(what string, ask func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _ = ask(ctx); ctx.Err() != nil { // an answer that is a "no" is one too
			t.Fatalf("%s: no answer", what)
		}
	}
	s.write(t, "rm -r skills/one; mkfifo skills/one")
	answers("the skill", func(ctx context.Context) error { _, err := s.Skill(ctx, "one", ""); return err })
	answers("its text", func(ctx context.Context) error { _, err := s.Content(ctx, "one"); return err })
	answers("a file of it", func(ctx context.Context) error { _, _, err := s.File(ctx, "one", "SKILL.md"); return err })
	s.write(t, "rm -r skills; mkfifo skills")
	answers("a look at everything", s.Rescan)
	s.write(t, "rm skills; mkdir -p skills/one; printf '%s' '"+numbered("one", 1)+"' > skills/one/SKILL.md")
	s.serves(t, "one", number(1))
	s.stops(t)
}
