package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	// configTemp begins the name of a file beside config.yaml. The rest is random: whoever writes to the workspace could
	// have put anything under a name that is known.
	configTemp     = "." + pannier.WorkspaceFile + ".pannier"
	maxConfigBytes = 1 << 20
)

// edited says what became of the list of config.yaml.
type edited struct {
	config  string
	problem *pannier.Problem
}

// errLeft says that config.yaml stays as it is, for a reason that is told.
var errLeft = errors.New("it stays as it is")

// list brings the list of config.yaml in line with an intent.
func (p *place) list(in *intent) edited {
	outcome, change := configAdded, yamldoc.Enlist
	switch in.Action {
	case pannier.ActionUninstall:
		if p.elsewhere(in.Slug) {
			return edited{}
		}
		outcome, change = configRemoved, yamldoc.Delist
	case pannier.ActionInstall:
	default:
		return edited{}
	}
	changed, err := p.store.editConfig(func(text []byte) ([]byte, error) { return change(text, skillsKey, in.Slug) })
	switch {
	case err != nil:
		return edited{problem: leftAlone(in, err)}
	case changed:
		return edited{config: outcome}
	}
	return edited{}
}

// elsewhere reports whether another root has a directory of that name, which the list means as well.
func (p *place) elsewhere(slug string) bool {
	return slices.ContainsFunc(p.store.rules.Roots, func(other pannier.Root) bool {
		info, err := os.Stat(filepath.Join(other.Path, slug))
		return other.Path != p.root.Path && err == nil && info.IsDir()
	})
}

func leftAlone(in *intent, err error) *pannier.Problem {
	hint := fmt.Sprintf("add %q to the list by hand, so that the agent has it", in.Slug)
	if in.Action == pannier.ActionUninstall {
		hint = fmt.Sprintf("remove %q from the list by hand", in.Slug)
	}
	return &pannier.Problem{
		Code: "install.config", Severity: pannier.SeverityWarning, Path: pannier.WorkspaceFile, Field: skillsKey,
		Message: "the list of skills was left as it is: " + err.Error(), Hint: hint,
	}
}

// editConfig changes config.yaml where there is one, and reports whether it did.
func (s *Store) editConfig(change func([]byte) ([]byte, error)) (bool, error) {
	name := filepath.Join(s.rules.Workspace, pannier.WorkspaceFile)
	before, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !before.Mode().IsRegular() {
		return false, fmt.Errorf("%w: the file is a link, or no file", errLeft)
	}
	text, err := readConfig(name)
	if err != nil {
		return false, err
	}
	changed, err := change(text)
	if err != nil || bytes.Equal(text, changed) {
		return false, err
	}
	return true, s.replaceConfig(name, before, changed)
}

func readConfig(name string) ([]byte, error) {
	text, _, err := fsx.ReadRegular(name, unix.O_NOFOLLOW, maxConfigBytes)
	if err == nil && len(text) > maxConfigBytes {
		err = fmt.Errorf("%w: it has more than %d bytes", errLeft, maxConfigBytes)
	}
	return text, err
}

// replaceConfig replaces config.yaml, unless it was changed since.
func (s *Store) replaceConfig(name string, before fs.FileInfo, text []byte) error {
	if err := unix.Access(name, unix.W_OK); err != nil || before.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%w: it may not be written", errLeft)
	}
	if err := s.step("config.write"); err != nil {
		return err
	}
	return fsx.WriteFile(name, text, fsx.WriteOptions{
		Temporary: filepath.Join(s.rules.Workspace, configTemp+"-"+randomName()),
		Prepare:   fsx.KeepOwner(before),
		Before: func(step fsx.Step) error {
			if step != fsx.StepRename {
				return nil
			}
			if err := s.step("config.commit"); err != nil {
				return err
			}
			now, err := os.Lstat(name)
			if err != nil || !os.SameFile(before, now) || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()) {
				return fmt.Errorf("%w: it was changed meanwhile", errLeft)
			}
			return nil
		},
	})
}

// clearConfig removes the files beside config.yaml that processes left. What is no regular file is nobody's of ours.
func (s *Store) clearConfig() {
	beside, err := os.ReadDir(s.rules.Workspace)
	for _, d := range beside {
		if strings.HasPrefix(d.Name(), configTemp) && d.Type().IsRegular() {
			err = errors.Join(err, os.Remove(filepath.Join(s.rules.Workspace, d.Name())))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("files beside config.yaml may stay", "error", err)
	}
}
