package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestFaultLinkOnTheWayIsTurned changes links that lie between a skill's own link, or that of its SKILL.md, and what they lead
// to, in directories that are not searched.
func TestFaultLinkOnTheWayIsTurned(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, `cd skills
		for v in 0 1 2 3; do mkdir -p .hub/v$v
			printf -- "---\nname: n\ndescription: number $v\n---\nx\n" > .hub/v$v/SKILL.md; done
		ln -s v0 .hub/cur; ln -s .hub/cur one
		ln -s v0/SKILL.md .hub/T.md; mkdir two; ln -s ../.hub/T.md two/SKILL.md`)
	s := startFault(t, w)
	serves := func(n int) {
		t.Helper()
		s.serves(t, "one", number(n))
		s.serves(t, "two", number(n))
	}
	serves(0)
	s.write(t, `cd skills/.hub; ln -s v1 t; mv -T t cur; ln -s v1/SKILL.md t; mv -T t T.md`)
	serves(1)
	// By two calls, between which the link is missing.
	s.write(t, `cd skills/.hub; ln -sfn v2 cur; ln -sf v2/SKILL.md T.md`)
	serves(2)
	// It leads nowhere for a while, and then what it leads to comes.
	s.write(t, `cd skills/.hub; ln -sfn later/v3 cur; ln -sf later/v3/SKILL.md T.md`)
	s.gone(t, "one")
	s.write(t, `cd skills/.hub; mkdir later; mv v3 later`)
	serves(3)
	// A directory on the way is another one.
	s.write(t, `cd skills/.hub; mkdir -p next/v3; cp v0/SKILL.md next/v3; mv later old; mv next later`)
	serves(0)
	s.heard(t)
}

// TestFaultLinkTargetChanges has skills that are links into a directory beside the workspace, which the settings allow.
func TestFaultLinkTargetChanges(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	store := t.TempDir()
	settings := filepath.Join(t.TempDir(), "pannier.yaml")
	need(t, os.WriteFile(settings, []byte("roots:\n  - path: skills\n    link_targets: ["+store+"]\n"), 0o600))
	writeIn(t, store, `for v in 0 1; do mkdir -p v$v/one/refs; echo $v > v$v/one/refs/r.txt
		printf -- "---\nname: n\ndescription: number $v\n---\nx\n" > v$v/one/SKILL.md; done; ln -s v0 cur`)
	writeIn(t, w, "ln -s "+store+"/cur/one skills/one")
	s := startFault(t, w, "--config", settings)
	s.serves(t, "one", number(0))
	writeIn(t, store, "ln -s v1 t; mv -T t cur")
	s.serves(t, "one", number(1))
	writeIn(t, store, "sed -i 's/number ./number 2/' v1/one/SKILL.md")
	s.serves(t, "one", number(2))
	s.runs(t, exitYes, "", "scan", "one")
	s.heard(t)
	// The link leads to what no setting allows.
	writeIn(t, store, "mkdir ../secret; cp -r v1/one ../secret; ln -s ../secret t; mv -T t cur")
	s.gone(t, "one")
	s.write(t, "rm skills/one; ln -s "+store+"/v0/one skills/one")
	s.serves(t, "one", number(0))
	s.heard(t)
}

// TestFaultLinkToNowhere has links to what is not there, or not allowed, in a directory where others write all the time: those
// writes are nobody's business, and what comes there is noticed nevertheless.
func TestFaultLinkToNowhere(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	base, settings := t.TempDir(), filepath.Join(t.TempDir(), "pannier.yaml")
	need(t, os.WriteFile(settings, []byte("roots:\n  - path: skills\n    link_targets: ["+base+"/store]\n"), 0o600))
	writeIn(t, base, "mkdir -p real/two outside; cp "+w+"/skills/one/SKILL.md real/two; ln -s "+base+"/outside/none "+w+"/skills/two")
	s := startFault(t, w, "--config", settings, "--settle", "1s", "--debounce", "1h", "--resync", "0")
	s.serves(t, "one", number(0))
	busy := exec.CommandContext(t.Context(), "sh", "-c", "while :; do echo x > outside/f; sleep 0.02; done")
	busy.Dir = base
	need(t, busy.Start())
	defer busy.Wait()
	defer busy.Process.Kill()
	before := s.metric(t, "pannier_watch_events_total")
	until(t, "the kernel tells of the writes", func() bool { return s.metric(t, "pannier_watch_events_total") >= before+20 })
	s.write(t, "sed -i 's/number ./number 1/' skills/one/SKILL.md")
	s.serves(t, "one", number(1))
	writeIn(t, base, "ln -s ../store/two outside/none")
	writeIn(t, base, "ln -s real store") // what the settings allow is itself a link
	s.serves(t, "two", number(0))
	writeIn(t, base, "rm store")
	s.gone(t, "two")
}
