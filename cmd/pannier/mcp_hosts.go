package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// hostConfig is a program that starts MCP servers as commands.
type hostConfig struct {
	name, title string
	// project and user are the files for the lines, below a project and below the home directory; empty where there is none.
	project, user string
	// servers is the member of the file that has the servers by name.
	servers string
	// lines is a template of an [mcpServer]. A quoted value has the same form in JSON, TOML and YAML.
	lines string
}

// file says where the lines go.
func (h hostConfig) file() string {
	switch {
	case h.user == "" && h.project == "":
		return h.title
	case h.user == "":
		return h.project + " in a project"
	case h.project == "":
		return "~/" + h.user
	}
	return "~/" + h.user + ", or " + h.project + " in a project"
}

// The templates of hosts that share one.
const (
	linesOfServers = `{
  "mcpServers": {
    "pannier": {
      "command": {{quote .Command}},
      "args": {{quote .Args}}
    }
  }
}
`
	// Qwen Code shows a model the first line of a description alone, unless it loads the tools from the start.
	linesOfQwen = `{
  "mcpServers": {
    "pannier": {
      "command": {{quote .Command}},
      "args": {{quote .Args}},
      "alwaysLoadTools": true
    }
  }
}
`
	linesOfVSCode = `{
  "servers": {
    "pannier": {
      "type": "stdio",
      "command": {{quote .Command}},
      "args": {{quote .Args}}
    }
  }
}
`
	linesOfCodex = `[mcp_servers.pannier]
command = {{quote .Command}}
args = {{quote .Args}}
`
	linesOfCopilot = `{
  "mcpServers": {
    "pannier": {
      "type": "local",
      "command": {{quote .Command}},
      "args": {{quote .Args}},
      "tools": ["*"]
    }
  }
}
`
	linesOfGoose = `extensions:
  pannier:
    type: stdio
    name: pannier
    enabled: true
    cmd: {{quote .Command}}
    args: {{quote .Args}}
    timeout: 300
`
	linesOfOpencode = `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "pannier": {
      "type": "local",
      "command": {{quote .All}},
      "enabled": true
    }
  }
}
`
	linesOfZed = `{
  "context_servers": {
    "pannier": {
      "command": {{quote .Command}},
      "args": {{quote .Args}}
    }
  }
}
`
)

// hostConfigs are ordered by name.
var hostConfigs = []hostConfig{
	{"claude-code", "Claude Code", ".mcp.json", "", "mcpServers", linesOfServers},
	{"claude-desktop", "Claude Desktop", "", ".config/Claude/claude_desktop_config.json", "mcpServers", linesOfServers},
	{"cline", "Cline", "", ".cline/data/settings/cline_mcp_settings.json", "mcpServers", linesOfServers},
	{"codex", "Codex", "", ".codex/config.toml", "mcp_servers", linesOfCodex},
	{"copilot-cli", "GitHub Copilot CLI", ".github/mcp.json", ".copilot/mcp-config.json", "mcpServers", linesOfCopilot},
	{"cursor", "Cursor", ".cursor/mcp.json", ".cursor/mcp.json", "mcpServers", linesOfServers},
	{"gemini-cli", "Gemini CLI", ".gemini/settings.json", ".gemini/settings.json", "mcpServers", linesOfServers},
	{"goose", "Goose", "", ".config/goose/config.yaml", "extensions", linesOfGoose},
	{"jetbrains", "JetBrains Junie", ".junie/mcp/mcp.json", ".junie/mcp/mcp.json", "mcpServers", linesOfServers},
	{"kiro", "Kiro", ".kiro/settings/mcp.json", ".kiro/settings/mcp.json", "mcpServers", linesOfServers},
	{"lm-studio", "LM Studio", "", ".lmstudio/mcp.json", "mcpServers", linesOfServers},
	{"opencode", "opencode", "opencode.json", ".config/opencode/opencode.json", "mcp", linesOfOpencode},
	{"qwen-code", "Qwen Code", ".qwen/settings.json", ".qwen/settings.json", "mcpServers", linesOfQwen},
	{"vscode", "VS Code", ".vscode/mcp.json", ".config/Code/User/mcp.json", "servers", linesOfVSCode},
	{"windsurf", "Windsurf", "", ".codeium/windsurf/mcp_config.json", "mcpServers", linesOfServers},
	{"zed", "Zed", "", ".config/zed/settings.json", "context_servers", linesOfZed},
}

// mcpServer is the command that a host starts.
type mcpServer struct {
	Command string
	Args    []string
}

// All returns the command and its arguments.
func (s mcpServer) All() []string { return append([]string{s.Command}, s.Args...) }

// findHost returns the host of a name.
func findHost(name string) (hostConfig, error) {
	names := make([]string, len(hostConfigs))
	for i, h := range hostConfigs {
		if names[i] = h.name; h.name == name {
			return h, nil
		}
	}
	e := failure(fmt.Sprintf("unknown host %q", name), `run "pannier mcp --print-config" to see all hosts`)
	e.suggest(names, name)
	return hostConfig{}, e
}

// render returns the lines of a host for a server.
func (h hostConfig) render(server mcpServer) (string, error) {
	lines, err := template.New(h.name).Funcs(template.FuncMap{"quote": quote}).Parse(h.lines)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = lines.Execute(&text, server)
	return text.String(), err
}

// hostLines returns a host by its name, the server that it is to start, and the lines of its configuration file.
func (p *program) hostLines(flags *pflag.FlagSet, name string) (h hostConfig, server mcpServer, lines string, err error) {
	if h, err = findHost(name); err != nil {
		return h, server, "", err
	}
	if server, err = p.serverOf(flags); err == nil {
		lines, err = h.render(server)
	}
	return h, server, lines, err
}

// printHostConfig prints the lines for a host, and on standard error where they go.
func (p *program) printHostConfig(flags *pflag.FlagSet, name string) error {
	h, server, lines, err := p.hostLines(flags, name)
	if err != nil {
		return err
	}
	fmt.Fprint(p.out, lines)
	fmt.Fprintf(p.err, "pannier: add these lines to %s\n", h.file())
	if link := installLink(h.name, server); link != "" {
		fmt.Fprintf(p.err, "pannier: or open %s\n", link)
	}
	return nil
}

// installLink returns a link by which a host adds a server, empty for hosts that have none.
func installLink(host string, server mcpServer) string {
	type entry struct {
		Name    string   `json:"name,omitempty"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	text, _ := json.Marshal(entry{"", server.Command, server.Args})
	named, _ := json.Marshal(entry{"pannier", server.Command, server.Args})
	query := "name=pannier&config=" + url.QueryEscape(base64.StdEncoding.EncodeToString(text))
	switch host {
	case "cursor":
		return "cursor://anysphere.cursor-deeplink/mcp/install?" + query
	case "lm-studio":
		return "lmstudio://add_mcp?" + query
	case "vscode":
		return "vscode:mcp/install?" + url.PathEscape(string(named))
	}
	return ""
}

// serverOf returns the command with the flags that are given, for a host that starts it in any directory.
func (p *program) serverOf(flags *pflag.FlagSet) (mcpServer, error) {
	command, err := exec.LookPath(os.Args[0])
	if err == nil {
		command, err = filepath.Abs(command)
	}
	if err != nil {
		return mcpServer{}, fmt.Errorf("path of this program: %w", err)
	}
	server := mcpServer{Command: command, Args: []string{"mcp"}}
	inWorkspace := flags.Changed("workspace")
	flags.Visit(func(f *pflag.Flag) {
		if p.flags.Lookup(f.Name) == nil { // of this command alone
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(interface{ GetSlice() []string }); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			args, failed := shownArguments(f.Name, value, inWorkspace)
			if failed != nil {
				err = failed
			}
			server.Args = append(server.Args, args...)
		}
	})
	return server, err
}

// quote returns a text or a list as JSON, TOML and YAML all write it.
func quote(value any) (string, error) {
	texts, isList := value.([]string)
	if !isList {
		texts = []string{value.(string)}
	}
	quoted := make([]string, len(texts))
	for i, text := range texts {
		if !utf8.ValidString(text) {
			return "", &exitError{
				code: exitUnknown, message: fmt.Sprintf("%q is not UTF-8, which configuration files have to be", text),
				hint: "give a path in UTF-8, such as a symlink to it",
			}
		}
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			return "", err
		}
		quoted[i] = strings.ReplaceAll(strings.TrimSpace(line.String()), "\x7f", `\u007f`)
	}
	if isList {
		return "[" + strings.Join(quoted, ", ") + "]", nil
	}
	return quoted[0], nil
}

// hostNames completes HOST.
func hostNames(context.Context) []string {
	words := make([]string, len(hostConfigs))
	for i, h := range hostConfigs {
		words[i] = h.name + "\t" + h.title
	}
	return words
}
