package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/yamldoc"
)

// What became of the list of config.yaml ([pannier.InstallResult.Config]).
const (
	configAdded   = "added"
	configRemoved = "removed"
)

const (
	skillsKey = "skills"
	// configTemp is the prefix of temporary files. The rest of the name is random: a process that can write to the
	// workspace could otherwise occupy the name.
	configTemp     = "." + pannier.WorkspaceFile + ".pannier"
	maxConfigBytes = 1 << 20
)

// configEdit is the result of editing the list of skills in config.yaml.
type configEdit struct {
	config  string
	problem *pannier.Problem
}

// errUnchanged says that config.yaml was not changed.
var errUnchanged = errors.New("config.yaml is unchanged")

// updateConfig adds an installed skill to the list of config.yaml, or removes an uninstalled one.
func (p *place) updateConfig(in *intent) configEdit {
	outcome, change := configAdded, yamldoc.Enlist
	hint := fmt.Sprintf("add %q to the list by hand, so that the agent uses it", in.Slug)
	switch in.Action {
	case pannier.ActionUninstall:
		for _, other := range p.store.rules.Roots { // the list also refers to a directory with this name in another root
			info, err := os.Stat(filepath.Join(other.Path, in.Slug))
			if other.Path != p.root.Path && err == nil && info.IsDir() {
				return configEdit{}
			}
		}
		outcome, change = configRemoved, yamldoc.Delist
		hint = fmt.Sprintf("remove %q from the list by hand", in.Slug)
	case pannier.ActionInstall:
	default:
		return configEdit{}
	}
	changed, err := p.store.editConfig(func(text []byte) ([]byte, error) { return change(text, skillsKey, in.Slug) })
	switch {
	case err != nil:
		return configEdit{problem: &pannier.Problem{
			Code: "install.config", Severity: pannier.SeverityWarning, Path: pannier.WorkspaceFile, Field: skillsKey,
			Message: "the list of skills was not updated: " + err.Error(), Hint: hint,
		}}
	case changed:
		return configEdit{config: outcome}
	}
	return configEdit{}
}

// editConfig changes config.yaml, if it exists, and reports whether it did. A symlink is not followed.
func (s *Store) editConfig(change func([]byte) ([]byte, error)) (bool, error) {
	workspace, err := fsx.OpenOwned("", s.rules.Workspace)
	if err != nil {
		return false, unlessMissing(err)
	}
	defer workspace.Close()
	text, before, err := fsx.ReadEntryIn(workspace, pannier.WorkspaceFile, maxConfigBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, fsx.ErrNotRegular):
		return false, fmt.Errorf("%w: the file is not a regular file", errUnchanged)
	case err != nil:
		return false, err
	case len(text) > maxConfigBytes:
		return false, fmt.Errorf("%w: the file has more than %d bytes", errUnchanged, maxConfigBytes)
	}
	changed, err := change(text)
	if err != nil || bytes.Equal(text, changed) {
		return false, err
	}
	return true, s.replaceConfig(workspace, before, changed)
}

// replaceConfig replaces config.yaml, unless it was changed since it was read.
func (s *Store) replaceConfig(workspace *os.Root, before fs.FileInfo, text []byte) error {
	const name = pannier.WorkspaceFile
	dir, err := workspace.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Faccessat(int(dir.Fd()), name, unix.W_OK, 0); err != nil || before.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%w: the file is not writable", errUnchanged)
	}
	if err := s.step("config.write"); err != nil {
		return err
	}
	return fsx.WriteFileIn(workspace, name, text, fsx.WriteOptions{
		Temporary: configTemp + "-" + randomName(),
		Prepare:   fsx.KeepOwner(before),
		Before: func(step fsx.Step) error {
			if step != fsx.StepRename {
				return nil
			}
			if err := s.step("config.commit"); err != nil {
				return err
			}
			now, err := workspace.Lstat(name)
			if err != nil || !os.SameFile(before, now) || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()) {
				return fmt.Errorf("%w: the file was changed concurrently", errUnchanged)
			}
			return nil
		},
	})
}

// clearConfig removes temporary files that killed processes left beside config.yaml.
func (s *Store) clearConfig() {
	workspace, err := fsx.OpenOwned("", s.rules.Workspace)
	if err != nil {
		return // nothing can have been written there
	}
	defer workspace.Close()
	beside, err := fs.ReadDir(workspace.FS(), ".")
	for _, d := range beside {
		if strings.HasPrefix(d.Name(), configTemp) && d.Type().IsRegular() {
			err = errors.Join(err, workspace.Remove(d.Name()))
		}
	}
	if err != nil {
		s.log.Warn("removing temporary files beside config.yaml failed", "error", err)
	}
}
