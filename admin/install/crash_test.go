package install_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
	"pannier/admin/install"
)

// listing is a config.yaml with everything that must stay.
const listing = "# mine\nname: Ann  # the agent\nskills: # order counts\n  - own # first\n  # - off\n\nmodel: 'x'\n"

// change is one of each kind: what was there before it, and how it is made.
type change struct {
	before func(context.Context, *install.Store) error
	make   func(context.Context, *install.Store) error
	// present says that the skill is there before and after, and so must be at any time.
	present bool
}

func puts(version string, update bool) func(context.Context, *install.Store) error {
	return func(ctx context.Context, s *install.Store) error {
		_, err := put(ctx, s, skillOf("pdf", version), pannier.InstallRequest{Origin: "archive:pdf.zip"}, update)
		return err
	}
}

func inTurn(do ...func(context.Context, *install.Store) error) func(context.Context, *install.Store) error {
	return func(ctx context.Context, s *install.Store) error {
		for _, one := range do {
			if err := one(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

func uninstall(ctx context.Context, s *install.Store) error {
	_, err := s.Uninstall(ctx, pannier.RemoveRequest{Slug: "pdf"}, actor)
	return err
}

func rollback(ctx context.Context, s *install.Store) error {
	_, err := s.Rollback(ctx, pannier.RemoveRequest{Slug: "pdf"}, actor)
	return err
}

// goneByHand removes the directory of the skill, as a person would.
func goneByHand(_ context.Context, s *install.Store) error {
	installed, err := s.Installed("")
	if err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(installed[0].Root.Path, installed[0].Path))
}

var changes = map[string]change{
	"install":                   {inTurn(), puts("1.0.0", false), false},
	"update":                    {inTurn(puts("1.0.0", false)), puts("2.0.0", true), true},
	"update again":              {inTurn(puts("1.0.0", false), puts("2.0.0", true)), puts("3.0.0", true), true},
	"uninstall":                 {inTurn(puts("1.0.0", false), puts("2.0.0", true)), uninstall, false},
	"uninstall of what is gone": {inTurn(puts("1.0.0", false), goneByHand), uninstall, false},
	"install of what is gone":   {inTurn(puts("1.0.0", false), puts("2.0.0", true), goneByHand), puts("3.0.0", false), false},
	"rollback":                  {inTurn(puts("1.0.0", false), puts("2.0.0", true)), rollback, true},
	"rollback of what is gone":  {inTurn(puts("1.0.0", false), puts("2.0.0", true), goneByHand), rollback, false},
	"recovery":                  {inTurn(), func(context.Context, *install.Store) error { return nil }, false},
}

// copied returns a copy of a workspace, at another place.
func copied(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// killed makes a change in another process, which is killed before a step, and reports whether it got that far.
func killed(t testing.TB, change, dir string, step int, plain bool) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), killVariable+"="+change, dirVariable+"="+dir, fmt.Sprint(stepVariable, "=", step))
	if plain {
		cmd.Env = append(cmd.Env, plainVariable+"=1")
	}
	out, err := cmd.CombinedOutput()
	exit, ended := errors.AsType[*exec.ExitError](err)
	if err != nil && (!ended || exit.ExitCode() != -1) {
		t.Fatalf("step %d: %v: %s", step, err, out)
	}
	return err != nil
}

// states returns a workspace before a change, and what walks of it find before and after.
func states(t testing.TB, c change) (dir, before, after string) {
	t.Helper()
	dir = workspace(t, listing)
	if err := c.before(t.Context(), open(t, optionsFor(dir))); err != nil {
		t.Fatal(err)
	}
	done := copied(t, dir)
	if err := c.make(t.Context(), open(t, optionsFor(done))); err != nil {
		t.Fatal(err)
	}
	return dir, walk(t, dir), walk(t, done)
}

func TestKillAtEveryStep(t *testing.T) {
	for name, c := range changes {
		if name == "recovery" {
			continue
		}
		for _, plain := range []bool{false, true} {
			if plain && !c.present {
				continue // nothing is exchanged
			}
			t.Run(fmt.Sprintf("%s/plain=%t", name, plain), func(t *testing.T) {
				t.Parallel()
				dir, before, after := states(t, c)
				if before == after {
					t.Fatal("nothing changes")
				}
				outcomes := map[string]int{}
				for step := 1; ; step++ {
					cut := copied(t, dir)
					if !killed(t, name, cut, step, plain) {
						break
					}
					if c.present && !plain {
						whole(t, cut, step)
					}
					outcomes[recovered(t, cut, step, before, after)]++
				}
				if outcomes["before"] < 3 || outcomes["after"] < 2 {
					t.Errorf("outcomes %v", outcomes)
				}
			})
		}
	}
}

// whole checks that the skill is there without any recovery, in one version.
func whole(t *testing.T, dir string, step int) {
	t.Helper()
	files := walk(t, filepath.Join(dir, "skills/pdf"))
	_, version, _ := strings.Cut(files, `\nversion: `)
	if version = version[:min(5, len(version))]; strings.Count(files, "\n") != 3 || strings.Count(files, version) != 3 {
		t.Errorf("killed before step %d, it is\n%s", step, files)
	}
}

// recovered opens a store and says what came of the change.
func recovered(t *testing.T, dir string, step int, before, after string) string {
	t.Helper()
	s := open(t, optionsFor(dir))
	clean(t, dir)
	if again, err := s.Recover(t.Context()); len(again) > 0 || err != nil {
		t.Errorf("killed before step %d, recovered again: %v, %v", step, again, err)
	}
	switch found := walk(t, dir); found {
	case before:
		return "before"
	case after:
		return "after"
	default:
		t.Errorf("killed before step %d, it is neither\n%s\nnor\n%s\nbut\n%s", step, before, after, found)
		return "between"
	}
}

// TestKillInRecovery kills the recovery of every cut at every one of its steps, too.
func TestKillInRecovery(t *testing.T) {
	for _, name := range []string{"update again", "uninstall", "rollback"} {
		for _, plain := range []bool{false, true} {
			if plain && !changes[name].present {
				continue
			}
			t.Run(fmt.Sprintf("%s/plain=%t", name, plain), func(t *testing.T) {
				t.Parallel()
				dir, before, after := states(t, changes[name])
				for step := 1; ; step++ {
					cut := copied(t, dir)
					if !killed(t, name, cut, step, plain) {
						break
					}
					if _, err := os.Lstat(filepath.Join(cut, "skills/.pannier/intent.json")); err != nil {
						continue
					}
					for second := 1; ; second++ {
						twice := copied(t, cut)
						if !killed(t, "recovery", twice, second, plain) {
							break
						}
						recovered(t, twice, step*100+second, before, after)
					}
				}
			})
		}
	}
}

var errInjected = errors.New("injected")

// TestErrorAtEveryStep fails a step in a process that lives on: an error means that nothing has changed.
func TestErrorAtEveryStep(t *testing.T) {
	for name, c := range changes {
		for mode := range 4 {
			lasting, plain := mode&1 != 0, mode&2 != 0
			if plain && !c.present {
				continue
			}
			t.Run(fmt.Sprintf("%s/lasting=%t/plain=%t", name, lasting, plain), func(t *testing.T) {
				t.Parallel()
				dir, before, after := states(t, c)
				for step, reached := 1, true; reached; step++ {
					reached = failing(t, c, copied(t, dir), step, lasting, plain, before, after)
				}
			})
		}
	}
}

// failing makes a change whose step of a number fails, and all after it if that is lasting, and reports whether there
// is such a step.
func failing(t *testing.T, c change, dir string, step int, lasting, plain bool, before, after string) bool {
	t.Helper()
	o, left, failed := optionsFor(dir), step, ""
	o.Step = func(name string) error {
		if left--; left == 0 || lasting && left < 0 {
			failed += name + " "
			return errInjected
		}
		return nil
	}
	s := open(t, o)
	if plain {
		s.Plain()
	}
	err := c.make(t.Context(), s)
	found := walk(t, dir)
	cleared := strings.HasPrefix(failed, "staging.remove") || strings.HasPrefix(failed, "intent.remove")
	switch {
	case failed == "":
		return false
	case err != nil && !errors.Is(err, errInjected):
		t.Errorf("%s: %v", failed, err)
	case err != nil && !lasting && found != before:
		t.Errorf("%s: an error, and it is\n%s\nand not\n%s", failed, found, before)
	case err == nil && !lasting && !cleared && !strings.HasPrefix(failed, "config.") && found != after:
		t.Errorf("%s: no error, and it is\n%s\nand not\n%s", failed, found, after)
	}
	s = open(t, optionsFor(dir))
	clean(t, dir)
	if found = walk(t, dir); found != before && found != after && !strings.Contains(failed, "config.") {
		t.Errorf("%s: recovered, it is\n%s\nand neither\n%s\nnor\n%s", failed, found, before, after)
	}
	if _, err := s.Recover(t.Context()); err != nil {
		t.Error(err)
	}
	return true
}

// TestPanicAtEveryStep has a step panic in a process that lives on: it holds nothing then, and the next change can be
// made.
func TestPanicAtEveryStep(t *testing.T) {
	for name, c := range changes {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/plain=%t", name, plain), func(t *testing.T) {
				t.Parallel()
				dir, before, after := states(t, c)
				for step, reached := 1, true; reached; step++ {
					reached = panicking(t, c, copied(t, dir), step, plain, before, after)
				}
			})
		}
	}
}

// panicking makes a change that panics in its step of a number, and reports whether there is such a step.
func panicking(t *testing.T, c change, dir string, step int, plain bool, before, after string) bool {
	t.Helper()
	o, left, failed := optionsFor(dir), step, ""
	o.Step = func(name string) error {
		if left--; left == 0 {
			failed = name
			panic(errInjected)
		}
		return nil
	}
	s := open(t, o)
	if plain {
		s.Plain()
	}
	func() {
		defer func() { _ = recover() }()
		if err := c.make(t.Context(), s); err != nil {
			t.Errorf("%s: %v", failed, err)
		}
	}()
	if !strings.HasPrefix(failed, "config.") && failed != "intent.remove" && failed != "staging.remove" { // the change is done
		clean(t, dir)
	}
	if _, err := s.Recover(t.Context()); err != nil {
		t.Errorf("%s: %v", failed, err)
	}
	clean(t, dir)
	if found := walk(t, dir); found != before && found != after && !strings.HasPrefix(failed, "config.") {
		t.Errorf("%s: it is\n%s\nand neither\n%s\nnor\n%s", failed, found, before, after)
	}
	return failed != ""
}

// TestRepairsAreTold has a store put in order what another process left.
func TestRepairsAreTold(t *testing.T) {
	dir, _, _ := states(t, changes["update"])
	s := open(t, optionsFor(dir))
	seen := map[string]bool{}
	for step := 1; killed(t, "update", dir, step, false); step++ {
		repairs, err := s.Recover(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range repairs {
			if r.Root != "skills" || r.Outcome != install.RepairCleared && (r.Slug != "pdf" || r.Action != pannier.ActionUpdate) {
				t.Errorf("%+v", r)
			}
			seen[r.Outcome] = true
		}
		if again, err := s.Recover(t.Context()); len(again) > 0 || err != nil {
			t.Errorf("again: %v, %v", again, err)
		}
	}
	if !seen[install.RepairCleared] || !seen[install.RepairUndone] || !seen[install.RepairFinished] {
		t.Errorf("seen %v", seen)
	}
}
