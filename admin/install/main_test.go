package install_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"pannier"
	"pannier/admin/install"
	"pannier/internal/testbench/fixture"
)

// The test binary plays a process that makes the change that the one names, in the workspace of the other, and is
// killed before its step of that number.
const (
	killVariable  = "PANNIER_INSTALL_KILL"
	dirVariable   = "PANNIER_INSTALL_DIR"
	stepVariable  = "PANNIER_INSTALL_STEP"
	plainVariable = "PANNIER_INSTALL_PLAIN"
)

func TestMain(m *testing.M) {
	if change := os.Getenv(killVariable); change != "" {
		if err := dieIn(change, os.Getenv(dirVariable), os.Getenv(stepVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	fixture.RaiseParallel()
	goleak.VerifyTestMain(m)
}

func dieIn(change, dir, step string) error {
	left, err := strconv.Atoi(step)
	if err != nil {
		return err
	}
	o := optionsFor(dir)
	o.Step = func(string) error {
		if left--; left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}
	s, err := install.Open(context.Background(), o)
	if err != nil {
		return err
	}
	if os.Getenv(plainVariable) != "" {
		s.Plain()
	}
	return changes[change].make(context.Background(), s)
}

var actor = pannier.Actor{Kind: "command"}

// optionsFor returns what a store of a workspace in dir goes by.
func optionsFor(dir string) install.Options {
	return install.Options{
		Rules: pannier.DiscoveryRules{
			Workspace: dir, MaxDepth: 4, MaxDirs: 1000, MaxSkillBytes: 1 << 20, MaxFrontmatterBytes: 64 << 10,
			Roots: []pannier.Root{
				{Path: filepath.Join(dir, "skills"), Name: "skills", Kind: pannier.SourceWorkspace, Trust: pannier.TrustInternal, Implicit: true},
				{Path: filepath.Join(dir, "managed"), Name: "managed", Kind: pannier.SourceManaged, Trust: pannier.TrustUntrusted},
				{Path: filepath.Join(dir, "extra"), Name: "extra", Kind: pannier.SourceExtra, Trust: pannier.TrustUntrusted},
			},
		},
		Trust: pannier.TrustCommunity,
	}
}

// skillOf returns the files of a skill.
func skillOf(slug, version string) map[string]string {
	return map[string]string{
		"SKILL.md":        "---\nname: " + slug + "\ndescription: Does it.\nversion: " + version + "\n---\n# It\nDo it.\n",
		"references/a.md": "a of " + version + "\n", "scripts/run.sh": "#!/bin/sh\necho " + version + "\n",
	}
}

// fill writes files as an unpacker would.
func fill(files map[string]string) install.Fill { return from("", files) }

// from writes files that come from a folder of that name.
func from(folder string, files map[string]string) install.Fill {
	return func(_ context.Context, into *os.Root) (string, error) {
		var errs []error
		for name, text := range files {
			mode := fs.FileMode(0o644)
			if strings.HasSuffix(name, ".sh") {
				mode = 0o755
			}
			errs = append(errs, into.MkdirAll(filepath.Dir(name), 0o755), into.WriteFile(name, []byte(text), mode))
		}
		return folder, errors.Join(errs...)
	}
}

// put stages files and installs them, or updates what is there.
func put(ctx context.Context, s *install.Store, files map[string]string, req pannier.InstallRequest, update bool) (pannier.InstallResult, error) {
	st, err := s.Stage(ctx, pannier.InstallRequest{SourceKind: req.SourceKind}, fill(files))
	if err != nil {
		return pannier.InstallResult{}, err
	}
	do := s.Install
	if update {
		do = s.Update
	}
	defer st.Discard() // where that fails, a recovery does it
	return do(ctx, st, req, actor)
}

func open(t testing.TB, o install.Options) *install.Store {
	t.Helper()
	s, err := install.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// workspace returns a workspace with a skill of somebody's own, and a config.yaml.
func workspace(t testing.TB, config string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "skills/own/SKILL.md"), "---\nname: own\ndescription: Mine.\n---\nMine.\n")
	if config != "" {
		write(t, filepath.Join(dir, "config.yaml"), config)
	}
	return dir
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var whenInstalled = regexp.MustCompile(`"installed_at": ?"[^"]*"`)

// walk returns every file of a workspace with its mode and text, but for times in lock files, and the file that is only
// locked.
func walk(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		if err != nil || d.IsDir() || filepath.Base(rel) == "busy" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(name)
			fmt.Fprintf(&b, "%s -> %s\n", rel, target)
			return err
		}
		text, err := os.ReadFile(name)
		fmt.Fprintf(&b, "%s %s %q\n", rel, info.Mode(), whenInstalled.ReplaceAll(text, nil))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// refused checks for a refusal with a code, and returns it.
func refused(t testing.TB, err error, code string) *pannier.Refusal {
	t.Helper()
	r, ok := errors.AsType[*pannier.Refusal](err)
	if !ok || r.Code != code || r.Message == "" || r.Hint == "" {
		t.Errorf("got %v (%+v), want %s", err, r, code)
		return &pannier.Refusal{}
	}
	return r
}

// clean checks that nothing of a change is left.
func clean(t testing.TB, dir string) {
	t.Helper()
	for _, root := range []string{"skills", "managed"} {
		own := filepath.Join(dir, root, ".pannier")
		if left, _ := os.ReadDir(filepath.Join(own, "staging")); len(left) > 0 {
			t.Errorf("left in staging of %s: %v", root, left)
		}
		if _, err := os.Lstat(filepath.Join(own, "intent.json")); err == nil {
			t.Errorf("an intent is left in %s", root)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".config.yaml.pannier*")); len(left) > 0 {
		t.Errorf("left beside config.yaml: %v", left)
	}
}
