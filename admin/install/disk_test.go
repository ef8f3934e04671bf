package install_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pannier"
	"pannier/admin/install"
)

// mounted returns a workspace on a small file system of its own, with a skill installed.
func mounted(t *testing.T) (string, *install.Store) {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("a file system of its own needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	write(t, filepath.Join(dir, "config.yaml"), listing)
	write(t, filepath.Join(dir, "skills/own/SKILL.md"), "---\nname: own\ndescription: Mine.\n---\nMine.\n")
	s := open(t, optionsFor(dir))
	if err := puts("1.0.0", false)(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return dir, s
}

// fillUp writes a file until there is no room.
func fillUp(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

func TestDiskFull(t *testing.T) {
	dir, s := mounted(t)
	before := walk(t, dir)
	big := skillOf("pdf", "2.0.0")
	big["big"] = string(make([]byte, 1<<20))
	_, err := put(t.Context(), s, big, pannier.InstallRequest{}, true)
	refused(t, err, "install.disk_full")
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the cause is lost: %v", err)
	}
	clean(t, dir)
	if after := walk(t, dir); after != before {
		t.Errorf("it is\n%s", after)
	}
	st := stage(t, s, skillOf("pdf", "2.0.0"))
	staged, ballast := walk(t, dir), filepath.Join(dir, "ballast")
	for _, change := range []func(context.Context, *install.Store) error{
		func(ctx context.Context, s *install.Store) error {
			_, err := s.Update(ctx, st, pannier.InstallRequest{}, actor)
			return err
		},
		uninstall,
	} {
		fillUp(t, ballast)
		err := change(t.Context(), s)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		refused(t, err, "install.disk_full")
		if after := withoutScratch(t, dir); after != staged {
			t.Errorf("it is\n%s\nand not\n%s", after, staged)
		}
	}
	if r, err := s.Update(t.Context(), st, pannier.InstallRequest{}, actor); err != nil || r.Status != pannier.StatusUpdated {
		t.Errorf("with room: %+v, %v", r, err)
	}
}

// withoutScratch returns a walk without the texts that a change writes before anything moves.
func withoutScratch(t *testing.T, dir string) string {
	t.Helper()
	scratch, err := filepath.Glob(filepath.Join(dir, "skills/.pannier/staging/*/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scratch {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	return walk(t, dir)
}

func TestReadOnly(t *testing.T) {
	dir, s := mounted(t)
	before := walk(t, dir)
	remount(t, dir, syscall.MS_RDONLY)
	other := open(t, optionsFor(dir))
	for _, change := range []func(context.Context, *install.Store) error{puts("2.0.0", true), rollback, uninstall} {
		for _, s := range []*install.Store{s, other} {
			err := change(t.Context(), s)
			refused(t, err, "install.read_only")
			if !errors.Is(err, syscall.EROFS) {
				t.Errorf("the cause is lost: %v", err)
			}
		}
	}
	if installed, err := other.Installed(""); err != nil || len(installed) != 1 {
		t.Errorf("%v, %v", installed, err)
	}
	if after := walk(t, dir); after != before {
		t.Errorf("it is\n%s", after)
	}
	remount(t, dir, 0)
	if err := puts("2.0.0", true)(t.Context(), other); err != nil {
		t.Error(err)
	}
}

func remount(t *testing.T, dir string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, "size=512k"); err != nil {
		t.Fatal(err)
	}
}

// TestMountedConfig: config.yaml is a mount, as in a container that is handed the one file.
func TestMountedConfig(t *testing.T) {
	dir := workspace(t, listing)
	name := filepath.Join(dir, "config.yaml")
	if err := syscall.Mount(name, name, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("a mount needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(name, 0); err != nil {
			t.Error(err)
		}
	})
	configProblem(t, dir, listing)
}

// configProblem installs a skill, and checks that config.yaml stays and that a problem says so.
func configProblem(t *testing.T, dir, config string) {
	t.Helper()
	s := open(t, optionsFor(dir))
	r, err := put(t.Context(), s, skillOf("pdf", "1.0.0"), pannier.InstallRequest{}, false)
	if err != nil || r.Status != pannier.StatusInstalled || r.Config != "" || len(r.Problems) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	p := r.Problems[len(r.Problems)-1]
	if p.Code != "install.config" || p.Path != "config.yaml" || p.Field != "skills" || p.Hint == "" {
		t.Errorf("%+v", p)
	}
	if got := read(t, filepath.Join(dir, "config.yaml")); got != config {
		t.Errorf("it is %q", got)
	}
	clean(t, dir)
}
