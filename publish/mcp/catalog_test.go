package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
)

// toolsOf lists the tools as a host does that keeps no answer.
func toolsOf(t *testing.T, host *sdk.ClientSession) map[string]*sdk.Tool {
	t.Helper()
	list, err := host.ListTools(t.Context(), &sdk.ListToolsParams{Meta: sdk.Meta{"n": time.Now().String()}})
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]*sdk.Tool{}
	for _, tool := range list.Tools {
		tools[tool.Name] = tool
	}
	return tools
}

func numbered(n int) []string {
	slugs := make([]string, n)
	for i := range slugs {
		slugs[i] = fmt.Sprintf("skill-%03d", i)
	}
	return slugs
}

// TestCatalogFits: the first line names the skills, and says how many it does not name; descriptions are cut evenly, within a bound in
// bytes.
func TestCatalogFits(t *testing.T) {
	for _, tt := range []struct {
		skills, limit, named int
		text                 string
	}{
		{39, 0, 0, "fills in forms and "},
		{39, 100, 0, "fills in forms and "},
		{5, 1900, 5, "fills in forms and "},
		{5, 1900, 5, "填写表格并且"},
		{39, 1900, 39, "fills in forms and "},
		{39, 20_000, 39, "fills in forms and "},
		{191, 1900, 100, "fills in forms and "},
		{191, 4000, 191, "fills in forms and "},
		{191, 4000, 191, "填写表格并且"},
	} {
		s := newShop(t, numbered(tt.skills)...)
		for _, e := range s.snapshot.Entries {
			e.Description = strings.Repeat(tt.text, 30)
		}
		s.CatalogMaxBytes = tt.limit
		activate := toolsOf(t, connect(t, s.serve(t), stateless, nil))["activate_skill"]
		text := activate.Description
		line, rest, _ := strings.Cut(text, "\n")
		if tt.named > 0 && !strings.HasPrefix(line, "Skills of this project: skill-000, skill-001, ") {
			t.Errorf("the first line is %s", line)
		}
		if got := strings.Count(line, "skill-"); got != tt.named || tt.named > 0 && len(text) > tt.limit {
			t.Errorf("%d skills within %d: %d bytes, %d named: %s", tt.skills, tt.limit, len(text), got, text)
			continue
		}
		if !strings.Contains(text, "Look here first: ") || strings.Contains(text, "find_skills") != (tt.skills >= 10) {
			t.Errorf("%d skills within %d: when to look: %s", tt.skills, tt.limit, text)
		}
		if more := fmt.Sprintf(" and %d more", tt.skills-tt.named); tt.named > 0 && strings.HasSuffix(line, more) != (tt.named < tt.skills) {
			t.Errorf("%d skills within %d: %s", tt.skills, tt.limit, line)
		}
		if activate.Meta["anthropic/alwaysLoad"] != true {
			t.Errorf("_meta %v", activate.Meta)
		}
		if schema, _ := json.Marshal(activate.InputSchema); strings.Count(string(schema), "skill-") != tt.skills {
			t.Errorf("the schema is %s", schema)
		}
		sizes := map[int]bool{}
		for l := range strings.Lines(rest) {
			if strings.HasPrefix(l, "- ") {
				sizes[len([]rune(l))/16] = true
			}
		}
		if described := strings.Count(rest, "- skill-"); len(sizes) > 2 || tt.named > 0 && described == 0 || tt.skills == 5 && described != 5 {
			t.Errorf("%d skills within %d: %d described, of %v times 16 characters:\n%s", tt.skills, tt.limit, described, sizes, text)
		}
	}
}

// TestCatalogHasTheOrderOfConfig: the order is that of config.yaml, then by slug, and use of a skill does not change it.
func TestCatalogHasTheOrderOfConfig(t *testing.T) {
	s := newShop(t, "a", "pdf", "pdf-forms", "z")
	for i, rank := range []int{3, 1, 2, 1} {
		s.snapshot.Entries[i].Rank = rank
	}
	host := connect(t, s.serve(t), stateless, nil)
	text := toolsOf(t, host)["activate_skill"].Description
	if !strings.HasPrefix(text, "Skills of this project: pdf, z, pdf-forms, a\nLook here first: ") {
		t.Error(text)
	}
	var order []string
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "- "); ok {
			order = append(order, strings.TrimSpace(name))
		}
	}
	if want := []string{"pdf: About pdf.", "z: About z.", "pdf-forms: About pdf-forms.", "a: About a."}; !slices.Equal(order, want) {
		t.Errorf("the order is %q", order)
	}
	if _, err := host.CallTool(t.Context(), &sdk.CallToolParams{Name: "activate_skill", Arguments: json.RawMessage(`{"name":"z"}`)}); err != nil {
		t.Fatal(err)
	}
	if after := toolsOf(t, host)["activate_skill"].Description; after != text {
		t.Errorf("after a use:\n%s\nbefore:\n%s", after, text)
	}
}

// TestInstructionsNameListedTools: without skills no tool is named, and where there are tools, no skill.
func TestInstructionsNameListedTools(t *testing.T) {
	for _, tt := range []struct {
		tools bool
		slugs []string
		want  []string
		not   []string
	}{
		{true, nil, []string{"as soon as there is a skill"}, []string{"activate_skill", "read_skill_file", "find_skills"}},
		{true, []string{"pdf"}, []string{"activate_skill", "read_skill_file"}, []string{"pdf", "find_skills"}},
		{false, []string{"pdf"}, []string{"Skills of this project: pdf\n", "- pdf: About pdf.", "skill://NAME/SKILL.md"}, []string{"_skill"}},
		{false, nil, []string{"skill://NAME/SKILL.md"}, []string{"_skill"}},
	} {
		s := newShop(t, tt.slugs...)
		s.Tools = tt.tools
		text := connect(t, s.serve(t), stateless, nil).InitializeResult().Instructions
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%v: no %q in %s", tt.slugs, want, text)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(text, not) {
				t.Errorf("%v: %q in %s", tt.slugs, not, text)
			}
		}
	}
}

// TestCatalogChanges is told to hosts: at once the first time, and then once for all changes of a second, the last one too.
func TestCatalogChanges(t *testing.T) {
	s := newShop(t, "a")
	client := s.serve(t)
	told := make(chan time.Time, 64)
	host := connect(t, client, withSessions, &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { told <- time.Now() },
	})
	toolsOf(t, host)
	describe := func(text string) {
		s.setWith(func(skill *pannier.Skill) { skill.Description = text }, "a")
	}
	describe("Fills in forms.")
	first := <-told
	for i := range 20 {
		describe(fmt.Sprintf("Fills in %d forms.", i))
	}
	if second := <-told; second.Sub(first) < 900*time.Millisecond {
		t.Errorf("told again after %s", second.Sub(first))
	}
	if text := toolsOf(t, host)["activate_skill"].Description; !strings.Contains(text, "Fills in 19 forms.") {
		t.Error(text)
	}
	if len(told) > 0 {
		t.Errorf("told %d times more", len(told))
	}
}

// TestTextOfASkillIsSentOnce, with how its paths are meant, since hosts hand on the content, the structured content or both.
func TestTextOfASkillIsSentOnce(t *testing.T) {
	s := newShop(t, numbered(10)...)
	host := connect(t, s.serve(t), stateless, nil)
	for name, want := range map[string][]string{
		"activate_skill": {"Do skill-001.", "Relative paths in this skill are relative to the skill directory"},
		"find_skills":    {"About skill-001."},
	} {
		got, err := host.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(map[string]string{
			"activate_skill": `{"name":"skill-001"}`, "find_skills": `{"query":"skill 001"}`,
		}[name])})
		if err != nil {
			t.Fatal(err)
		}
		all, _ := json.Marshal(got)
		for _, text := range want {
			if strings.Count(string(all), text) != 1 {
				t.Errorf("%s: %q is there %d times: %s", name, text, strings.Count(string(all), text), all)
			}
		}
		if tool := toolsOf(t, host)[name]; tool.OutputSchema != nil {
			t.Errorf("%s promises structured content", name)
		}
	}
}

// BenchmarkCatalog lists the tools of 1,000 skills after a change of one, and again without one.
func BenchmarkCatalog(b *testing.B) {
	slugs := make([]string, 1000)
	for i := range slugs {
		slugs[i] = fmt.Sprintf("skill-%04d", i)
	}
	s := newShop(b, slugs...)
	client := s.serve(b)
	list := func(b *testing.B) {
		if _, text := post(b, client, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"MCP-Protocol-Version", stateless, "Mcp-Method", "tools/list"); !strings.Contains(text, "Skills of this project: ") {
			b.Fatal(text)
		}
	}
	b.Run("changed", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			b.StopTimer()
			s.setWith(func(skill *pannier.Skill) { skill.Description = fmt.Sprint("Fills in forms: ", n) }, slugs...)
			b.StartTimer()
			list(b)
		}
	})
	b.Run("same", func(b *testing.B) {
		for b.Loop() {
			list(b)
		}
	})
}
