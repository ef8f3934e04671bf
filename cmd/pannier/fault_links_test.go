package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
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

// inBothModes runs a test of links to files with the kernel's events, and by polling.
func inBothModes(t *testing.T, test func(t *testing.T, mode string)) {
	t.Helper()
	for _, mode := range []string{"auto", "poll"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			test(t, mode)
		})
	}
}

// TestFaultConfigIsALink changes what config.yaml leads to, or the way there, in the workspace and elsewhere, without a resync.
// @ stands for the directory elsewhere, and the last name that a script writes is the one that is served then.
func TestFaultConfigIsALink(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, begin string
		steps       []string
	}{
		{"into the workspace", "mkdir conf; echo 'name: n0' > conf/real; ln -s conf/real config.yaml", []string{
			"echo 'name: n1' > conf/real",
			"echo 'name: n2' > conf/t; mv conf/t conf/real",
			"mv conf old; mkdir conf; echo 'name: n3' > conf/real",
			"echo 'name: n4' > conf/real",
		}},
		{"to a volume elsewhere", "mkdir @/v0; echo 'name: n0' > @/v0/config.yaml; ln -s v0 @/..data; ln -s ..data/config.yaml @/c; ln -s @/c config.yaml", []string{
			"mkdir @/v1; echo 'name: n1' > @/v1/config.yaml; ln -s v1 @/t; mv -T @/t @/..data; rm -r @/v0",
			"mkdir @/v2; echo 'name: n2' > @/v2/config.yaml; ln -s v2 @/t; mv -T @/t @/..data; rm -r @/v1",
		}},
		{"by a chain", "mkdir @/o1 @/o2; echo 'name: n0' > @/o1/f; ln -s @/o1/f @/o2/l; ln -s @/o2/l config.yaml", []string{
			"echo 'name: n1' > @/o1/g; ln -sfn @/o1/g @/o2/l",
			"echo 'name: n2' > @/o1/g",
			"mv @/o1 @/away; mkdir @/o1; echo 'name: n3' > @/o1/g",
		}},
		{"to nowhere", "ln -s later/f config.yaml", []string{
			"mkdir later; echo 'name: n1' > later/f",
			"echo 'name: n2' > later/f",
		}},
	}
	inBothModes(t, func(t *testing.T, mode string) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				w, base := newWorkspace(t), t.TempDir()
				at := strings.NewReplacer("@", base)
				writeIn(t, w, "rm -f config.yaml; "+at.Replace(tt.begin))
				s := startFault(t, w, "--watch", mode, "--delete-grace", "0")
				for _, step := range tt.steps {
					s.write(t, at.Replace(step))
					_, name, _ := strings.Cut(step, "'name: ")
					s.isNamed(t, name[:2])
				}
				s.heard(t)
			})
		}
	})
}

// isNamed waits until the card has a name.
func (s *sidecarUnderTest) isNamed(t *testing.T, name string) {
	t.Helper()
	eventually(t, "the name is "+name, func() error {
		card, err := s.Card(t.Context())
		if err == nil && !strings.Contains(string(card), fmt.Sprintf(`"name":%q`, name)) {
			err = errors.New(string(card))
		}
		return err
	})
}

// TestFaultEnvironmentFileIsALink changes what the environment file leads to, or the way there, without a resync.
func TestFaultEnvironmentFileIsALink(t *testing.T) {
	t.Parallel()
	inBothModes(t, func(t *testing.T, mode string) {
		w, base := workspaceWith(t, needy), t.TempDir()
		const has, hasNot = `'{"os":"linux","bins":["no-such-binary-here"],"env":["NO_SUCH_VARIABLE"]}'`, `'{"os":"linux"}'`
		writeIn(t, base, "mkdir v0 v1 in; printf '%s' "+hasNot+" > v0/env; printf '%s' "+has+" > v1/env; ln -s v0 cur; ln -s ../cur/env in/env")
		s := startFault(t, w, "--watch", mode, "--environment-file", filepath.Join(base, "in", "env"))
		s.judged(t, "needy", pannier.StateIneligible, pannier.EnvironmentFile)
		writeIn(t, base, "printf '%s' "+has+" > v0/env")
		s.judged(t, "needy", pannier.StateEligible, pannier.EnvironmentFile)
		writeIn(t, base, "printf '%s' "+hasNot+" > t; mv t v0/env")
		s.judged(t, "needy", pannier.StateIneligible, pannier.EnvironmentFile)
		writeIn(t, base, "ln -s v1 t; mv -T t cur")
		s.judged(t, "needy", pannier.StateEligible, pannier.EnvironmentFile)
		s.heard(t)
	})
}

// TestFaultPromptBehindALink has prompt files behind links that lead nowhere at first, by a directory and by themselves, and then
// changes them and the ways to them.
func TestFaultPromptBehindALink(t *testing.T) {
	t.Parallel()
	inBothModes(t, func(t *testing.T, mode string) {
		w := workspaceWith(t, "ln -s sub2 k; ln -s hid/cur l.md; printf 'prompt_files: [k/q.md, l.md]\n' >> config.yaml")
		s := startFault(t, w, "--watch", mode)
		s.tellsOf(t, "config_prompt_missing")
		s.write(t, "mkdir sub2; echo Q0 > sub2/q.md")
		s.promptIs(t, "Q0")
		s.write(t, "mkdir hid far; echo L0 > far/a; ln -s ../far/a hid/cur")
		s.promptIs(t, "Q0\nL0")
		s.write(t, "echo L1 > far/a")
		s.promptIs(t, "Q0\nL1")
		s.write(t, "echo L2 > far/b; ln -sfn ../far/b hid/cur")
		s.promptIs(t, "Q0\nL2")
		s.write(t, "mkdir sub3; echo Q1 > sub3/q.md; ln -sfn sub3 k")
		s.promptIs(t, "Q1\nL2")
		// It leads out of the workspace by a link on the way, which is turned back.
		s.write(t, "ln -sfn /etc/passwd hid/cur")
		s.tellsOf(t, "config_prompt_outside")
		s.write(t, "ln -sfn ../far/a hid/cur")
		s.promptIs(t, "Q1\nL1")
		s.heard(t)
	})
}
