package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pannier/internal/yamldoc"
	"pannier/link"
)

// lookUp returns the value below keys.
func lookUp(value any, keys ...string) any {
	for _, key := range keys {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = fields[key]
	}
	return value
}

// parseConfig reads the configuration of a host.
func parseConfig(t *testing.T, host hostConfig, text []byte) (value any) {
	t.Helper()
	switch {
	case strings.Contains(host.file(), ".toml"):
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip(err)
		}
		cmd := exec.Command(python, "-c", "import json, sys, tomllib; print(json.dumps(tomllib.load(sys.stdin.buffer)))")
		cmd.Stdin = strings.NewReader(string(text))
		if text, err = cmd.Output(); err != nil {
			t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
		}
	case strings.Contains(host.file(), ".yaml"):
		read, faults, err := yamldoc.Parse(text)
		if err != nil || len(faults) > 0 {
			t.Fatal(err, faults)
		}
		text = read.JSON()
	}
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return value
}

// commandOf returns the command line in the configuration of a host.
func commandOf(t *testing.T, host hostConfig, value any) (words []string) {
	t.Helper()
	entry := lookUp(value, host.servers, "pannier")
	for _, key := range []string{"cmd", "command", "args"} {
		switch found := lookUp(entry, key).(type) {
		case string:
			words = append(words, found)
		case []any:
			for _, word := range found {
				words = append(words, word.(string))
			}
		}
	}
	return words
}

// commandOfLink returns the command line in a link by which a host adds a server.
func commandOfLink(t *testing.T, link string) []string {
	t.Helper()
	u := must(url.Parse(link))(t)
	text, err := []byte(u.Query().Get("config")), error(nil)
	switch {
	case u.Scheme == "vscode":
		if text = []byte(must(url.PathUnescape(u.RawQuery))(t)); u.Opaque != "mcp/install" {
			t.Errorf("the link opens %s", u.Opaque)
		}
	case u.Host == "vscode.dev":
	default:
		if text, err = base64.StdEncoding.DecodeString(string(text)); err != nil || u.Query().Get("name") != "pannier" {
			t.Errorf("%s: %v", link, err)
		}
	}
	var entry struct {
		Command string
		Args    []string
	}
	need(t, json.Unmarshal(text, &entry))
	return append([]string{entry.Command}, entry.Args...)
}

// TestInstallLinks: the links of the document add the server without flags.
func TestInstallLinks(t *testing.T) {
	t.Parallel()
	page := string(must(os.ReadFile("../../docs/MCP-HOSTS.md"))(t))
	for _, name := range []string{"cursor", "code"} {
		_, rest, ok := strings.Cut(page, "\n["+name+"]: ")
		link, _, _ := strings.Cut(rest, "\n")
		if got := commandOfLink(t, link); !ok || !slices.Equal(got, []string{"pannier", "mcp"}) {
			t.Errorf("the link for %s starts %q", name, got)
		}
	}
}

// TestHostFiles compares the table of the document with the hosts.
func TestHostFiles(t *testing.T) {
	t.Parallel()
	page := string(must(os.ReadFile("../../docs/MCP-HOSTS.md"))(t))
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + text + "`"
	}
	for _, h := range hostConfigs {
		project, user := code(h.project), ""
		if h.user != "" {
			user = code("~/" + h.user)
		}
		row := strings.ReplaceAll("| "+h.name+" | "+project+" | "+user, "|  |", "| |")
		if !strings.Contains(page, "\n"+row) {
			t.Errorf("docs/MCP-HOSTS.md does not have %q", row)
		}
	}
	for _, h := range link.Hosts() {
		if row := fmt.Sprintf("| `%s` | `~/%s` |", h.Project, h.User); !strings.Contains(page, row) || !strings.Contains(page, h.Name) {
			t.Errorf("docs/MCP-HOSTS.md does not have %q of %s", row, h.Name)
		}
	}
}

func TestHostConfigurations(t *testing.T) {
	t.Parallel()
	const odd = "a \"b\" 'c' \\d\t$e #f é \u2028 \U0001F600 \x7f"
	dir := filepath.Join(t.TempDir(), odd)
	need(t, os.MkdirAll(dir, 0o755))
	program := filepath.Join(dir, "pannier")
	need(t, os.Symlink(binary, program))
	for _, host := range hostConfigs {
		t.Run(host.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(program, "mcp", "--workspace", odd, "--root", "x,y", "--root=-z", "--print-config", host.name)
			cmd.Dir, cmd.Env = dir, cleanEnviron()
			var notes strings.Builder
			cmd.Stderr = &notes
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, notes.String())
			}
			lines := strings.SplitAfter(notes.String(), "\n")
			if want := "pannier: add these lines to " + host.file() + "\n"; lines[0] != want {
				t.Errorf("standard error: %q, want %q", notes.String(), want)
			}
			config := parseConfig(t, host, out)
			if shown := lookUp(config, host.servers, "pannier", "alwaysLoadTools") == true; shown != (host.name == "qwen-code") {
				t.Errorf("%s loads the tools from the start: %t", host.name, shown)
			}
			got := commandOf(t, host, config)
			want := []string{program, "mcp", "--root", "x,y", "--root=-z", "--workspace", filepath.Join(dir, odd)}
			if !slices.Equal(got, want) {
				t.Errorf("the host starts\n%q, want\n%q", got, want)
			}
			if link, ok := strings.CutPrefix(lines[1], "pannier: or open "); ok {
				if got := commandOfLink(t, strings.TrimSpace(link)); !slices.Equal(got, want) {
					t.Errorf("the link starts\n%q, want\n%q", got, want)
				}
			} else if lines[1] != "" || slices.Contains([]string{"cursor", "lm-studio", "vscode"}, host.name) {
				t.Errorf("standard error: %q", notes.String())
			}
		})
	}
}

func TestHostNames(t *testing.T) {
	t.Parallel()
	names := make([]string, len(hostConfigs))
	for i, host := range hostConfigs {
		names[i] = host.name
	}
	if !slices.IsSorted(names) {
		t.Errorf("the hosts are not sorted: %q", names)
	}
	out, err := exec.Command(binary, "mcp", "--print-config").Output()
	if err != nil || strings.Count(string(out), "\n") != len(names)+1 {
		t.Errorf("the list of hosts: %v\n%s", err, out)
	}
	out, err = exec.Command(binary, "__complete", "mcp", "--print-config", "c").Output()
	want := []string{
		"claude-code\tClaude Code", "claude-desktop\tClaude Desktop", "cline\tCline", "codex\tCodex",
		"copilot-cli\tGitHub Copilot CLI", "cursor\tCursor",
	}
	if got := strings.Split(string(out), "\n")[:len(want)]; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("completion: %q %v", got, err)
	}
	for _, c := range []struct{ arg, says string }{
		{"cursr", `unknown host "cursr"; did you mean "cursor"?`}, {"emacs", `unknown host "emacs"`},
	} {
		out, err := exec.Command(binary, "mcp", "--print-config", c.arg).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "pannier: "+c.says+"\nhint: run \"pannier mcp --print-config\" to see all hosts") {
			t.Errorf("%s: %v %s", c.arg, err, out)
		}
	}
}
