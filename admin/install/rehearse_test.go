package install_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/admin/install"
)

// tree are all paths of a workspace.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		all = append(all, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// rehearsed makes all dry runs there are of the skill pdf, and returns what came of them.
func rehearsed(t *testing.T, s *install.Store) string {
	t.Helper()
	st, err := s.Stage(t.Context(), pannier.InstallRequest{DryRun: true}, fill(skillOf("pdf", "2.0.0")))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, do := range []func() (pannier.InstallResult, error){
		func() (pannier.InstallResult, error) {
			return s.Install(t.Context(), st, pannier.InstallRequest{DryRun: true}, actor)
		},
		func() (pannier.InstallResult, error) {
			return s.Update(t.Context(), st, pannier.InstallRequest{DryRun: true}, actor)
		},
		func() (pannier.InstallResult, error) {
			return s.Uninstall(t.Context(), pannier.RemoveRequest{Slug: "pdf", DryRun: true}, actor)
		},
		func() (pannier.InstallResult, error) {
			return s.Rollback(t.Context(), pannier.RemoveRequest{Slug: "pdf", DryRun: true}, actor)
		},
	} {
		r, err := do()
		if refusal, ok := errors.AsType[*pannier.Refusal](err); ok {
			told = append(told, refusal.Code)
		} else if err != nil {
			t.Error(err)
		} else {
			told = append(told, string(r.Status))
		}
	}
	if st.Skill.Path != "skills/pdf" || st.Skill.RootIndex != 0 || st.Files != 3 || st.Fingerprint.IsZero() {
		t.Errorf("%+v", st)
	}
	if err := st.Discard(); err != nil {
		t.Error(err)
	}
	return strings.Join(told, " ")
}

func TestDryRunsMakeNothing(t *testing.T) {
	bare := t.TempDir()
	installed := workspace(t, listing)
	if err := inTurn(puts("1.0.0", false))(t.Context(), open(t, optionsFor(installed))); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ dir, want string }{
		"no skills":       {bare, "installed install.not_found not_installed install.not_found"},
		"somebody's own":  {workspace(t, listing), "installed install.not_found not_installed install.not_found"},
		"it is installed": {installed, "install.exists updated uninstalled install.no_previous"},
	} {
		t.Run(name, func(t *testing.T) {
			o := optionsFor(tt.dir)
			o.Scratch = t.TempDir()
			before := tree(t, tt.dir)
			if got := rehearsed(t, open(t, o)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if after := tree(t, tt.dir); after != before {
				t.Errorf("it is\n%s\nand not\n%s", after, before)
			}
			if left, err := os.ReadDir(o.Scratch); len(left) > 0 || err != nil {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

// TestRehearsedIsNotInstalled: what was staged for a dry run can not be put anywhere.
func TestRehearsedIsNotInstalled(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	st, err := s.Stage(t.Context(), pannier.InstallRequest{DryRun: true}, fill(skillOf("pdf", "1")))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Discard()
	if _, err := s.Install(t.Context(), st, pannier.InstallRequest{}, actor); err == nil || loaded(t, dir)["skills/pdf"] != nil {
		t.Error("it is installed")
	}
}

// TestDryRunRepairsNothing that another process left.
func TestDryRunRepairsNothing(t *testing.T) {
	dir, _, _ := states(t, changes["update"])
	s := open(t, optionsFor(dir))
	for step := 1; ; step++ {
		cut := copied(t, dir)
		if !killed(t, "update", cut, step, false) {
			t.Fatal("no step leaves an intent")
		}
		if _, err := os.Stat(filepath.Join(cut, "skills/.pannier/intent.json")); err != nil {
			continue
		}
		if err := errors.Join(os.RemoveAll(dir), os.Rename(cut, dir)); err != nil {
			t.Fatal(err)
		}
		break
	}
	before := tree(t, dir)
	rehearsed(t, s)
	if after := tree(t, dir); after != before {
		t.Errorf("it is\n%s\nand not\n%s", after, before)
	}
}

// asNobody runs a function in a thread that has no rights of root over files, in a workspace of that user.
func asNobody(t *testing.T, do func(dir string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become nobody")
	}
	dir, err := os.MkdirTemp("", "pannier-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	var run sync.WaitGroup
	run.Go(func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		do(dir)
	})
	run.Wait()
}

func asRoot(t *testing.T, do func() error) {
	t.Helper()
	var run sync.WaitGroup
	run.Go(func() {
		if err := do(); err != nil {
			t.Error(err)
		}
	})
	run.Wait()
}

func TestUnreadable(t *testing.T) {
	asNobody(t, func(dir string) {
		s := open(t, optionsFor(dir))
		if err := puts("1.0.0", false)(context.Background(), s); err != nil {
			t.Error(err)
			return
		}
		secret := filepath.Join(dir, "skills/pdf/secret")
		asRoot(t, func() error { return os.WriteFile(secret, []byte("x"), 0o600) })
		for _, do := range []func(context.Context, *install.Store) error{puts("2.0.0", true), uninstall} {
			if r := refused(t, do(context.Background(), s), "install.unreadable"); !strings.Contains(r.Message, `"secret"`) {
				t.Errorf("%s does not name it", r.Message)
			}
		}
	})
}

// TestLeftBehind: what can not be removed from staging is told of.
func TestLeftBehind(t *testing.T) {
	asNobody(t, func(dir string) {
		s := open(t, optionsFor(dir))
		if err := puts("1.0.0", false)(context.Background(), s); err != nil {
			t.Error(err)
			return
		}
		sub := filepath.Join(dir, "skills/pdf/of-root")
		asRoot(t, func() error {
			return errors.Join(os.Mkdir(sub, 0o755), os.WriteFile(filepath.Join(sub, "x"), nil, 0o644))
		})
		r, err := s.Uninstall(context.Background(), pannier.RemoveRequest{Slug: "pdf", Expected: fingerprintOf(t, s, "pdf")}, actor)
		if err != nil || len(r.Problems) != 1 || r.Problems[0].Code != "install.left_behind" || !strings.Contains(r.Problems[0].Message, "/staging/") {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestSlugTooLong(t *testing.T) {
	s, long := open(t, optionsFor(workspace(t, ""))), strings.Repeat("a", 256)
	for _, front := range []string{"slug: " + long + "\nname: n", "name: " + long} {
		_, err := s.Stage(t.Context(), pannier.InstallRequest{}, fill(map[string]string{"SKILL.md": "---\n" + front + "\ndescription: d\n---\nDo it.\n"}))
		refused(t, err, "install.slug")
	}
	_, err := s.Uninstall(t.Context(), pannier.RemoveRequest{Slug: long}, actor)
	refused(t, err, "install.slug")
}

// TestRootThatGoes while a skill is staged in it.
func TestRootThatGoes(t *testing.T) {
	for _, step := range []string{"stage.fill", "stage.name", "stage.sync"} {
		dir := workspace(t, "")
		o := optionsFor(dir)
		o.Step = func(name string) error {
			if name == step {
				return os.RemoveAll(filepath.Join(dir, "skills"))
			}
			return nil
		}
		_, err := open(t, o).Stage(t.Context(), pannier.InstallRequest{}, fill(skillOf("pdf", "1")))
		refused(t, err, "install.root_missing")
	}
}

// TestWhatIsInTheWay is named, with what helps.
func TestWhatIsInTheWay(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	own := fingerprintOf(t, s, "own").String()
	for name, make := range map[string]func(string) error{
		"a symlink":      func(name string) error { return os.Symlink("own", name) },
		"a regular file": func(name string) error { return os.WriteFile(name, nil, 0o644) },
		"a FIFO":         func(name string) error { return unix.Mkfifo(name, 0o644) },
	} {
		if err := make(filepath.Join(dir, "skills/pdf")); err != nil {
			t.Fatal(err)
		}
		for code, do := range map[string]func(context.Context, *install.Store) error{"install.exists": puts("1", false), "install.not_managed": puts("1", true)} {
			if r := refused(t, do(t.Context(), s), code); !strings.HasSuffix(r.Message, "is "+name) || !strings.Contains(r.Hint, "move it away") {
				t.Errorf("%+v", r)
			}
		}
		if err := os.Remove(filepath.Join(dir, "skills/pdf")); err != nil {
			t.Fatal(err)
		}
	}
	for code, update := range map[string]bool{"install.exists": false, "install.not_managed": true} {
		_, err := put(t.Context(), s, skillOf("own", "1"), pannier.InstallRequest{}, update)
		if r := refused(t, err, code); !strings.Contains(r.Hint, own) {
			t.Errorf("%+v does not name %s", r, own)
		}
	}
}
