package main

import (
	"strings"
	"testing"

	"pannier"
)

// TestReloadMetrics breaks config.yaml and repairs it. Operators alert on the two gauges as they know them from other servers.
func TestReloadMetrics(t *testing.T) {
	t.Parallel()
	const successful, success = "pannier_last_reload_successful", "pannier_last_reload_success_timestamp_seconds"
	workspace, _ := oneSkill(t)
	s := startFault(t, workspace)
	s.serves(t, "one", number(0))
	s.metricIs(t, successful, 1)
	s.write(t, "printf 'skills: [one\\n' > config.yaml")
	s.metricIs(t, successful, 0)
	before := s.metric(t, success)
	if before == 0 || before > s.metric(t, "pannier_last_scan_timestamp_seconds") {
		t.Errorf("%s is %v", success, before)
	}
	scanned := s.metric(t, "pannier_last_scan_timestamp_seconds")
	s.write(t, "printf -- '---\\nname: two\\ndescription: Is two.\\n---\\nDo it.\\n' > skills/one/SKILL.md")
	until(t, "another scan", func() bool { return s.metric(t, "pannier_last_scan_timestamp_seconds") != scanned })
	if got := s.metric(t, success); got != before {
		t.Errorf("%s has changed from %v to %v while config.yaml is broken", success, before, got)
	}
	s.write(t, "printf 'skills: [one]\\n' > config.yaml")
	s.metricIs(t, successful, 1)
	if got := s.metric(t, success); got <= before {
		t.Errorf("%s is %v after the repair, and was %v", success, got, before)
	}
}

// TestCollisionAtAStart has a collision that no change brings. Its warning is emitted at each start, once, and the catalog says which
// rule decided.
func TestCollisionAtAStart(t *testing.T) {
	t.Parallel()
	workspace := newWorkspace(t)
	writeIn(t, workspace, `mkdir -p skills/pdf skills/a/pdf
for d in skills/pdf skills/a/pdf; do printf -- '---\nname: pdf\ndescription: Is one.\n---\nDo it.\n' > $d/SKILL.md; done`)
	s := startFault(t, workspace)
	s.hasEvent(t, pannier.EventSkillWarning, `{"name":"pdf","kind":"skill.slug.shared","detail":"skills/pdf and skills/a/pdf claim the slug \"pdf\"; skills/pdf holds it"}`)
	s.hasEvent(t, pannier.EventCatalogUpdated, `"collisions":[{"slug":"pdf","winner":"skills/pdf","loser":"skills/a/pdf","rule":"depth"}]`)
	warnings := func() (n int) {
		for _, e := range s.all(t) {
			text := must(compactJSON(e.Data))(t)
			if e.Type == pannier.EventSkillWarning && strings.Contains(string(text), "skill.slug.shared") {
				n++
			}
		}
		return n
	}
	s.write(t, "sed -i 's/Is one/Is two/' skills/pdf/SKILL.md")
	s.hasEvent(t, pannier.EventCatalogUpdated, `"changed":["pdf"]`)
	if n := warnings(); n != 1 {
		t.Errorf("%d warnings of one collision", n)
	}
}
