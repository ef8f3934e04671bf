package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/publish/client"
	"pannier/registry/resolve"
	"pannier/service"
)

// commanding is a house with commands, and all the events that it emits.
type commanding struct {
	*house
	kinds   []pannier.EventType
	invoked []pannier.SkillInvoked
}

func newCommanding() *commanding {
	c := &commanding{house: newHouse()}
	hidden := entry("hidden", pannier.StateEligible)
	hidden.UserInvocable = false
	off := entry("off", pannier.StateDisabled)
	off.UserInvocable, off.Policy.Enabled = false, false
	tools := entry("tools", pannier.StateEligible)
	tools.ToolsOnly = true
	c.snapshot.Entries = append(c.snapshot.Entries, hidden, off, tools)
	slices.SortStableFunc(c.snapshot.Entries, func(a, b *pannier.Entry) int { return strings.Compare(a.Slug, b.Slug) })
	alpha, _ := c.snapshot.Lookup("alpha")
	alpha.Commands = []pannier.Command{{Name: "go", Args: "<where>"}, {Name: "stop", Description: "Stops."}}
	omega, _ := c.snapshot.Lookup("omega")
	omega.Commands = []pannier.Command{{Name: "go"}}
	c.content.Commands = service.Commands{List: resolve.Commands, Find: resolve.Command}
	loaded := c.content.Emit
	c.content.Emit = func(kind pannier.EventType, data any) {
		loaded(kind, data)
		c.kinds = append(c.kinds, kind)
		if invoked, ok := data.(pannier.SkillInvoked); ok {
			c.invoked = append(c.invoked, invoked)
		}
	}
	return c
}

func TestCommands(t *testing.T) {
	h := newCommanding().handler()
	w := ask(h, "GET", "/v1/commands", "")
	list := decode[pannier.CommandList](t, w)
	var got []string
	for _, c := range list.Commands {
		got = append(got, c.Name+" "+c.Slug+" "+c.Command)
	}
	want := []string{"alpha alpha ", "go alpha go", "stop alpha stop", "gamma gamma ", "omega omega ", "go_2 omega go"}
	if !slices.Equal(got, want) || list.SnapshotVersion != 7 || list.Digest.IsZero() {
		t.Errorf("version %d: %q", list.SnapshotVersion, got)
	}
	checkKeys(t, w, "", "snapshot_version digest commands")
	checkKeys(t, w, "commands 0", "name slug description source_kind path")
	checkKeys(t, w, "commands 1", "name slug command description args source_kind path")
	checkHead(t, h, "/v1/commands", "", w)
	tag := w.Header().Get("ETag")
	if again := ask(h, "GET", "/v1/commands", "", "If-None-Match", tag); !strongTag.MatchString(tag) || again.Code != http.StatusNotModified {
		t.Errorf("tag %s, then %d", tag, again.Code)
	}
}

func TestRunCommand(t *testing.T) {
	c := newCommanding()
	w := ask(c.handler(), "POST", "/v1/commands/skill:acme%2Falpha", `{"args":"  fill <in>\nform.pdf "}`)
	checkKeys(t, w, "", "slug name args digest text directory effective_allowed_tools warnings")
	got := decode[pannier.CommandRun](t, w)
	digest := c.snapshot.Entries[0].Digest
	want := pannier.CommandRun{
		Slug: "alpha", Name: "alpha", Args: "fill <in>\nform.pdf", Digest: digest, Text: "# alpha <&>\n\nARGUMENTS: fill <in>\nform.pdf\n",
		Directory: "/configs/skills/alpha", EffectiveAllowedTools: []string{"Read"}, Warnings: []string{},
	}
	if diff := cmp.Diff(want, got); diff != "" || w.Code != 200 || w.Header().Get("ETag") != "" {
		t.Errorf("%d (-want +got):\n%s", w.Code, diff)
	}
	if !slices.Equal(c.kinds, []pannier.EventType{pannier.EventSkillLoaded, pannier.EventSkillInvoked}) || c.events[0].Digest != digest {
		t.Errorf("events %v %+v", c.kinds, c.events)
	}
	invoked := pannier.SkillInvoked{Name: "alpha", Slug: "alpha", Args: want.Args, Mode: "manual", EffectiveAllowedTools: []string{"Read"}}
	if diff := cmp.Diff([]pannier.SkillInvoked{invoked}, c.invoked); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCommandText(t *testing.T) {
	for _, tt := range []struct{ name, target, body, args, text, warning string }{
		{"nothing", "alpha", "Do $ARGUMENTS.", "", "Do $ARGUMENTS.", ""},
		{"blank", "alpha", "Do.", " \n\t ", "Do.", ""},
		{"the body stays", "alpha", "Do $ARGUMENTS, @./a.\n\n", "$ARGUMENTS @/etc/passwd $1", "Do $ARGUMENTS, @./a.\n\n\nARGUMENTS: $ARGUMENTS @/etc/passwd $1\n", ""},
		{"no line feed", "alpha", "Do.", "x", "Do.\n\nARGUMENTS: x\n", ""},
		{"no body", "alpha", "", "x", "ARGUMENTS: x\n", ""},
		{"declared", "stop", "Do.\n", "", "Do.\n\nCOMMAND: stop\n", ""},
		{"declared with arguments", "/STOP@bot", "Do.\n", "x", "Do.\n\nCOMMAND: stop\nARGUMENTS: x\n", ""},
		{"declared twice", "go_2", "Do.\n", "x", "Do.\n\nCOMMAND: go\nARGUMENTS: x\n", ""},
	} {
		c := newCommanding()
		disk := documents()
		disk.read = func(*pannier.Skill) (pannier.Document, error) {
			return pannier.Document{Body: tt.body, Warnings: []string{"w"}}, nil
		}
		c.content.Texts = disk
		run, err := client.InProcess(c.handler()).RunCommand(t.Context(), tt.target, tt.args)
		if err != nil || run.Text != tt.text || run.Args != strings.TrimSpace(tt.args) || run.Warnings[0] != "w" {
			t.Errorf("%s: %+v, %v", tt.name, run, err)
		}
	}
}

// TestCommandArguments shows the arguments that a skill declares one by one, and warns where those that it needs are missing.
func TestCommandArguments(t *testing.T) {
	c := newCommanding()
	alpha, _ := c.snapshot.Lookup("alpha")
	alpha.Commands[0].Arguments = []pannier.CommandArgument{{Name: "where", Description: "A place.", Required: true}, {Name: "how"}}
	h := c.handler()
	w := ask(h, "GET", "/v1/commands", "")
	checkKeys(t, w, "commands 1", "name slug command description args arguments source_kind path")
	if got := decode[pannier.CommandList](t, w).Commands[1].Arguments; !slices.Equal(got, alpha.Commands[0].Arguments) {
		t.Errorf("arguments %+v", got)
	}
	for args, want := range map[string]bool{"": true, "there": false} {
		run, err := client.InProcess(h).RunCommand(t.Context(), "go", args)
		if got := slices.Contains(run.Warnings, `"go" needs <where>, and no arguments are given`); err != nil || got != want {
			t.Errorf("%q: warnings %q, %v", args, run.Warnings, err)
		}
	}
}

func TestAmbiguousCommandIsTold(t *testing.T) {
	c := newCommanding()
	alpha, _ := c.snapshot.Lookup("alpha")
	alpha.Commands = append(alpha.Commands, pannier.Command{Name: "Go  on!"})
	omega, _ := c.snapshot.Lookup("omega")
	omega.Commands = append(omega.Commands, pannier.Command{Name: "go on!"})
	run := decode[pannier.CommandRun](t, ask(c.handler(), "POST", "/v1/commands/go%20on!", "{}"))
	if run.Name != "go_on" || run.Command != "Go on!" || len(run.Warnings) != 1 || !strings.Contains(run.Warnings[0], "go_on_2") {
		t.Errorf("%+v", run)
	}
}

// TestRefusedCommands refuses as the content and a turn do.
func TestRefusedCommands(t *testing.T) {
	for _, tt := range []struct {
		name, target, body string
		status             int
		code, hint         string
	}{
		{"unknown", "nope", "{}", 404, "command_not_found", "pannier command list"},
		{"long", strings.Repeat("x", 10_000), "{}", 404, "command_not_found", ""},
		{"hostile", "%E2%80%AE%00%2F..%2F", "{}", 404, "command_not_found", ""},
		{"wrong owner", "zeta%2Falpha", "{}", 404, "command_not_found", ""},
		{"ineligible", "beta", "{}", 409, "skill_ineligible", "install jq"},
		{"unlisted", "delta", "", 409, "skill_unlisted", "config.yaml"},
		{"held", "gamma", "{}", 409, "skill_held", "mend line 3"},
		{"shadowed", "zeta", "{}", 409, "skill_shadowed", ""},
		{"shadowed by owner", "late%2Fomega", "{}", 409, "skill_shadowed", ""},
		{"disabled and hidden", "off", "{}", 409, "skill_disabled", ""},
		{"hidden", "hidden", "{}", 409, "not_user_invocable", "model"},
		{"tools only", "tools", "{}", 409, "skill_tools_only", ""},
		{"field", "alpha", `{"arg":""}`, 400, "invalid_body", ""},
		{"type", "alpha", `{"args":["a"]}`, 400, "invalid_body", ""},
		{"long arguments", "alpha", `{"args":"` + strings.Repeat("x", 64<<10+1) + `"}`, 413, "args_too_large", "file"},
		{"parameter", "alpha?args=x", `{}`, 400, "unknown_parameter", ""},
	} {
		c := newCommanding()
		w := ask(c.handler(), "POST", "/v1/commands/"+tt.target, tt.body)
		if p := checkProblem(t, tt.name, w, tt.status, tt.code); !strings.Contains(p.Hint, tt.hint) || len(p.Detail) > 500 {
			t.Errorf("%s: %+v", tt.name, p)
		}
		if len(c.kinds) > 0 || c.scans > 0 {
			t.Errorf("%s: a refused command did something: %v", tt.name, c.kinds)
		}
	}
	c := newCommanding()
	if w := ask(c.handler(), "POST", "/v1/commands/alpha", `{"args":"`+strings.Repeat("x", 64<<10)+`"}`); w.Code != 200 {
		t.Errorf("as long as may be: %d", w.Code)
	}
	checkProblem(t, "GET", ask(c.handler(), "GET", "/v1/commands/alpha", ""), 405, "method_not_allowed")
	checkProblem(t, "without commands", ask(newHouse().handler(), "GET", "/v1/commands", ""), 404, "no_such_route")
	c.content.Snapshot = func() *pannier.Snapshot { return nil }
	checkProblem(t, "early", ask(c.handler(), "POST", "/v1/commands/alpha", ""), 503, "not_ready")
}

// TestCommandsAndTurnsRefuseTheSame asks for each skill both ways. A turn reads no text, so it knows less of some.
func TestCommandsAndTurnsRefuseTheSame(t *testing.T) {
	codes := map[string]string{
		pannier.RejectedNotFound: "command_not_found", pannier.RejectedShadowed: "skill_shadowed", pannier.RejectedUnlisted: "skill_unlisted",
		pannier.RejectedDisabled: "skill_disabled", pannier.RejectedNotUserInvocable: "not_user_invocable", pannier.RejectedDependencyMissing: "skill_ineligible",
	}
	c := newCommanding()
	h := c.handler()
	for _, slug := range []string{"alpha", "beta", "delta", "hidden", "late/omega", "nope", "off", "omega"} {
		r := decode[pannier.Resolution](t, ask(h, "POST", "/v1/resolve", `{"text":"/skill:`+slug+` a b "}`))
		w := ask(h, "POST", "/v1/commands/skill:"+strings.ReplaceAll(slug, "/", "%2F"), `{"args":" a b "}`)
		if len(r.Rejected) == 0 {
			run := decode[pannier.CommandRun](t, w)
			if a := r.Active[0]; a.Slug != run.Slug || a.Arguments != run.Args || a.Digest != run.Digest {
				t.Errorf("%s: in a turn %+v, as a command %+v", slug, a, run)
			}
			continue
		}
		if p := decode[pannier.ErrorDocument](t, w); p.Code != codes[r.Rejected[0].Reason] {
			t.Errorf("%s: in a turn %s, as a command %s", slug, r.Rejected[0].Reason, p.Code)
		}
	}
}

// TestChangedCommand takes what the new snapshot says, whatever that is.
func TestChangedCommand(t *testing.T) {
	h, now := edited()
	h.content.Commands = service.Commands{List: resolve.Commands, Find: resolve.Command}
	run := decode[pannier.CommandRun](t, ask(h.handler(), "POST", "/v1/commands/alpha", ""))
	if run.Text != "edited" || run.Digest != now || h.scans != 1 || h.events[0].Digest != now {
		t.Errorf("%+v after %d scans", run, h.scans)
	}
	h, _ = edited()
	h.content.Commands = service.Commands{List: resolve.Commands, Find: resolve.Command}
	h.content.Rescan = func(context.Context, bool) (*pannier.Snapshot, error) {
		s := catalog()
		s.Entries[0].Skill.UserInvocable = false
		return s, nil
	}
	checkProblem(t, "changed", ask(h.handler(), "POST", "/v1/commands/alpha", ""), 409, "not_user_invocable")
}
