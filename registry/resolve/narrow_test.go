package resolve_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pannier"
	"pannier/registry/resolve"
)

func allows(tools ...string) func(*pannier.Entry) {
	return func(e *pannier.Entry) { e.AllowedTools = tools }
}

var shop = &pannier.Snapshot{Entries: []*pannier.Entry{
	entry("git", allows("Read", "Bash(git add:*)", "Bash(git commit:*)")),
	entry("mcp", allows("mcp__github__*", "Read")),
	entry("offered", implicit, allows("Nothing")),
	entry("open"),
	entry("shell", allows("Bash", "Read")),
	entry("wide", allows("*")),
	entry("write", allows("Write", "Deploy")),
}}

func TestAllowedTools(t *testing.T) {
	for _, tt := range []struct {
		text      string
		tools     []string
		effective string
		narrowed  string
	}{
		{"", nil, "", ""},
		{"", []string{"Write", "Read"}, "Read Write", ""},
		{"$open", []string{"Read"}, "Read", ""},
		{"$git", nil, "Bash(git add:*) Bash(git commit:*) Read", "git"},
		{"$git", []string{"Bash", "Read", "Write"}, "Bash(git add:*) Bash(git commit:*) Read", "git"},
		{"$git", []string{"Bash(git:*)"}, "Bash(git add:*) Bash(git commit:*)", "git"},
		{"$git", []string{"Bash(git add:-p)", "Bash(git adding)", "Bash(npm:*)"}, "Bash(git add:-p)", "git"},
		{"$git", []string{"Read"}, "Read", ""},
		{"$git", []string{}, "", ""},
		{"$shell", []string{"Bash(*)", "Bash(ls)"}, "Bash", ""},
		{"$shell $git", nil, "Bash(git add:*) Bash(git commit:*) Read", "git shell"},
		{"$shell $git", []string{"Bash", "Read", "Write"}, "Bash(git add:*) Bash(git commit:*) Read", "git shell"},
		{"$git $write", []string{"Bash", "Read", "Write"}, "", "git write"},
		{"$mcp", []string{"mcp__github__push", "mcp__gitlab__push", "mcp__*"}, "mcp__github__*", "mcp"},
		{"$mcp", []string{"mcp__github__push", "mcp__gitlab__push"}, "mcp__github__push", "mcp"},
		{"$wide $open", []string{"Read", "Bash(x:*)"}, "Bash(x:*) Read", ""},
		{"$git", []string{"read", " Read ", ""}, "Read", "git"},
	} {
		r := resolve.Resolve(shop, pannier.Turn{Text: tt.text, Tools: tt.tools})
		a := r.AllowedTools
		if got := strings.Join(a.Effective, " "); got != tt.effective || strings.Join(a.NarrowedBy, " ") != tt.narrowed || a.WidenedBy != nil || a.Profile != "" {
			t.Errorf("%q of %v: %+v", tt.text, tt.tools, a)
		}
	}
}

func TestWidening(t *testing.T) {
	for _, tt := range []struct {
		rules     resolve.Rules
		tools     []string
		effective string
		widened   string
	}{
		{resolve.Rules{}, []string{"Read", "Write"}, "Write", ""},
		{resolve.Rules{Profile: pannier.ProfileDefault}, []string{"Read", "Write"}, "Write", ""},
		{resolve.Rules{Profile: pannier.ProfileFullAuto}, []string{"Read", "Write"}, "Deploy Write", "write"},
		{resolve.Rules{Profile: pannier.ProfileFullAuto}, []string{"Write", "Deploy", "Read"}, "Deploy Write", ""},
		{resolve.Rules{Profile: pannier.ProfileFullAuto}, []string{}, "Deploy Write", "write"},
		{resolve.Rules{Profile: pannier.ProfileFullAuto}, nil, "Deploy Write", ""}, // nobody knows what would be more
	} {
		a := tt.rules.Resolve(shop, pannier.Turn{Text: "$write", Tools: tt.tools}).AllowedTools
		told := a.Profile == pannier.ProfileFullAuto
		if strings.Join(a.Effective, " ") != tt.effective || strings.Join(a.WidenedBy, " ") != tt.widened || told != (tt.rules.Profile == pannier.ProfileFullAuto) {
			t.Errorf("%+v of %v: %+v", tt.rules, tt.tools, a)
		}
	}
}

func TestNoToolsIsNotAnyTools(t *testing.T) {
	for text, want := range map[string]bool{`{}`: true, `{"tools":null}`: true, `{"tools":[]}`: false} {
		var turn pannier.Turn
		if err := json.Unmarshal([]byte(text), &turn); err != nil {
			t.Fatal(err)
		}
		back, err := json.Marshal(turn)
		if (turn.Tools == nil) != want || err != nil || strings.Contains(string(back), "tools") == want {
			t.Errorf("%s: %v, %s", text, turn.Tools, back)
		}
	}
}

// FuzzNarrow narrows what one list allows by another: nothing comes of it that not both allow, and the order of the skills
// does not matter.
func FuzzNarrow(f *testing.F) {
	for _, text := range []string{"Bash(git:*),Read", "*", "mcp__a*,Bash", "Bash(git add:*)", "x(y*),()", "Bash( )"} {
		f.Add("Bash,Read", text, "Read,Bash(git add:x)")
	}
	f.Fuzz(func(t *testing.T, own, one, other string) {
		list := func(text string) []string { return strings.Split(text, ",") }
		s := snapshot(entry("a", allows(list(one)...)), entry("b", allows(list(other)...)))
		turn := pannier.Turn{Text: "$a $b", Tools: list(own)}
		got := resolve.Resolve(s, turn).AllowedTools
		for _, text := range got.Effective {
			for _, allowed := range [][]string{list(own), list(one), list(other)} {
				if !covered(allowed, text) {
					t.Errorf("%q of %q, %q, %q", text, own, one, other)
				}
			}
		}
		s = snapshot(entry("a", allows(list(other)...)), entry("b", allows(list(one)...)))
		if swapped := resolve.Resolve(s, turn).AllowedTools; strings.Join(swapped.Effective, "\n") != strings.Join(got.Effective, "\n") {
			t.Errorf("%q, the other way round %q", got.Effective, swapped.Effective)
		}
	})
}

func covered(by []string, text string) bool {
	for _, b := range by {
		if strings.TrimSpace(b) != "" && resolve.Covers(b, text) {
			return true
		}
	}
	return false
}
