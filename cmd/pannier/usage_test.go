package main

import (
	"bytes"
	"context"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
)

// runHere runs a command line in this process.
func runHere(t *testing.T, args ...string) (code int, out, complaint string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = execute(context.Background(), args, streams{out: &stdout, err: &stderr}, []string{"HOME=" + t.TempDir()})
	return code, stdout.String(), stderr.String()
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ line, message, hint string }{
		{"show", `"pannier show" needs SLUG`, `use it as "pannier show SLUG"; run "pannier show --help" to see its flags; run "pannier list" to see the slugs`},
		{"show a b", `unexpected argument "b" for "pannier show"`, `use it as "pannier show SLUG"; run "pannier show --help" to see its flags`},
		{"list x", `unexpected argument "x" for "pannier list"`, `use it as "pannier list"; run "pannier list --help" to see its flags`},
		{"update a", `"pannier update" needs DIR|ARCHIVE|-`, `use it as "pannier update SLUG DIR|ARCHIVE|-"; run "pannier update --help" to see its flags`},
		{"token", `"pannier token" needs NAME and SCOPE`, `use it as "pannier token NAME SCOPE"; run "pannier token --help" to see its flags`},
		{"audit --watch", `unknown flag --watch for "pannier audit", which reads the files once`, "run it again after a change"},
		{"audit a b", `unexpected argument "b" for "pannier audit"`, `use it as "pannier audit [DIR | -]"; run "pannier audit --help" to see its flags`},
		{"list --stat eligible", `unknown flag --stat for "pannier list"; did you mean --state?`, `run "pannier list --help" to see its flags`},
		{"list --xyzzy", `unknown flag --xyzzy for "pannier list"`, `run "pannier list --help" to see its flags`},
		{"list -q", `unknown flag -q for "pannier list"`, `run "pannier list --help" to see its flags`},
		{"list --state", "flag --state needs a value", "write --state=VALUE: "},
		{"audit-log list --limit x", `invalid value "x" for --limit`, "give a number: "},
		{"resolve --verbose=maybe", `invalid value "maybe" for --verbose`, "give true or false: "},
		{"completion basj", `unknown command "basj" for "pannier completion"; did you mean "bash"?`, `run "pannier completion --help" to see all commands`},
		{"completion bash x", `unexpected argument "x" for "pannier completion bash"`, `use it as "pannier completion bash"; run "pannier completion bash --help"`},
		{"help lisst", `unknown command "lisst" for "pannier"; did you mean "list"?`, `run "pannier --help" to see all commands`},
		{"help policy sett", `unknown command "sett" for "pannier policy"; did you mean "set"?`, `run "pannier policy --help" to see all commands`},
		{"audit --json --sarif", "only one of --json, --sarif can be given", "leave the others out"},
	} {
		code, out, complaint := runHere(t, strings.Fields(tt.line)...)
		message, hint, _ := strings.Cut(complaint, "\n")
		if code != exitUnknown || out != "" || message != "pannier: "+tt.message || !strings.HasPrefix(hint, "hint: "+tt.hint) {
			t.Errorf("pannier %s: exit code %d\n%s%s", tt.line, code, out, complaint)
		}
	}
}

// completed returns what a shell is offered for a command line whose last word is begun.
func completed(t *testing.T, args ...string) []string {
	t.Helper()
	code, out, _ := runHere(t, append([]string{"__complete"}, args...)...)
	if code != exitYes {
		t.Errorf("%q: exit code %d", args, code)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[:len(lines)-1] // the last one is for the shell
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	dir := workspaceWith(t, skillScript("pdf-forms", "Fills in forms.")+skillScript("report", "Writes a report."))
	s := startSidecar(t, dir, "--state-dir", t.TempDir())
	need(t, s.installs(t.Context(), "", "one"))
	for _, tt := range []struct{ line, want string }{
		{"show |", "csv\tReads tables. pdf-forms\tFills in forms. report\tWrites a report."},
		{"show r|", "report\tWrites a report."},
		{"policy set pdf|", "pdf-forms\tFills in forms."},
		{"resolve --skill rep|", "report\tWrites a report."},
		{"command run r|", "report\tWrites a report."},
		{"show report |", ""},
		{"list --state el|", "eligible"},
		{"prompt --format skills|", "skills_xml"},
		{"events --types skill_loaded,skill_inv|", "skill_loaded,skill_invoked"},
		{"audit --profile mol|", "molecule"},
		{"run --log-format |", "auto text json"},
		{"run --scan |", "off report enforce"},
		{"policy set --implicit |", "true false default"},
		{"token |", ""},
		{"token ci |", "read environment call write"},
		{"uninstall |", "csv\tReads tables."},
		{"rollback |", "csv\tReads tables."},
	} {
		words := strings.Split(strings.TrimSuffix(tt.line, "|"), " ")
		last := len(words) - 1
		args := append(append(words[:last:last], "--socket", s.socket), words[last])
		switch {
		case words[last-1] == "--skill":
			args = append([]string{words[0], "--socket", s.socket}, words[1:]...)
		case words[0] == "token" || strings.HasPrefix(words[last-1], "--"): // a fixed list
			args = words
		}
		if got := strings.Join(completed(t, args...), " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
		}
	}
}

// TestCompletionWithoutASidecar offers nothing, says nothing, and does not keep a user waiting.
func TestCompletionWithoutASidecar(t *testing.T) {
	t.Parallel()
	start := time.Now()
	code, out, complaint := runHere(t, "__complete", "show", "--socket", shortDir(t)+"/none", "")
	if code != exitYes || out != ":4\n" || strings.Contains(complaint, "hint:") {
		t.Errorf("exit code %d\n%s%s", code, out, complaint)
	}
	if took := time.Since(start); took > 10*completionTimeout {
		t.Errorf("took %s", took)
	}
}

// TestListCutsNothingInAPipe prints long versions and slugs as they are, unless it prints on a terminal.
func TestListCutsNothingInAPipe(t *testing.T) {
	t.Parallel()
	const version = "1.0.0-alpha.beta+very.long.build"
	slug := strings.Repeat("long-", 10) + "slug"
	list := pannier.List{Skills: []*pannier.Entry{{Skill: &pannier.Skill{Slug: slug, Version: version}, State: pannier.StateEligible}}}
	for _, terminal := range []bool{false, true} {
		var out bytes.Buffer
		need(t, (streams{out: &out, outTerminal: terminal}).printList(list))
		if text := out.String(); strings.Contains(text, version) == terminal || strings.Contains(text, slug) == terminal {
			t.Errorf("terminal %t:\n%s", terminal, text)
		}
	}
}

// maxHelpLines is how many lines a terminal shows at once.
const maxHelpLines = 42

var bannedWords = regexp.MustCompile(`(?i)\b(whoever|somebody|nobody|can not|of which none|what is gone|the way in|house|door|kin|is no)\b( longer)?`)

// TestHelp checks that the help of every command fits on one screen and has an example.
func TestHelp(t *testing.T) {
	root := newRoot(streams{}, nil)
	root.InitDefaultHelpFlag()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if name := cmd.Name(); cmd.Parent() == root && (name == "help" || name == "completion") {
			return // of the library
		}
		t.Run(cmd.CommandPath(), func(t *testing.T) { checkHelp(t, cmd) })
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

func checkHelp(t *testing.T, cmd *cobra.Command) {
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.InitDefaultHelpFlag()
	need(t, cmd.Help())
	help := out.String()
	for _, found := range bannedWords.FindAllString(cmd.Short+"\n"+help, -1) {
		if !strings.HasSuffix(found, " longer") {
			t.Errorf("the help has %q", found)
		}
	}
	lines := strings.Split(strings.TrimSuffix(help, "\n"), "\n")
	for _, line := range lines {
		if plain.Cells(line) > helpColumns {
			t.Errorf("the line has %d columns: %s", plain.Cells(line), line)
		}
	}
	if cmd.Short == "" || !strings.HasPrefix(cmd.Short, strings.ToUpper(cmd.Short[:1])) || strings.HasSuffix(cmd.Short, ".") {
		t.Errorf("the short help is %q", cmd.Short)
	}
	if cmd.IsAdditionalHelpTopicCommand() {
		return
	}
	if len(lines) > maxHelpLines {
		t.Errorf("the help has %d lines:\n%s", len(lines), help)
	}
	if !strings.Contains(cmd.Example, "pannier ") || !strings.Contains(help, strings.TrimSpace(cmd.Example)) {
		t.Errorf("the example is %q", cmd.Example)
	}
	if cmd.Parent() != nil && !cmd.Parent().HasParent() && cmd.GroupID == "" && !cmd.Hidden {
		t.Error("the command is in no group, so the overview does not show it")
	}
}

// TestSettingsAreFlagsOfRun refuses the flag of a setting for another command, which takes the variable.
func TestSettingsAreFlagsOfRun(t *testing.T) {
	for _, tt := range []struct{ line, message, hint string }{
		{"list --scan=off", `--scan is a flag of "pannier run", not of "pannier list"`, "set PANNIER_SCAN, or write scan into the file of --config"},
		{"install x --install-enabled=false", `--install-enabled is a flag of "pannier run", not of "pannier install"`, "set PANNIER_INSTALL_ENABLED, or write install.enabled into"},
		{"version --scan off", `unknown flag --scan for "pannier version"`, `run "pannier version --help"`},
		{"run --url x", `--url is not a flag of "pannier run": it says which sidecar other commands ask`, "use --platform-url for the platform that gets the card"},
		{"command run x --token-file y --ca-file none --url ftp://x", "", "name a PEM file with --ca-file"},
	} {
		code, out, complaint := runHere(t, strings.Fields(tt.line)...)
		message, hint, _ := strings.Cut(complaint, "\n")
		if code != exitUnknown || out != "" || !strings.HasPrefix(message, "pannier: "+tt.message) || !strings.HasPrefix(hint, "hint: "+tt.hint) {
			t.Errorf("pannier %s: exit code %d\n%s%s", tt.line, code, out, complaint)
		}
	}
}

func TestCommitWords(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0a1b2c"}
	for want, settings := range map[string][]debug.BuildSetting{
		"":                           nil,
		" (commit 0a1b2c)":           {commit, {Key: "vcs.modified", Value: "false"}},
		" (commit 0a1b2c, modified)": {commit, {Key: "vcs.modified", Value: "true"}},
	} {
		if got := commitWords(commitOf(settings)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
