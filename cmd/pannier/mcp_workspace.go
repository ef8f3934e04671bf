package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"pannier/config"
)

// skillDirs are the directories that hosts keep skills in, relative to a project or the home directory.
var skillDirs = []string{".agents/skills", ".claude/skills", "skills"}

// mcpSettings returns the settings of an MCP server, which logs warnings unless a level is set that says more.
func (p *program) mcpSettings() (config.Settings, error) {
	s, err := p.settings()
	s.Link = nil // the server writes no file
	if s.Log.Level == "info" {
		s.Log.Level = "warn" // hosts show what a server logs as errors
	}
	return s, err
}

// ownWorkspace returns the settings of a sidecar in this process. Without a workspace and roots these are the
// directories of skills that hosts use; without a workspace, it is the working directory.
func (p *program) ownWorkspace(s config.Settings) (config.Settings, error) {
	if s.Given.Workspace {
		return p.withNamedRoots(s), requireDirectory(s)
	}
	here, err := os.Getwd()
	if err != nil {
		return s, fmt.Errorf("working directory: %w", err)
	}
	if s.Given.Roots {
		s, err = p.settingsWith("workspace", here)
		return p.withNamedRoots(s), err
	}
	return p.ownDirectories(here)
}

// withNamedRoots offers the roots of the command line to the model wherever they are, and warns of those that are
// missing. A root of a configuration file says itself whether it is implicit.
func (p *program) withNamedRoots(s config.Settings) config.Settings {
	if !p.flags.Changed("root") {
		return s
	}
	for i := range s.Roots {
		root := &s.Roots[i]
		root.Implicit = true
		switch info, err := os.Stat(root.Path); {
		case errors.Is(err, os.ErrNotExist):
			fmt.Fprintf(p.err, "pannier: root %s does not exist; waiting for it\n", root.Path)
		case err != nil:
			fmt.Fprintf(p.err, "pannier: root %s cannot be read: %v\n", root.Path, err)
		case !info.IsDir():
			fmt.Fprintf(p.err, "pannier: root %s is not a directory\n", root.Path)
		}
	}
	return s
}

// ownDirectories returns the settings for the directories of skills that hosts use.
func (p *program) ownDirectories(here string) (config.Settings, error) {
	home, _ := os.UserHomeDir() // none: only here
	top := projectOf(here)
	found := findSkillDirs(here, top, home)
	if len(found) == 0 {
		found = []string{filepath.Join(top, skillDirs[0])} // it may be created
		if home != "" && home != top {
			found = append(found, filepath.Join(home, skillDirs[0]))
		}
		fmt.Fprintf(p.err, "pannier: no directory of skills here or in the home directory; waiting for %s\n",
			strings.Join(found, " or "))
	}
	set := []string{"workspace", top}
	for _, dir := range found {
		set = append(set, "root", dir)
	}
	s, err := p.settingsWith(set...)
	if err != nil {
		return s, err
	}
	for i := range s.Roots {
		// These are the skills that hosts offer to the model themselves. Tools that install into several of the directories
		// write one copy and symlinks to it.
		s.Roots[i].Implicit = true
		s.Roots[i].LinkTargets = slices.DeleteFunc(slices.Clone(found),
			func(dir string) bool { return dir == s.Roots[i].Path })
	}
	return s, nil
}

// settingsWith returns the settings with some flags set: names and values.
func (p *program) settingsWith(flags ...string) (config.Settings, error) {
	for i := 0; i < len(flags); i += 2 {
		if err := p.flags.Set(flags[i], flags[i+1]); err != nil {
			return config.Settings{}, err
		}
	}
	return p.mcpSettings()
}

// projectOf returns the root of the repository that a directory is in, else the directory.
func projectOf(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// findSkillDirs returns the directories of skills that exist: those of here first, then those of its parents up to top,
// then those of home. One that is reached by two paths is returned once.
func findSkillDirs(here, top, home string) []string {
	places := []string{here}
	for at := here; at != top && at != filepath.Dir(at); at = filepath.Dir(at) {
		places = append(places, filepath.Dir(at))
	}
	if home != "" && !slices.Contains(places, home) {
		places = append(places, home)
	}
	var found []string
	var seen []os.FileInfo
	for _, place := range places {
		for _, name := range skillDirs {
			dir := filepath.Join(place, name)
			info, err := os.Stat(dir)
			isSame := func(other os.FileInfo) bool { return os.SameFile(info, other) }
			if err != nil || !info.IsDir() || slices.ContainsFunc(seen, isSame) {
				continue
			}
			found, seen = append(found, dir), append(seen, info)
		}
	}
	return found
}

// mcpLogger returns how the log of an MCP server is made. Standard output belongs to the protocol.
func (p *program) mcpLogger(s config.Settings) func(io.Writer) hclog.Logger {
	return func(to io.Writer) hclog.Logger { return p.newLogger(s, to) }
}

// shownArguments returns the arguments of a command line that repeat a flag, with paths that hold in any directory.
func shownArguments(name, value string, inWorkspace bool) ([]string, error) {
	isPath := slices.Contains([]string{"workspace", "socket", "token-file", "ca-file", "config"}, name) ||
		name == "root" && !inWorkspace
	if isPath && value != "" {
		absolute, err := filepath.Abs(value)
		if err != nil {
			return nil, err
		}
		value = absolute
	}
	if strings.HasPrefix(value, "-") {
		return []string{"--" + name + "=" + value}, nil
	}
	return []string{"--" + name, value}, nil
}
