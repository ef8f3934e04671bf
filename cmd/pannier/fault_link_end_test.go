package main

import (
	"errors"
	"testing"
)

// TestFaultLinkToAFileOfAnyName writes through SKILL.md, a link to a file of another name in a directory of the same root, in
// which no other file counts. Without a resync only the kernel tells of it.
func TestFaultLinkToAFileOfAnyName(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	writeIn(t, w, "mkdir skills/shared; mv skills/one/SKILL.md skills/shared/text.md; ln -s ../shared/text.md skills/one/SKILL.md")
	s := startFault(t, w)
	s.serves(t, "one", number(0))
	writeIn(t, w, "sed 's/number ./number 1/' skills/shared/text.md > t1; cat t1 > skills/shared/text.md") // in place
	s.serves(t, "one", number(1))
	writeIn(t, w, "sed 's/number ./number 2/' t1 > skills/shared/new; mv skills/shared/new skills/shared/text.md")
	s.serves(t, "one", number(2))
	writeIn(t, w, "rm skills/shared/text.md")
	eventually(t, "the skill is held as it was", func() error {
		e, err := s.entry(t, "one")
		if err == nil && !e.LastGood {
			err = errors.New("not yet")
		}
		return err
	})
	writeIn(t, w, "sed 's/number ./number 3/' t1 > skills/shared/text.md") // comes back
	s.serves(t, "one", number(3))
	writeIn(t, w, "mkdir skills/two; ln -s ../shared/other.md skills/two/SKILL.md; sed 's/number ./number 4/; s/name: one/name: two/' t1 > skills/shared/other.md")
	s.serves(t, "two", number(4))
	writeIn(t, w, "sed -i 's/number ./number 5/' skills/shared/other.md")
	s.serves(t, "two", number(5))
	s.heard(t)
}
