package installspec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/internal/yamldoc"
	"pannier/loader/installspec"
)

const openclaw = "metadata.openclaw.install"

// parse returns what stands under the key `install` of a text.
func parse(tb testing.TB, text string) yamldoc.Value {
	tb.Helper()
	v, _, err := yamldoc.Parse([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return v.Get("install")
}

// one returns the only spec of a list whose only item is written in braces.
func one(t *testing.T, item, field string) pannier.InstallSpec {
	t.Helper()
	specs, problems := installspec.Read(parse(t, "install: [{"+item+"}]"), field)
	if len(specs) != 1 || len(problems) > 0 {
		t.Fatalf("read %+v, problems %v", specs, problems)
	}
	return specs[0]
}

func TestCommands(t *testing.T) {
	const url = "https://example.com/a/tool-1.0"
	tests := []struct{ item, want string }{
		{"kind: brew, formula: jq", "brew install jq"},
		{"type: BREW, package: jq", "brew install jq"},
		{"kind: brew, formula: steipete/tap/sag", "brew install steipete/tap/sag"},
		{"kind: brew, formula: sag, tap: steipete/tap", "brew install steipete/tap/sag"},
		{"kind: brew, formula: steipete/tap/sag, tap: steipete/tap", "brew install steipete/tap/sag"},
		{"kind: brew, formula: python@3.12", "brew install python@3.12"},
		{"kind: brew, cask: docker", "brew install --cask docker"},
		{"kind: node, package: clawhub", "npm install -g clawhub"},
		{"kind: npm, package: '@bitwarden/cli'", "npm install -g @bitwarden/cli"},
		{"kind: node, package: '@a/b@~1.2.3'", "npm install -g @a/b@~1.2.3"},
		{"kind: go, module: github.com/steipete/blucli/cmd/blu@latest", "go install github.com/steipete/blucli/cmd/blu@latest"},
		{"kind: go, package: example.com/a", "go install example.com/a"},
		{"kind: uv, package: ruff", "uv tool install ruff"},
		{"kind: uv, package: ruff@0.5", "uv tool install ruff@0.5"},
		{"kind: pip, package: yt-dlp==2025.1", "pip install yt-dlp==2025.1"},
		{"kind: apt, package: 'g++'", "sudo apt-get install -y g++"},
		{"kind: apt, package: 'libc6:i386=2.1-1'", "sudo apt-get install -y libc6:i386=2.1-1"},
		{"kind: cargo, package: ripgrep@14.1.0", "cargo install ripgrep@14.1.0"},
		{"kind: download, url: '" + url + "'", "curl --proto =https -fsSL --create-dirs -o tool-1.0 " + url},
		{"kind: download, url: '" + url + "', package: bin/tool", "curl --proto =https -fsSL --create-dirs -o bin/tool " + url},
		{"kind: download, url: '" + url + "?a=b&c=%20', targetDir: x/y, sha256: " + strings.Repeat("aB", 32), "curl --proto =https -fsSL --create-dirs -o x/y/tool-1.0 " + url + "?a=b&c=%20"},
		{"kind: download, url: '" + url + ".tar.gz', stripComponents: 1, targetDir: x", "curl --proto =https -fsSL --create-dirs -o x/tool-1.0.tar.gz " + url + ".tar.gz; tar -xzf x/tool-1.0.tar.gz -C x --strip-components=1"},
		{"kind: download, url: '" + url + "', archive: tar.bz2", "curl --proto =https -fsSL --create-dirs -o tool-1.0 " + url + "; tar -xjf tool-1.0 -C ."},
		{"kind: download, url: '" + url + ".zip'", "curl --proto =https -fsSL --create-dirs -o tool-1.0.zip " + url + ".zip; unzip -q tool-1.0.zip -d ."},
		{"kind: download, url: '" + url + ".zip', extract: false", "curl --proto =https -fsSL --create-dirs -o tool-1.0.zip " + url + ".zip"},
	}
	for _, tt := range tests {
		t.Run(tt.item, func(t *testing.T) {
			s := one(t, tt.item, openclaw)
			if got := joined(s.Commands); got != tt.want || s.Refused != "" || s.Field != openclaw {
				t.Errorf("got %q, want %q; refused %q", got, tt.want, s.Refused)
			}
		})
	}
	if got := joined(one(t, "id: a, kind: uv, package: ruff", "install").Commands); got != "uv pip install ruff" {
		t.Errorf("Aleph's uv: %q", got)
	}
}

func joined(commands [][]string) string {
	var all []string
	for _, c := range commands {
		all = append(all, strings.Join(c, " "))
	}
	return strings.Join(all, "; ")
}

func TestRefused(t *testing.T) {
	const download = "kind: download, url: "
	tests := []struct{ item, want string }{
		{"package: jq", "no kind"},
		{"kind: shell, command: 'curl x | sh'", "command line for a shell"},
		{"kind: script, script: x", "command line for a shell"},
		{"kind: manual, instructions: x", `the kind "manual" is not one that is allowed`},
		{"kind: pipx, package: x", `the kind "pipx"`},
		{"kind: brew", "it names no package: formula is missing"},
		{"kind: go, module: ''", "it names no package: module is missing"},
		{"kind: node, package: --registry=https://host", "begins with a hyphen"},
		{"kind: node, package: 'a b'", "the character ' '"},
		{"kind: node, package: 'a;b'", "the character ';'"},
		{"kind: node, package: \"a\\nb\"", `the character '\n'`},
		{"kind: node, package: \"a\\0b\"", `the character '\x00'`},
		{"kind: node, package: 'a$(b)'", "the character '$'"},
		{"kind: node, package: 'a`b'", "the character '`'"},
		{"kind: node, package: 'ä'", "the character 'ä'"},
		{"kind: node, package: " + strings.Repeat("a", 257), "longer than 256 bytes"},
		{"kind: node, package: .", "a name of the npm registry"},
		{"kind: node, package: ./a", "a name of the npm registry"},
		{"kind: node, package: user/repo", "a name of the npm registry"},
		{"kind: node, package: 'a@npm:b'", "a name of the npm registry"},
		{"kind: node, package: 'git+https://github.com/a/b'", "a name of the npm registry"},
		{"kind: node, package: 'file:a'", "a name of the npm registry"},
		{"kind: node, package: a.tgz", "name of a file"},
		{"kind: node, package: a, registry: b", `the key "registry" is not known`},
		{"kind: brew, formula: a/../b", "two dots"},
		{"kind: brew, formula: /a/b", "neither the name of a formula"},
		{"kind: brew, formula: a/b", "neither the name of a formula"},
		{"kind: brew, formula: a.rb", "name of a file"},
		{"kind: brew, formula: 'https://a/b.rb'", "name of a file"},
		{"kind: brew, formula: a/b/c, tap: d/e", "is not of the tap"},
		{"kind: brew, formula: a, tap: b", "not of the form user/tap"},
		{"kind: brew, formula: a, tap: -b/c", "begins with a hyphen"},
		{"kind: go, module: ./cmd", "a path of a Go package"},
		{"kind: go, module: cmd/vet", "a path of a Go package"},
		{"kind: go, module: 'https://a.b/c'", "a path of a Go package"},
		{"kind: go, module: a.b/..", "a path of a Go package"},
		{"kind: go, module: a.b/c/...", "a path of a Go package"},
		{"kind: uv, package: a, from: 'git+https://a/b'", `the key "from" is not known`},
		{"kind: uv, package: 'a[b]'", "the character '['"},
		{"kind: uv, package: '~a'", "Python package index"},
		{"kind: uv, package: a/b", "Python package index"},
		{"kind: uv, package: a.whl", "name of a file"},
		{"kind: pip, package: a@b", "Python package index"},
		{"kind: apt, package: bash-", "removes a package"},
		{"kind: apt, package: ./a.deb", "name of a file"},
		{"kind: apt, package: a/b", "Debian package"},
		{"kind: cargo, package: a/b", "name of a crate"},
		{download + "''", "url: it is missing"},
		{download + "http://example.com/a", "does not begin with https://"},
		{download + "file:///etc/passwd", "does not begin with https://"},
		{download + "-o", "does not begin with https://"},
		{download + "'https://a:b@example.com/c'", "a password"},
		{download + "'https://example.com/c#d'", "fragment"},
		{download + "'https://example.com/{a,b}'", "the character '{'"},
		{download + "'https://example.com/a b'", "the character ' '"},
		{download + "\"https://example.com/a\\0\"", "the character"},
		{download + "https://127.0.0.1/a", "a number"},
		{download + "'https://[::1]/a'", "the character '['"},
		{download + "https://2130706433/a", "a number"},
		{download + "https://0x7f.1/a", "a number"},
		{download + "https://localhost/a", "not a public name"},
		{download + "https://db.internal/a", "not a public name"},
		{download + "'https:///a'", "no host"},
		{download + "'https://example.com:x/a'", "not an address"},
		{download + "'https://exa%6dple.com/a'", "not an address"},
		{download + "https://example.com/", "not a name for a file"},
		{download + "https://example.com/.bashrc", "not a name for a file"},
		{download + "https://example.com/%2e%2e", "not a name for a file"},
		{download + "https://example.com/-o", "not a name for a file"},
		{download + "https://example.com/a, targetDir: ../b", "below a directory"},
		{download + "https://example.com/a, targetDir: /usr/bin", "below a directory"},
		{download + "https://example.com/a, targetDir: '~/bin'", "below a directory"},
		{download + "https://example.com/a, package: .ssh/config", "below a directory"},
		{download + "https://example.com/a, sha256: abc", "64 hexadecimal digits"},
		{download + "https://example.com/a, archive: rar", "none of tar.gz"},
		{download + "https://example.com/a, extract: true", "its archive format is unknown"},
		{download + "https://example.com/a.tgz, stripComponents: -1", "a number from 0 to 16"},
		{download + "https://example.com/a.zip, stripComponents: 1", "unzip"},
		{download + "https://example.com/a, chmod: 777", `the key "chmod" is not known`},
	}
	for _, tt := range tests {
		t.Run(tt.item, func(t *testing.T) {
			s := one(t, tt.item, openclaw)
			if !strings.Contains(s.Refused, tt.want) || len(s.Commands) > 0 {
				t.Errorf("refused %q, want %q; commands %q", s.Refused, tt.want, s.Commands)
			}
		})
	}
}

func TestSpec(t *testing.T) {
	got := one(t, "id: ' x ', kind: Node, package: a, label: Install A, bins: 'a, b', os: [macOS, Win32, linux]", "install")
	want := pannier.InstallSpec{
		ID: "x", Kind: "node", Label: "Install A", Bins: []string{"a", "b"}, OS: []string{"darwin", "windows", "linux"},
		Commands: [][]string{{"npm", "install", "-g", "a"}}, Field: "install",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestShapes(t *testing.T) {
	tests := []struct{ name, text, specs, problems string }{
		{"absent", "other: 1", "", ""},
		{"null", "install:", "", ""},
		{"empty", "install: []", "", ""},
		{"mapping", "install:\n  kind: brew\n  formula: jq", "brew", "2:3 install"},
		{"text", "install: brew install jq", "!", "1:10 install"},
		{"text in a list", "install:\n  - brew install jq\n  - {kind: brew, formula: jq}", "! brew", "2:5 install[0]"},
		{"list in a list", "install: [[]]", "!", "1:11 install[0]"},
		{"null in a list", "install: [~]", "!", "1:11 install[0]"},
		{"kind", "install: [{kind: [brew], formula: jq}]", "!", "1:18 install[0].kind"},
		{"package", "install:\n  - kind: brew\n    formula: [jq]", "brew!", "3:14 install[0].formula"},
		{"label", "install: [{kind: brew, formula: jq, label: {a: b}}]", "brew", "1:44 install[0].label"},
		{"bins", "install: [{kind: brew, formula: jq, bins: {a: b}}]", "brew", "1:43 install[0].bins"},
		{"bins of others", "install: [{kind: brew, formula: jq, bins: [jq, [a], -x, a/b]}]", "brew", "1:48 install[0].bins, 1:43 install[0].bins, 1:43 install[0].bins"},
		{"os", "install: [{kind: brew, formula: jq, os: {a: b}}]", "brew", "1:41 install[0].os"},
		{"extract", "install: [{kind: download, url: 'https://example.com/a.zip', extract: auto}]", "download", "1:71 install[0].extract"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			specs, problems := installspec.Read(parse(t, tt.text), "install")
			var kinds, places []string
			for _, s := range specs {
				if s.Refused != "" {
					s.Kind += "!"
				}
				kinds = append(kinds, s.Kind)
			}
			for _, p := range problems {
				places = append(places, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Field))
			}
			if got := strings.Join(kinds, " "); got != tt.specs {
				t.Errorf("specs %q, want %q", got, tt.specs)
			}
			if got := strings.Join(places, ", "); got != tt.problems {
				t.Errorf("problems %q, want %q", got, tt.problems)
			}
			check(t, specs, problems)
		})
	}
}

func TestMany(t *testing.T) {
	text := "install:\n" + strings.Repeat("  - {kind: brew, formula: jq}\n", installspec.MaxSpecs+2)
	specs, problems := installspec.Read(parse(t, text), openclaw)
	if len(specs) != installspec.MaxSpecs || len(problems) != 1 || problems[0].Code != "skill.install.many" || problems[0].Line != installspec.MaxSpecs+2 {
		t.Errorf("%d specs, problems %v", len(specs), problems)
	}
}

// ownFlags are all the words with a hyphen that may stand in a command.
var ownFlags = []string{"-g", "-y", "--cask", "--proto", "-fsSL", "--create-dirs", "-o", "-xzf", "-xjf", "-q", "-d", "-C"}

// check fails where a spec is neither refused nor safe to run.
func check(tb testing.TB, specs []pannier.InstallSpec, problems []pannier.Problem) {
	tb.Helper()
	for _, s := range specs {
		if (len(s.Commands) > 0) == (s.Refused != "") || s.Field == "" {
			tb.Errorf("%+v", s)
		}
		for _, c := range s.Commands {
			if len(c) < 3 {
				tb.Errorf("%q", c)
			}
			for _, arg := range c {
				flag := slices.Contains(ownFlags, arg) || strings.HasPrefix(arg, "--strip-components=")
				if arg == "" || (arg[0] == '-' && !flag) || strings.ContainsAny(arg, "\x00\n\r \t'\"`$;|<>(){}[]*!\\") {
					tb.Errorf("%q holds %q", c, arg)
				}
			}
		}
		for _, name := range s.Bins {
			if name == "" || name[0] == '-' || strings.ContainsAny(name, "/\x00\n ") {
				tb.Errorf("binary %q", name)
			}
		}
	}
	for _, p := range problems {
		if p.Code == "" || p.Message == "" || p.Hint == "" || p.Field == "" || p.Severity != pannier.SeverityWarning || p.Line < 1 || p.Column < 1 {
			tb.Errorf("%+v", p)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, kind := range []string{"brew", "node", "npm", "go", "uv", "pip", "apt", "cargo", "download", "shell"} {
		f.Add(kind, "jq", "https://example.com/a/b.tar.gz?c", "x/y", "tar.gz", "1")
		f.Add(kind, "@a/b@~1.2", "https://127.0.0.1/", "-", "zip", "")
		f.Add(kind, "a.b/c/d@latest", "https://u:p@h.x:1/%2e%2e/-o#", "../~/.a", "", "a\x00\n")
	}
	f.Fuzz(func(t *testing.T, kind, name, url, dir, archive, other string) {
		var text strings.Builder
		text.WriteString("install:\n")
		for _, key := range []string{"formula", "cask", "package", "module"} {
			fmt.Fprintf(&text, "  - {kind: %q, %s: %q, tap: %q, bins: [%q]}\n", kind, key, name, dir, other)
			fmt.Fprintf(&text, "  - {kind: %q, %s: %q, os: %q}\n", kind, key, name, other)
		}
		fmt.Fprintf(&text, "  - {kind: %q, url: %q, targetDir: %q, archive: %q, stripComponents: %q}\n", kind, url, dir, archive, other)
		fmt.Fprintf(&text, "  - {kind: %q, url: %q, package: %q}\n  - {kind: %q, url: %q}\n", kind, url, dir, kind, url)
		v, _, err := yamldoc.Parse([]byte(text.String()))
		if err != nil {
			return
		}
		for _, field := range []string{"install", openclaw} {
			specs, problems := installspec.Read(v.Get("install"), field)
			if len(specs) != 11 {
				t.Errorf("%d specs", len(specs))
			}
			check(t, specs, problems)
		}
	})
}
