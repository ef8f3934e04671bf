package resolve_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/registry/resolve"
)

func bundled(e *pannier.Entry)   { e.SourceKind = pannier.SourceBundled }
func toolsOnly(e *pannier.Entry) { e.ToolsOnly = true }
func disabled(e *pannier.Entry)  { e.State, e.Policy.Enabled = pannier.StateDisabled, false }

func root(index int) func(*pannier.Entry) {
	return func(e *pannier.Entry) { e.RootIndex = index }
}

// declares gives a skill commands by their names.
func declares(names ...string) func(*pannier.Entry) {
	return func(e *pannier.Entry) {
		for _, name := range names {
			e.Commands = append(e.Commands, pannier.Command{Name: name, Description: "runs " + name, Args: "<file>"})
		}
	}
}

// snapshot has entries in the order that every snapshot has.
func snapshot(entries ...*pannier.Entry) *pannier.Snapshot {
	slices.SortStableFunc(entries, func(a, b *pannier.Entry) int { return strings.Compare(a.Slug, b.Slug) })
	return &pannier.Snapshot{Version: 5, Entries: entries}
}

// listed returns commands in short: name=slug, or name=slug:command.
func listed(s *pannier.Snapshot) string {
	var all []string
	for _, c := range resolve.Commands(s) {
		all = append(all, short(c))
	}
	return strings.Join(all, " ")
}

func short(c pannier.SkillCommand) string {
	line := c.Name + "=" + c.Slug
	if c.Command != "" {
		line += ":" + c.Command
	}
	return line
}

func TestCommandNames(t *testing.T) {
	long := strings.Repeat("a", 40)
	for _, test := range []struct {
		name    string
		entries []*pannier.Entry
		want    string
	}{
		{"nothing", nil, ""},
		{"a skill", []*pannier.Entry{entry("pdf-forms")}, "pdf_forms=pdf-forms"},
		{"what it declares", []*pannier.Entry{entry("pdf", declares("fill", "Read All"))}, "pdf=pdf fill=pdf:fill read_all=pdf:Read All"},
		{"who has none", []*pannier.Entry{
			entry("a", shadowedBy("x"), declares("c1")), entry("b", disabled, declares("c2")), entry("c", against(pannier.ReasonMissingEnv), declares("c3")),
			entry("d", unlisted, declares("c4")), entry("e", notForUsers, declares("c5")), entry("f", toolsOnly, declares("c6")), entry("g"),
		}, "g=g"},
		{"a skill before what is declared", []*pannier.Entry{entry("csv", declares("pdf")), entry("pdf", bundled)}, "csv=csv pdf_2=csv:pdf pdf=pdf"},
		{"the name of a skill that cannot be used", []*pannier.Entry{entry("csv", declares("pdf")), entry("pdf", disabled)}, "csv=csv pdf_2=csv:pdf"},
		{"workspace over bundled", []*pannier.Entry{entry("a", bundled, declares("go")), entry("b", root(3), declares("go"))}, "a=a go_2=a:go b=b go=b:go"},
		{"the rest in between", []*pannier.Entry{entry("a", bundled, declares("go")), entry("b", managed, root(3), declares("go")), entry("c", root(4), declares("go"))}, "a=a go_3=a:go b=b go_2=b:go c=c go=c:go"},
		{"root order", []*pannier.Entry{entry("a", root(2), declares("go")), entry("b", root(1), declares("go"))}, "a=a go_2=a:go b=b go=b:go"},
		{"slug", []*pannier.Entry{entry("b", declares("go")), entry("a", declares("go"))}, "a=a go=a:go b=b go_2=b:go"},
		{"order of declaration", []*pannier.Entry{entry("a", declares("Go!", "go", "go"))}, "a=a go=a:Go! go_2=a:go go_3=a:go"},
		{"declares itself", []*pannier.Entry{entry("go", declares("go"))}, "go=go go_2=go:go"},
		{"declared by who cannot be used", []*pannier.Entry{entry("a", disabled, declares("go")), entry("b", declares("go"))}, "b=b go=b:go"},
		{"a number that is wanted", []*pannier.Entry{entry("a", declares("go", "go", "go 2"))}, "a=a go=a:go go_3=a:go go_2=a:go 2"},
		{"long", []*pannier.Entry{entry(long + "b"), entry(long + "c"), entry("x", declares(long))}, long[:32] + "=" + long + "b " + long[:30] + "_2=" + long + "c x=x " + long[:30] + "_3=x:" + long},
		{"cut at a separator", []*pannier.Entry{entry(long[:31] + "-b")}, long[:31] + "=" + long[:31] + "-b"},
		{"blank", []*pannier.Entry{entry("a", declares("", " \n", "\u200b\u202e", "\ufe0f", "\x00"))}, "a=a"},
		{"other scripts", []*pannier.Entry{entry("a", declares("技能", "🦀", "наука"))}, "a=a skill=a:技能 skill_2=a:🦀 skill_3=a:наука"},
		{"turned around", []*pannier.Entry{entry("a", declares("\u202egnp.exe", "x\u2066y"))}, "a=a gnp_exe=a:gnp.exe x_y=a:xy"},
		{"not text", []*pannier.Entry{entry("a", declares("\xff", "__g__o__"))}, "a=a skill=a:\uFFFD g_o=a:__g__o__"},
		{"Kelvin is no k", []*pannier.Entry{entry("a", declares("\u212Aube"))}, "a=a ube=a:\u212Aube"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := listed(snapshot(test.entries...)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestCommandTexts(t *testing.T) {
	huge := strings.Repeat("é", 10_000)
	e := entry("pdf", func(e *pannier.Entry) {
		e.Description = " Reads\n\tit.\u202e\x1b[31m\u2028Writes  it. "
		arguments := []pannier.CommandArgument{{Name: "form", Description: " The\n form. ", Required: true}, {Name: "\u200b"}, {Name: huge}}
		e.Commands = []pannier.Command{{Name: "fill", Args: " <form>\n[--to FILE]", Arguments: arguments}, {Name: huge, Description: huge, Args: huge}}
	})
	got := resolve.Commands(snapshot(e, entry("quiet", func(e *pannier.Entry) { e.Description = "\u200b " })))
	cut := strings.Repeat("é", 99) + "…"
	want := []pannier.SkillCommand{
		{Name: "pdf", Slug: "pdf", Description: "Reads it.[31m Writes it.", SourceKind: "workspace", Path: "skills/pdf"},
		{Name: "fill", Slug: "pdf", Command: "fill", Description: "fill", Args: "<form> [--to FILE]", Arguments: []pannier.CommandArgument{{Name: "form", Description: "The form.", Required: true}, {Name: cut}}, SourceKind: "workspace", Path: "skills/pdf"},
		{Name: "skill", Slug: "pdf", Command: cut, Description: cut, Args: cut, SourceKind: "workspace", Path: "skills/pdf"},
		{Name: "quiet", Slug: "quiet", Description: "QUIET", SourceKind: "workspace", Path: "skills/quiet"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	text, err := json.Marshal(resolve.Commands(&pannier.Snapshot{}))
	if string(text) != "[]" || err != nil {
		t.Errorf("no commands: %s, %v", text, err)
	}
}

// chat has commands that can be asked for in every way.
var chat = snapshot(
	entry("csv", owner("acme"), declares("Fill In", "go")),
	entry("csv", shadowedBy("skills/csv"), managed, owner("zeta"), declares("lost")),
	entry("fill-out", bundled, declares("go", "fill in", "技能", "a@b c")),
	entry("hidden", notForUsers, declares("peek", "go")),
	entry("off", disabled, declares("switch off", "")),
	entry("pdf-forms", declares("skill:csv")),
	entry("the-very-long-name-of-a-skill-that-goes-on", against(pannier.ReasonMissingEnv)),
)

func TestCommandIsFound(t *testing.T) {
	for asked, want := range map[string]string{
		"pdf_forms": "pdf_forms=pdf-forms", "/pdf_forms": "pdf_forms=pdf-forms", " /PDF_Forms@some_bot ": "pdf_forms=pdf-forms",
		"pdf-forms": "pdf_forms=pdf-forms", "PDF Forms": "pdf_forms=pdf-forms", "pdf-forms@bot": "pdf_forms=pdf-forms",
		"skill:pdf-forms": "pdf_forms=pdf-forms", "/skill:pdf-forms": "pdf_forms=pdf-forms", "/Skill:PDF-Forms@bot": "pdf_forms=pdf-forms", "skill:pdf_forms": "pdf_forms=pdf-forms",
		"acme/csv": "csv=csv", "/acme/csv": "csv=csv", "skill:acme/csv": "csv=csv", "/csv": "csv=csv", "@acme/csv": "csv=csv",
		"other/csv": "", "zeta/csv": "=csv", "skill:zeta/csv": "=csv",
		"fill_in": "fill_in=csv:Fill In", "fill in": "fill_in=csv:Fill In (fill_in_2)", "FILL IN": "fill_in=csv:Fill In (fill_in_2)",
		"fill_in_2": "fill_in_2=fill-out:fill in", "fill in_2": "", "go": "go=csv:go", "/go@bot": "go=csv:go", "go_2": "go_2=fill-out:go", "go_3": "",
		"技能": "skill=fill-out:技能", "skill": "skill=fill-out:技能", "a@b c": "a_b_c=fill-out:a@b c",
		"skill:go": "", "skill:": "", "skill:技能": "", "skill:csv": "csv=csv", "skill_csv": "skill_csv=pdf-forms:skill:csv",
		"hidden": "=hidden", "peek": "=hidden:peek", "off": "=off", "switch off": "=off:switch off", "/switch_off": "=off:switch off",
		"the_very_long_name_of_a_skill_th": "=the-very-long-name-of-a-skill-that-goes-on",
		"lost":                             "", "": "", "/": "", " ": "", "@": "", "@bot": "", "//": "", "nope": "", "pdf_forms extra": "", "\xff": "", "\u202e": "",
	} {
		found, ok := resolve.Command(chat, asked)
		got := ""
		if ok {
			got = short(found.SkillCommand)
		}
		if len(found.Others) > 0 {
			got += " (" + strings.Join(found.Others, " ") + ")"
		}
		if got != want || ok != (want != "") || ok != (found.Skill != nil) {
			t.Errorf("%q: %q %t, want %q", asked, got, ok, want)
		}
		if ok && (found.Skill.Slug != found.Slug || found.Skill.Path != found.Path) {
			t.Errorf("%q: %+v of %s", asked, found.SkillCommand, found.Skill.Path)
		}
	}
}

// TestCommandAndTurnMeanTheSame asks for every skill of the house as a command and as a reference in a text.
func TestCommandAndTurnMeanTheSame(t *testing.T) {
	asked := []string{"gone", "zeta/csv", "acme/csv", "else/csv", "PDF"}
	for i := range house.Entries {
		asked = append(asked, house.Entries[i].Slug)
	}
	for _, ref := range asked {
		r := resolve.Resolve(house, pannier.Turn{Text: "/skill:" + ref + " x"})
		active, rejected := said(r)
		found, ok := resolve.Command(house, "/skill:"+ref)
		if can := ok && found.Name != ""; can != (active != "") || can && active != found.Slug+":reference(x)" {
			t.Errorf("%s: as a command %+v, in a turn active %q", ref, found.SkillCommand, active)
		}
		if unknown := strings.HasSuffix(rejected, ":not_found"); unknown == ok {
			t.Errorf("%s: as a command found %t, in a turn rejected %q", ref, ok, rejected)
		}
	}
}

func TestCommandsWriteNothing(t *testing.T) {
	before := fmt.Sprint(chat.Entries[0].Commands, chat.Entries[2].Slug)
	first, _ := json.Marshal(resolve.Commands(chat))
	for range 20 {
		resolve.Command(chat, "fill in")
		if again, _ := json.Marshal(resolve.Commands(chat)); string(again) != string(first) {
			t.Fatalf("%s\n%s", first, again)
		}
	}
	if after := fmt.Sprint(chat.Entries[0].Commands, chat.Entries[2].Slug); after != before {
		t.Errorf("%s, was %s", after, before)
	}
}
