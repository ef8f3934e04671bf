package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
)

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
		w, base := newWorkspace(t), t.TempDir()
		writeIn(t, w, needy)
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
		w := newWorkspace(t)
		writeIn(t, w, "ln -s sub2 k; ln -s hid/cur l.md; printf 'prompt_files: [k/q.md, l.md]\n' >> config.yaml")
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
