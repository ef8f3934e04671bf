package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pannier/internal/yamldoc"
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
	case strings.Contains(host.file, ".toml"):
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip(err)
		}
		cmd := exec.Command(python, "-c", "import json, sys, tomllib; print(json.dumps(tomllib.load(sys.stdin.buffer)))")
		cmd.Stdin = strings.NewReader(string(text))
		if text, err = cmd.Output(); err != nil {
			t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
		}
	case strings.Contains(host.file, ".yaml"):
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
	at := map[string][]string{
		"vscode": {"servers"}, "codex": {"mcp_servers"}, "goose": {"extensions"}, "opencode": {"mcp"}, "zed": {"context_servers"},
	}[host.name]
	if at == nil {
		at = []string{"mcpServers"}
	}
	entry := lookUp(value, append(at, "pannier")...)
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
			if want := "pannier: add these lines to " + host.file + "\n"; notes.String() != want {
				t.Errorf("standard error: %q, want %q", notes.String(), want)
			}
			got := commandOf(t, host, parseConfig(t, host, out))
			want := []string{program, "mcp", "--root", "x,y", "--root=-z", "--workspace", filepath.Join(dir, odd)}
			if !slices.Equal(got, want) {
				t.Errorf("the host starts\n%q, want\n%q", got, want)
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
	want := []string{"claude-code\tClaude Code", "claude-desktop\tClaude Desktop", "codex\tCodex", "cursor\tCursor"}
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
