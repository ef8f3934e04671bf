package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/publish/client"
)

// skillsAbout writes skills of which several are about each of some tasks, and one that is not usable.
func skillsAbout(t *testing.T, w string) {
	t.Helper()
	var script strings.Builder
	for i, text := range []string{
		"Fills in forms of a PDF.", "Merges and splits PDF files.", "Reads tables of a PDF into a spreadsheet.", "Signs PDF forms with a certificate.",
		"Makes charts from a spreadsheet.", "Writes release notes from commits.", "Reviews a pull request.", "Translates documents.",
		"Plans a database migration.", "Deploys containers to Kubernetes.", "Resizes and compresses images.", "Finds slow queries of a database.",
	} {
		script.WriteString(skillScript(fmt.Sprintf("helper-%02d", i), text) + "\n")
	}
	script.WriteString("mkdir skills/needy; printf -- '---\\nname: needy\\ndescription: Fills in tax forms of a PDF.\\nmetadata: {openclaw: {requires: {bins: [no-such-program]}}}\\n---\\nText\\n' > skills/needy/SKILL.md\n")
	writeIn(t, w, script.String())
}

// TestFindHasOneOrder searches over every surface: they give the same skills in the same order.
func TestFindHasOneOrder(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	skillsAbout(t, w)
	s := startSidecar(t, w, "--platform-url", "off")
	const text = "fill in the pdf form"
	host := connectMCP(t, eras["stateless"], &mcp.StreamableClientTransport{Endpoint: "http://pannier/mcp", HTTPClient: socketClient(s.socket)})
	found := must(s.Find(t.Context(), pannier.FindRequest{Text: text}))(t)
	var want, offered []string
	for _, f := range found.Skills {
		want = append(want, f.Slug)
		if f.Offered {
			offered = append(offered, f.Slug)
		}
		if unusable := f.Slug == "needy"; f.Usable == unusable || f.Offered == unusable || (f.State == pannier.StateIneligible) != unusable || len(f.Relevance.Matched) == 0 {
			t.Errorf("%+v", f)
		}
	}
	if len(want) < 4 || !slices.Contains(want, "needy") || !slices.Contains(want[:2], "helper-00") {
		t.Fatalf("found %v", want)
	}

	same := func(surface string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", surface, got, want)
		}
	}
	result, err := s.Call(t.Context(), "skills/find", map[string]any{"text": text})
	var called pannier.FoundList
	if err == nil {
		err = json.Unmarshal(result, &called)
	}
	need(t, err)
	same("skills/find", slugsFound(called), want)
	list := must(client.Get[pannier.List](t.Context(), s.Client, "/v1/skills", "q", text, "limit", "100"))(t)
	var listed []string
	for _, e := range list.Skills {
		listed = append(listed, e.Slug)
	}
	same("GET /v1/skills", listed, want)
	command := runPlain(t, "find", "--json", "--socket", s.socket, "fill", "in", "the", "pdf", "form")
	var printed pannier.FoundList
	if err := json.Unmarshal([]byte(command.out), &printed); err != nil {
		t.Fatalf("%+v: %v", command, err)
	}
	same("pannier find", slugsFound(printed), want)
	tool := must(host.CallTool(t.Context(), &mcp.CallToolParams{Name: "find_skills", Arguments: map[string]string{"query": text}}))(t)
	var named []string
	for line := range strings.Lines(tool.Content[0].(*mcp.TextContent).Text) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "- `"), "`: ")
		named = append(named, name)
	}
	same("find_skills", named, offered)
	turn := must(s.Resolve(t.Context(), pannier.Turn{Text: text}))(t)
	var active []string
	for _, a := range turn.Active {
		if slices.Contains(want, a.Slug) {
			active = append(active, a.Slug)
		}
	}
	same("a turn", active, offered)

	if people := runPlain(t, "find", "--socket", s.socket, "--limit", "1", text); people.code != exitYes || !strings.Contains(people.out, want[0]) || !strings.Contains(people.err, "more; use --limit") {
		t.Errorf("%+v", people)
	}
	if none := runPlain(t, "find", "--socket", s.socket, "zzzz"); none.code != exitYes || !strings.Contains(none.err, "no skill has words of the text") {
		t.Errorf("%+v", none)
	}
	for _, wrong := range []string{`{}`, `{"text":"  "}`, `{"text":"x","limit":101}`, `{"text":"x","limit":-1}`, `{"text":"` + strings.Repeat("x", 17<<10) + `"}`} {
		answer := must(socketClient(s.socket).Post("http://pannier/v1/find", "application/json", strings.NewReader(wrong)))(t)
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), `"hint":"`) {
			t.Errorf("%.40s: %d %.300s", wrong, answer.StatusCode, body)
		}
	}
}

func slugsFound(list pannier.FoundList) (slugs []string) {
	for _, f := range list.Skills {
		slugs = append(slugs, f.Slug)
	}
	return slugs
}

// TestEveryWayToReferToASkill resolves turns that choose, mention and do not name skills.
func TestEveryWayToReferToASkill(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, skillScript("pdf-forms", "Fills in forms.")+"\n"+skillScript("aaa", "Does it.")+"\n"+
		"mkdir skills/byhand; printf -- '---\\nname: byhand\\ndescription: By hand.\\ndisable-model-invocation: true\\n---\\nText\\n' > skills/byhand/SKILL.md\n"+
		"mkdir skills/bin; printf -- '---\\nname: bin\\ndescription: Cleans.\\n---\\nText\\n' > skills/bin/SKILL.md\n")
	s := startSidecar(t, w, "--platform-url", "off")
	for _, tt := range []struct{ text, slug, reason string }{
		{"/pdf-forms the tax form", "pdf-forms", pannier.ViaReference},
		{"please @pdf-forms, do it", "pdf-forms", pannier.ViaReference},
		{"please $pdf-forms", "pdf-forms", pannier.ViaReference},
		{"@skill:pdf-forms", "pdf-forms", pannier.ViaReference},
		{"/skill:pdf-forms x", "pdf-forms", pannier.ViaReference},
		{"use the pdf-forms skill for this", "pdf-forms", pannier.ViaReference},
		{"Run the byhand skill", "byhand", pannier.ViaReference},
		{"/byhand now", "byhand", pannier.ViaReference},
		{"@byhand", "byhand", pannier.ViaReference},
		{"$byhand", "byhand", pannier.ViaReference},
		{"what does `pdf-forms` do?", "pdf-forms", pannier.ViaMentioned},
		{`is there a skill "pdf-forms" here?`, "pdf-forms", pannier.ViaMentioned},
		{"see [[pdf-forms]]", "pdf-forms", pannier.ViaMentioned},
		{"what does `byhand` do?", "byhand", ""},
		{"do not use the pdf-forms skill", "pdf-forms", pannier.ViaImplicit},
		{"ls /usr/bin", "bin", pannier.ViaImplicit},
		{"mail ann@bin.example or bin@example.com", "bin", pannier.ViaImplicit},
		{"see https://example.com/bin", "bin", pannier.ViaImplicit},
	} {
		r := must(s.Resolve(t.Context(), pannier.Turn{Text: tt.text}))(t)
		reason := ""
		for i, a := range r.Active {
			if a.Slug == tt.slug {
				reason = a.Reason
				if i > 0 && reason != pannier.ViaImplicit {
					t.Errorf("%q: %s is active number %d", tt.text, tt.slug, i)
				}
			}
		}
		if reason != tt.reason || len(r.Rejected) > 0 || len(r.Suggestions) > 0 {
			t.Errorf("%q: %s is %q, want %q; rejected %+v, suggestions %+v", tt.text, tt.slug, reason, tt.reason, r.Rejected, r.Suggestions)
		}
	}
	for _, text := range []string{"/pdf-form x", "@pdf-forns", "$pdfforms", "use the pdf-form skill", "/skill:pdf-fors"} {
		r, err := s.Resolve(t.Context(), pannier.Turn{Text: text})
		if err != nil || len(r.Suggestions) != 1 || !slices.Equal(r.Suggestions[0].Slugs, []string{"pdf-forms"}) {
			t.Errorf("%q: %+v %v", text, r.Suggestions, err)
		}
		for _, a := range r.Active {
			if a.Reason != pannier.ViaImplicit {
				t.Errorf("%q: %s is active as %s", text, a.Slug, a.Reason)
			}
		}
	}
	shown := runPlain(t, "resolve", "--socket", s.socket, "--verbose", "/pdf-form fills in forms")
	if !strings.Contains(shown.err, `did you mean "pdf-forms"?`) || !strings.Contains(shown.out, "implicit, score ") || !strings.Contains(shown.out, "matched ") {
		t.Errorf("%+v", shown)
	}
}

// TestTriggersReachEveryModel: what calls for a skill is in every prompt format that is not another tool's own, and in what MCP
// hosts show.
func TestTriggersReachEveryModel(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, "mkdir -p skills/pdf; printf -- '---\nname: pdf\ndescription: Fills in forms.\ntriggers: [tax return]\n---\nText\n' > skills/pdf/SKILL.md\n")
	s := startSidecar(t, w, "--platform-url", "off")
	for _, format := range []string{"compact", "available_skills", "openclaw", "skills_xml", "molecule", "molecule_system"} {
		if section, err := s.Prompt(t.Context(), pannier.Turn{Format: format}); err != nil || !strings.Contains(section.Text, "tax return") {
			t.Errorf("%s: %v\n%s", format, err, section.Text)
		}
	}
	host := connectMCP(t, eras["stateless"], &mcp.StreamableClientTransport{Endpoint: "http://pannier/mcp", HTTPClient: socketClient(s.socket)})
	tools := must(host.ListTools(t.Context(), nil))(t)
	if text := tools.Tools[0].Description; !strings.Contains(text, "- pdf: Fills in forms. Triggers: tax return") {
		t.Errorf("the description of %s is\n%s", tools.Tools[0].Name, text)
	}
}

// TestTurnShowsTheRightSkillOfMany resolves turns about 300 skills within 2,000 tokens, in every format with a limit: the prompt has
// the description of the one that the text is about.
func TestTurnShowsTheRightSkillOfMany(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	var script strings.Builder
	for i := range 299 {
		fmt.Fprintf(&script, "mkdir skills/tool-%03d; printf -- '---\\nname: tool-%03d\\ndescription: %s\\n---\\nText\\n' > skills/tool-%03d/SKILL.md\n",
			i, i, "Handles routine number "+fmt.Sprint(i)+". "+strings.Repeat("It is one of many that do their part of the work. ", 6), i)
	}
	script.WriteString(skillScript("zebra", "Renders sheet music from a melody in ABC notation.") + "\n")
	writeIn(t, w, script.String())
	s := startSidecar(t, w, "--platform-url", "off")
	for _, format := range []string{"compact", "available_skills", "openclaw", "skills_xml", "molecule"} {
		r, err := s.Resolve(t.Context(), pannier.Turn{
			Text: "print this melody as sheet music", Format: format, Limits: pannier.Limits{MaxChars: new(0), MaxTokens: new(2000)},
		})
		need(t, err)
		if len(r.Active) != 300 || r.Active[0].Slug != "zebra" || r.Active[0].Relevance == nil {
			t.Errorf("%s: %d active, the first is %+v", format, len(r.Active), r.Active[0])
		}
		shown := strings.Contains(r.Prompt.Text, "Renders sheet music") || format != "compact" && strings.Contains(r.Prompt.Text, "Do it.")
		if !shown || r.Prompt.TokensEstimate > 2000 || !r.Prompt.Truncated {
			t.Errorf("%s: %d tokens, truncated %t:\n%.3000s", format, r.Prompt.TokensEstimate, r.Prompt.Truncated, r.Prompt.Text)
		}
	}
	shown := runPlain(t, "resolve", "--socket", s.socket, "--verbose", "print this melody as sheet music")
	for _, part := range []string{"zebra", "implicit, score ", "melody", "LEFT OUT OF THE PROMPT", "description_end"} {
		if !strings.Contains(shown.out, part) {
			t.Errorf("resolve --verbose has no %q: %.3000s", part, shown.out)
		}
	}
}
