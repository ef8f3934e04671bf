package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// installIn runs `pannier mcp --install` in a project, with a home directory.
func installIn(t *testing.T, project, home string, args ...string) ran {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"mcp", "--install"}, args...)...)
	cmd.Dir, cmd.Env = project, append(cleanEnviron(), "HOME="+home)
	var out, err strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run()
	return ran{cmd.ProcessState.ExitCode(), out.String(), err.String()}
}

// TestInstallHost adds the server to a new file of each host, twice, and removes it.
func TestInstallHost(t *testing.T) {
	t.Parallel()
	for _, host := range hostConfigs {
		for _, user := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", host.name, user), func(t *testing.T) {
				t.Parallel()
				project, home := t.TempDir(), t.TempDir()
				args, file := []string{host.name, "--root", project}, filepath.Join(project, host.project)
				if user || host.project == "" {
					args, file = append(args, "--user"), filepath.Join(home, host.user)
				}
				if user && host.user == "" {
					if r := installIn(t, project, home, args...); r.code != exitUnknown || !strings.Contains(r.err, "hint: ") {
						t.Errorf("%+v", r)
					}
					return
				}
				if r := installIn(t, project, home, append(args, "--dry-run")...); r.code != 0 || !strings.Contains(r.err, "would add these lines to "+file) {
					t.Errorf("a dry run: %+v", r)
				}
				if entries := append(must(os.ReadDir(project))(t), must(os.ReadDir(home))(t)...); len(entries) > 0 {
					t.Errorf("a dry run made %v", entries)
				}
				if r := installIn(t, project, home, args...); r.code != 0 || r.err != "pannier: changed "+file+"\n" {
					t.Errorf("%+v", r)
				}
				text := must(os.ReadFile(file))(t)
				if got := commandOf(t, host, parseConfig(t, host, text)); !slices.Equal(got, []string{binary, "mcp", "--root", project}) {
					t.Errorf("the host starts %q", got)
				}
				if strings.HasSuffix(file, ".yaml") { // which is not edited
					if r := installIn(t, project, home, args...); r.code != exitUnknown || r.out != string(text) || !strings.Contains(r.err, "hint: add these lines to it by hand") {
						t.Errorf("%+v", r)
					}
					return
				}
				if r := installIn(t, project, home, args...); r.code != 0 || r.err != "pannier: nothing to change in "+file+"\n" {
					t.Errorf("again: %+v", r)
				}
				if r := installIn(t, project, home, append(args, "--remove")...); r.code != 0 {
					t.Errorf("%+v", r)
				}
				if after := must(os.ReadFile(file))(t); strings.Contains(string(after), "pannier\"") || strings.Contains(string(after), ".pannier") {
					t.Errorf("it is still there:\n%s", after)
				}
				if before := must(os.ReadFile(file + ".before-pannier"))(t); string(before) != string(text) {
					t.Errorf("the backup is\n%s", before)
				}
			})
		}
	}
}

// TestInstallKeeps: comments, order and other servers stay as they are.
func TestInstallKeeps(t *testing.T) {
	t.Parallel()
	const lines = "{\n  \"mcpServers\": {\n    \"pannier\": {\n      \"command\": \"p\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n"
	const codex = "[mcp_servers.pannier]\ncommand = \"p\"\nargs = [\"mcp\"]\n"
	for _, tt := range []struct{ name, host, before, after, removed string }{
		{
			"other servers", "cursor",
			"{\n  \"mcpServers\": {\n    \"a\": {\"url\": \"x\"}\n  },\n  \"z\": 1.50\n}\n",
			"{\n  \"mcpServers\": {\n    \"a\": {\"url\": \"x\"},\n    \"pannier\": {\n      \"command\": \"p\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  },\n  \"z\": 1.50\n}\n", "=",
		},
		{
			"comments and tabs", "cursor",
			"// mine\n{\n\t\"z\": 1, // one\n\t/* two */ \"y\": [1,2,], // three\n}\n",
			"// mine\n{\n\t\"z\": 1, // one\n\t/* two */ \"y\": [1,2,], // three\n\t\"mcpServers\": {\n\t\t\"pannier\": {\n\t\t\t\"command\": \"p\",\n\t\t\t\"args\": [\n\t\t\t\t\"mcp\"\n\t\t\t]\n\t\t}\n\t}\n}\n", "",
		},
		{
			"an older entry", "cursor",
			"{\"mcpServers\":{\"pannier\":{\"command\":\"old\"},\"b\":{}}}",
			"{\"mcpServers\":{\"pannier\":{\n      \"command\": \"p\",\n      \"args\": [\n        \"mcp\"\n      ]\n    },\"b\":{}}}", "{\"mcpServers\":{\"b\":{}}}",
		},
		{"an empty object", "cursor", "{}\n", "{\n  \"mcpServers\": {\n    \"pannier\": {\n      \"command\": \"p\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}\n", "{\n  \"mcpServers\": {\n  }\n}\n"},
		{"an empty file", "cursor", " \n", lines, ""},
		{"TOML", "codex", "# mine\nmodel = \"m\" # x\n\n[mcp_servers.a]\ncommand = \"a\"\n", "# mine\nmodel = \"m\" # x\n\n[mcp_servers.a]\ncommand = \"a\"\n\n" + codex, "="},
		{
			"an older table", "codex",
			"[mcp_servers.pannier]\ncommand = \"old\"\nargs = [\n  \"x\",\n]\n\n[mcp_servers.\"pannier\".env]\nA = \"b\"\n\n# of b\n[mcp_servers.b]\ncommand = \"b\"\n",
			"\n# of b\n[mcp_servers.b]\ncommand = \"b\"\n\n" + codex, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, err := findHost(tt.host)
			need(t, err)
			text := must(h.render(mcpServer{"p", []string{"mcp"}}))(t)
			got, err := h.edit([]byte(tt.before), text, false)
			if err != nil || string(got) != tt.after {
				t.Fatalf("%v\n%s\nwant\n%s", err, got, tt.after)
			}
			if again, err := h.edit(got, text, false); err != nil || string(again) != string(got) {
				t.Errorf("again: %v\n%s", err, again)
			}
			removed, err := h.edit(got, text, true)
			if want := strings.Replace(tt.removed, "=", tt.before, 1); err != nil || tt.removed != "" && string(removed) != want {
				t.Errorf("removed: %v\n%s\nwant\n%s", err, removed, want)
			}
			if none, err := h.edit(removed, text, true); err != nil || string(none) != string(removed) {
				t.Errorf("removed again: %v\n%s", err, none)
			}
		})
	}
}

// TestInstallRefuses a file that it cannot parse or edit, which stays as it is, with the lines to add.
func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ host, file, text, says string }{
		{"cursor", ".cursor/mcp.json", "{\"mcpServers\": {\n", "unexpected EOF"},
		{"cursor", ".cursor/mcp.json", "[]", "cannot unmarshal array"},
		{"cursor", ".cursor/mcp.json", "null", "it is not a JSON object"},
		{"cursor", ".cursor/mcp.json", `{"mcpServers": [1]}`, "mcpServers in it is not a table of servers"},
		{"cursor", ".cursor/mcp.json", "\xef\xbb\xbf{}", "invalid character"},
		{"codex", ".codex/config.toml", "model = \n", "toml"},
		{"codex", ".codex/config.toml", "mcp_servers = { a = { command = \"a\" } }\n", "a form that pannier does not edit"},
		{"codex", ".codex/config.toml", "mcp_servers.pannier.command = \"a\"\n", "a form that pannier does not edit"},
		{"codex", ".codex/config.toml", "x = \"\"\"\n[mcp_servers.pannier]\na\n\"\"\"\n", "a form that pannier does not edit"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, tt.file)
			need(t, os.MkdirAll(filepath.Dir(file), 0o755))
			need(t, os.WriteFile(file, []byte(tt.text), 0o600))
			r := installIn(t, dir, dir, tt.host)
			if r.code != exitUnknown || !strings.Contains(r.err, tt.says) || !strings.Contains(r.err, "hint: add these lines to it by hand") || !strings.Contains(r.out, "pannier") {
				t.Errorf("%+v", r)
			}
			if entries := must(os.ReadDir(filepath.Dir(file)))(t); string(must(os.ReadFile(file))(t)) != tt.text || len(entries) != 1 {
				t.Errorf("the file was changed, or %v left", entries)
			}
		})
	}
}

// TestInstallPlaces keeps mode and symlink of a file, and finds the project.
func TestInstallPlaces(t *testing.T) {
	t.Parallel()
	project, home := t.TempDir(), t.TempDir()
	deep := filepath.Join(project, "a/b")
	need(t, os.MkdirAll(filepath.Join(project, ".git"), 0o755))
	need(t, os.MkdirAll(deep, 0o755))
	need(t, os.MkdirAll(filepath.Join(home, "dotfiles"), 0o755))
	need(t, os.WriteFile(filepath.Join(home, "dotfiles/settings.json"), []byte("{}"), 0o600))
	need(t, os.Mkdir(filepath.Join(home, ".gemini"), 0o755))
	link := filepath.Join(home, ".gemini/settings.json")
	need(t, os.Symlink("../dotfiles/settings.json", link))
	if r := installIn(t, deep, home, "gemini-cli", "--user"); r.code != 0 {
		t.Error(r)
	}
	if info := must(os.Lstat(link))(t); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the symlink was replaced")
	}
	for _, name := range []string{"settings.json", "settings.json.before-pannier"} {
		if info := must(os.Stat(filepath.Join(home, "dotfiles", name)))(t); info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	if r := installIn(t, deep, home, "gemini-cli"); r.code != 0 {
		t.Error(r)
	}
	must(os.Stat(filepath.Join(project, ".gemini/settings.json")))(t)

	need(t, os.Remove(filepath.Join(home, "dotfiles/settings.json")))
	for _, args := range [][]string{{"gemini-cli", "--user"}, {"emacs"}, {}} {
		if r := installIn(t, deep, home, args...); r.code != exitUnknown || !strings.Contains(r.err, "hint: ") {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// FuzzHostFile edits any text: a second edit changes nothing, and a removal takes the server out.
func FuzzHostFile(f *testing.F) {
	for _, text := range []string{
		"", "{}", "{\"mcpServers\": {\"a\": {}}, // x\n}", "{\"mcpServers\":{\"pannier\":1}}", "[]", "{\"a\":1,\"a\":2}", "{\"mcpServers\":{},\"mcpServers\":{}}",
		"a = 1\n[mcp_servers.pannier]\nb = [\n[1],\n]\n# c\n[x]\n", "[mcp_servers]\npannier.command = 1", "[[mcp_servers.pannier]]\n",
		"x = '''\n[mcp_servers.pannier]\n'''", "\r\n[mcp_servers.\"pannier\"]\r\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, decode := range map[string]func([]byte) (map[string]any, error){"cursor": decodeJSON, "codex": decodeTOML} {
			h, err := findHost(name)
			need(t, err)
			lines := must(h.render(mcpServer{"p", []string{"mcp", "a\"b"}}))(t)
			after, err := h.edit([]byte(text), lines, false)
			if err != nil {
				continue
			}
			now, err := decode(after)
			if args, _ := lookUp(now, h.servers, "pannier", "args").([]any); err != nil || len(args) != 2 || args[1] != "a\"b" {
				t.Fatalf("%s: %v\n%s", name, err, after)
			}
			if again, err := h.edit(after, lines, false); err != nil || string(again) != string(after) {
				t.Fatalf("%s, again: %v\n%s", name, err, again)
			}
			removed, err := h.edit(after, lines, true)
			if err != nil {
				continue
			}
			if now, err = decode(removed); err != nil || lookUp(now, h.servers, "pannier") != nil {
				t.Fatalf("%s, removed: %v\n%s", name, err, removed)
			}
		}
	})
}
