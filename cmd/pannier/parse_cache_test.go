package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/internal/fsx"
)

// listOnce starts a sidecar, returns its skills, and stops it.
func listOnce(t *testing.T, w, stateDir string) (skills []*pannier.Skill) {
	t.Helper()
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", stateDir)
	list := must(s.Skills(t.Context(), "", true))(t)
	if code := s.terminate(t); code != exitYes {
		t.Errorf("exit code %d\n%s", code, s.log.String())
	}
	for _, e := range list.Skills { // fingerprints are known a moment later
		skills = append(skills, e.Skill)
	}
	return skills
}

// TestRestartWithParsedSkills restarts with what the process before has parsed, and with what is left of that.
func TestRestartWithParsedSkills(t *testing.T) {
	w, stateDir := newWorkspace(t), t.TempDir()
	writeIn(t, w, skillScript("first", "Is there before.")+skillScript("second", "So is this."))
	file := filepath.Join(stateDir, testWorkspaceID, "parsed.cache")
	want := listOnce(t, w, stateDir)
	inode := func() uint64 {
		st, _ := fsx.Lstat(file)
		return st.Ino
	}
	eventually(t, "all skills are restored", func() error { // files that were written two seconds ago are parsed again
		before := inode()
		if listOnce(t, w, stateDir); before == 0 || inode() != before {
			return errors.New("skills are parsed and kept")
		}
		return nil
	})
	kept := must(os.ReadFile(file))(t)
	put := func(content []byte) func() error {
		return func() error { return os.WriteFile(file, content, 0o600) }
	}
	tampered := append([]byte{}, kept...)
	tampered[len(tampered)/2] ^= 1
	for _, step := range []struct {
		name    string
		prepare func() error
		kept    bool // again
	}{
		{"nothing", func() error { return os.Remove(file) }, true},
		{"an empty file", put(nil), true},
		{"a part", put(kept[:len(kept)-100]), true},
		{"another byte", put(tampered), true},
		{"another version", put(append([]byte("pannier parsed skills 0\n"), kept...)), true},
		{"a directory", func() error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) }, false},
		{"no place for a new one", func() error { return errors.Join(os.Remove(file), os.Mkdir(file+".new", 0o700)) }, false},
	} {
		if err := step.prepare(); err != nil {
			t.Fatal(step.name, err)
		}
		before := inode()
		if diff := cmp.Diff(want, listOnce(t, w, stateDir)); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", step.name, diff)
		}
		if now, err := os.ReadFile(file); step.kept && (err != nil || string(now) != string(kept)) {
			t.Errorf("%s: the file is not as it was: %v", step.name, err)
		} else if !step.kept && inode() != before {
			t.Errorf("%s: the file was written", step.name)
		}
	}
}
