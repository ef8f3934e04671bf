package link

import (
	"fmt"
	"path/filepath"
	"strings"

	"pannier/sidecar"
)

// Host is a program that loads the skills of a directory by itself.
type Host struct {
	// Name is how people call the host here, Title how it calls itself.
	Name, Title string
	// Project is its directory of skills below a project, User the one below the home directory; with slashes.
	Project, User string
}

// hosts are ordered by name. Of several directories that a host loads, it is the one that fewest others load too.
var hosts = []Host{
	{"claude-code", "Claude Code", ".claude/skills", ".claude/skills"},
	{"cline", "Cline", ".cline/skills", ".cline/skills"},
	{"codex", "Codex", ".agents/skills", ".agents/skills"},
	{"copilot-cli", "GitHub Copilot CLI", ".github/skills", ".copilot/skills"},
	{"cursor", "Cursor", ".cursor/skills", ".cursor/skills"},
	{"gemini-cli", "Gemini CLI", ".gemini/skills", ".gemini/skills"},
	{"goose", "Goose", ".goose/skills", ".config/goose/skills"},
	{"jetbrains", "JetBrains Junie", ".junie/skills", ".junie/skills"},
	{"kiro", "Kiro", ".kiro/skills", ".kiro/skills"},
	{"opencode", "opencode", ".opencode/skills", ".config/opencode/skills"},
	{"qwen-code", "Qwen Code", ".qwen/skills", ".qwen/skills"},
	{"vscode", "VS Code", ".github/skills", ".copilot/skills"},
	{"windsurf", "Windsurf", ".windsurf/skills", ".codeium/windsurf/skills"},
}

// Hosts returns the hosts whose directories are known, ordered by name.
func Hosts() []Host { return hosts }

// Find returns the directory that a text names: a host, or a path with a slash. The directory of a host is that below
// home, or below project if home is empty; a relative path is below here.
func Find(text, project, home, here string) (*Directory, error) {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
		switch {
		case h.Name != text:
		case home != "":
			return &Directory{Path: filepath.Join(home, h.User)}, nil
		default:
			return &Directory{Path: filepath.Join(project, h.Project)}, nil
		}
	}
	switch {
	case filepath.IsAbs(text):
		return &Directory{Path: filepath.Clean(text)}, nil
	case strings.Contains(text, "/"):
		return &Directory{Path: filepath.Join(here, text)}, nil
	}
	return nil, &sidecar.Error{
		Message: fmt.Sprintf("unknown host %q", text),
		Hint:    fmt.Sprintf("write one of %s, or ./%s for a directory", strings.Join(names, ", "), text),
	}
}
