package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"pannier/internal/plain"
)

// maxHelpLines is how many lines a terminal shows at once.
const maxHelpLines = 40

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
