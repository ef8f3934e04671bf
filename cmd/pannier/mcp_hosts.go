package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	// file is where the lines go, with the place for one project after the one for all.
	file string
	// lines is a template of an [mcpServer]. A quoted value has the same form in JSON, TOML and YAML.
	lines string
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

var hostConfigs = []hostConfig{
	{"claude-code", "Claude Code", ".mcp.json in a project", linesOfServers},
	{"claude-desktop", "Claude Desktop", "claude_desktop_config.json (Settings, Developer, Edit Config)", linesOfServers},
	{"codex", "Codex", "~/.codex/config.toml", linesOfCodex},
	{"cursor", "Cursor", "~/.cursor/mcp.json, or .cursor/mcp.json in a project", linesOfServers},
	{"gemini-cli", "Gemini CLI", "~/.gemini/settings.json, or .gemini/settings.json in a project", linesOfServers},
	{"goose", "Goose", "~/.config/goose/config.yaml", linesOfGoose},
	{"opencode", "opencode", "~/.config/opencode/opencode.json, or opencode.json in a project", linesOfOpencode},
	{"vscode", "VS Code", ".vscode/mcp.json in a project (MCP: Open User Configuration for all)", linesOfVSCode},
	{"zed", "Zed", "~/.config/zed/settings.json", linesOfZed},
}

// mcpServer is the command that a host starts.
type mcpServer struct {
	Command string
	Args    []string
}

// All returns the command and its arguments.
func (s mcpServer) All() []string { return append([]string{s.Command}, s.Args...) }

// printHostConfig prints the lines for a host, and on standard error where they go.
func (p *program) printHostConfig(flags *pflag.FlagSet, name string) error {
	names := make([]string, len(hostConfigs))
	for i, h := range hostConfigs {
		if names[i] = h.name; h.name != name {
			continue
		}
		server, err := serverOf(flags)
		if err != nil {
			return err
		}
		lines, err := template.New(h.name).Funcs(template.FuncMap{"quote": quote}).Parse(h.lines)
		if err != nil {
			return err
		}
		if err := lines.Execute(p.out, server); err != nil {
			return err
		}
		fmt.Fprintf(p.err, "pannier: add these lines to %s\n", h.file)
		return nil
	}
	e := &exitError{
		code: exitUnknown, message: fmt.Sprintf("unknown host %q", name),
		hint: `run "pannier mcp --print-config" to see all hosts`,
	}
	if meant := similarName(names, name); meant != "" {
		e.message += fmt.Sprintf("; did you mean %q?", meant)
	}
	return e
}

// serverOf returns the command with the flags that are given, for a host that starts it in any directory.
func serverOf(flags *pflag.FlagSet) (mcpServer, error) {
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
		if f.Name == "print-config" {
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
