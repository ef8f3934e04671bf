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
	// Copy is set where the host does not follow links out of the directory.
	Copy bool
}

// hosts are ordered by name. Of several directories that a host loads, it is the one that fewest others load too.
var hosts = []Host{
	{"claude-code", "Claude Code", ".claude/skills", ".claude/skills", false},
	{"cline", "Cline", ".cline/skills", ".cline/skills", false},
	{"codex", "Codex", ".agents/skills", ".agents/skills", true},
	{"copilot-cli", "GitHub Copilot CLI", ".github/skills", ".copilot/skills", false},
	{"cursor", "Cursor", ".cursor/skills", ".cursor/skills", false},
	{"gemini-cli", "Gemini CLI", ".gemini/skills", ".gemini/skills", false},
	{"goose", "Goose", ".goose/skills", ".config/goose/skills", false},
	{"jetbrains", "JetBrains Junie", ".junie/skills", ".junie/skills", false},
	{"kiro", "Kiro", ".kiro/skills", ".kiro/skills", false},
	{"opencode", "opencode", ".opencode/skills", ".config/opencode/skills", false},
	{"qwen-code", "Qwen Code", ".qwen/skills", ".qwen/skills", false},
	{"vscode", "VS Code", ".github/skills", ".copilot/skills", false},
	{"windsurf", "Windsurf", ".windsurf/skills", ".codeium/windsurf/skills", false},
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
			return &Directory{Path: filepath.Join(home, h.User), Copy: h.Copy}, nil
		default:
			return &Directory{Path: filepath.Join(project, h.Project), Copy: h.Copy}, nil
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
