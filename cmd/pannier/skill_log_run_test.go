package main

import (
	"testing"
)

// TestSkillLogOfARun logs each line once, however often the workspace is scanned.
func TestSkillLogOfARun(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	writeIn(t, dir, skillScript("one", "One.")+skillScript("other", "Other.")+skillScript("odd", "Odd.")+`
		sed -i 's/^description: Other.$/&\nruntime: hermes/' skills/other/SKILL.md
		sed -i 's/^description: Odd.$/&\nruntime: 123/' skills/odd/SKILL.md`)
	s := startSidecar(t, dir)
	s.settled(t)
	need(t, s.Rescan(t.Context()))
	s.write(t, skillScript("one", "Changed."))
	s.settled(t)
	s.logs(t, "skipping skill: skill=other") // the last line on the first snapshot
	s.loggedOnce(t, "[WARN]", "runtime of a skill is malformed: skill=odd", "skills/odd/SKILL.md:4")
	s.loggedOnce(t, "[INFO]", "skipping skill: skill=other", "runtime=[hermes] not compatible with current=langgraph")
	s.write(t, `printf -- '---\nname: [one\n---\nDo it.\n' > skills/broken; mkdir skills/two; mv skills/broken skills/two/SKILL.md`)
	s.logs(t, "skill is broken: skill=two")
	s.loggedOnce(t, "[WARN]", "skill is broken: skill=two", "hint=")
}
